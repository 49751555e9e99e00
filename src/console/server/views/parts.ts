// Building blocks of several views: times, waits, holds. Pure.
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { holdsOver, type HoldTarget } from '#permits/holds/reach.ts'
import { actionOf, type WayOn } from '#explain/finding.ts'
import { defined } from '#lib/defined.ts'
import { isTyped, unblockOf } from '#explain/unblock.ts'
import { withReadableNames } from '#explain/readable-names.ts'
import { withReadableTimes } from '#explain/readable-times.ts'
import type { Lift, Stamp } from '../../basics.ts'
import type { HoldNote, Wait } from '../../topics.ts'

/** Undefined for an unreadable time. */
export function stamp(text: string | undefined): Stamp | undefined {
  const ms = Date.parse(text ?? '')
  return Number.isNaN(ms) ? undefined : ms
}

/** For a field that a valid object always has. */
export const stampOr0 = (text: string | undefined): Stamp => stamp(text) ?? 0

/** `{ since: … }`, or nothing if the time is unknown. */
export const at = <K extends string>(key: K, text: string | undefined): { readonly [P in K]?: Stamp } => {
  const ms = stamp(text)
  return (ms === undefined ? {} : { [key]: ms }) as { readonly [P in K]?: Stamp }
}

/** `{ key: value }`, or nothing if there is no value. */
export const given = <K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } =>
  (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: V }

/** A sentence as the page shows it: with dates and names as people say them. */
export const pageText = (text: string): string => withReadableNames(withReadableTimes(text))

interface WaitingFor {
  readonly predicate: string
  readonly since?: string
  readonly seen?: string
  readonly unblock?: string
}

export function waitOf(waiting: WaitingFor | undefined): { readonly wait?: Wait } {
  if (waiting === undefined) return {}
  const { predicate, since, seen, unblock } = waiting
  // When it opens is what people ask next.
  if (predicate === 'WaitingForWindow' && seen !== undefined)
    return {
      wait: {
        predicate,
        ...at('since', since),
        seen: pageText([seen, unblock].filter((t) => t !== undefined && t !== '').join('; ')),
      },
    }
  return {
    wait: {
      predicate,
      ...at('since', since),
      ...given('seen', seen && pageText(seen)),
      ...liftOf(unblockOf(unblock ?? '')),
    },
  }
}

/** A command is something a user can do; a state can only be waited for. The page links to an explanation itself. */
export function liftOf({ ends, command }: WayOn): Pick<Wait, 'lift'> {
  const action = actionOf(defined({ ends, command }))
  if (action !== undefined) return { lift: commandLift(action) }
  return ends === undefined ? {} : { lift: { text: pageText(ends), isCommand: false } }
}

/** A name that a shell would read as more than one word is shown, but not offered for copying. */
const commandLift = (text: string): Lift => ({ text, isCommand: isTyped(text) })

/** Effects that stop something; the others start something. */
const STOPPING = ['Pause', 'Freeze', 'Pin', 'Abort'] as const

export const holdNotes = (
  holds: readonly OperationalHold[],
  targets: readonly HoldTarget[],
  now: number,
): readonly HoldNote[] =>
  holdsOver(holds, { effects: STOPPING, targets, cluster: { name: undefined }, now }).map(({ metadata, spec }) => ({
    name: metadata.name ?? '',
    effect: spec.effect,
    author: spec.author,
    reason: spec.reason,
    until: stampOr0(spec.until),
  }))

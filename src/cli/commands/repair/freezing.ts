// The freeze and thaw commands for a cluster or an object in it.
import { holdLine } from '#explain/hold-line.ts'
import { placeOf } from '#explain/objects/place.ts'
import { systemClock } from '#lib/system-clock.ts'
import { shownLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import { shownInWindow } from '#lib/terminal/wrap.ts'
import { placeHold } from '#permits/holds/placing.ts'
import { type ServerOptions, connect } from '../../fleet/connect.ts'
import type { EvenIfAbsent } from '../../fleet/even-if-absent.ts'
import { findHeld } from '../../fleet/find-held.ts'
import { withItsKind } from '../../fleet/named-thing.ts'
import { undoing } from '../../fleet/undoing.ts'
import { authorOf } from '../../current-person.ts'
import { FREEZABLE_BY_NAME, freezeHold, freezeTarget, refuseEmpty, thaw as lift } from './freeze-hold.ts'

export interface FreezeOptions extends ServerOptions, EvenIfAbsent {
  readonly reason: string
  readonly for: string
  readonly nodeFolder?: string
}

export interface ThawOptions extends ServerOptions, EvenIfAbsent {
  readonly all?: boolean
  readonly nodeFolder?: string
}

/** `n-1` means `machine/n-1`. */
async function frozenCalled(
  command: string,
  what: string | undefined,
  options: ServerOptions,
  io: Io,
): Promise<string | undefined> {
  if (what === undefined) return undefined
  return withItsKind(what, { command, nouns: FREEZABLE_BY_NAME }, options, io)
}

export async function freeze(typed: string | undefined, options: FreezeOptions, io: Io): Promise<void> {
  const what = await frozenCalled('freeze', typed, options, io)
  const request = { what, reason: options.reason, for: options.for }
  // Report a bad argument before any request.
  freezeHold({ ...request, author: 'unknown' }, systemClock.now())
  const client = await connect(options, io)
  if (options.evenIfAbsent !== true)
    await (what === undefined ? refuseEmpty(client) : findHeld(client, freezeTarget(what), what))
  const author = await authorOf(client, io)
  const { metadata, spec } = await placeHold(client, freezeHold({ ...request, author }, systemClock.now()))
  io.out(
    shownInWindow(io, [
      `frozen in ${placeOf(client)} until ${spec.until} by ${spec.author}: ${spec.reason} (operationalhold/${metadata.name})`,
    ]),
  )
  const thawing = what === undefined ? 'kubenode thaw' : `kubenode thaw ${what}`
  io.err(
    `granted permits that have not started are revoked; running operations finish; to continue, run ${undoing(thawing, options)}\n`,
  )
}

export async function thaw(typed: string | undefined, options: ThawOptions, io: Io): Promise<void> {
  const what = await frozenCalled('thaw', typed, options, io)
  const target = freezeTarget(what)
  const client = await connect(options, io)
  const { removed, left } = await lift(client, what, options.all === true, systemClock.now())
  // A deleted object may leave its freeze behind. If there is no freeze, the name may be a typo.
  if (removed.length === 0 && what !== undefined && options.evenIfAbsent !== true) await findHeld(client, target, what)
  io.out(
    removed.length === 0
      ? shownLine(`${what ?? 'the cluster'} is not frozen (${placeOf(client)})`)
      : shownLine(`thawed in ${placeOf(client)}: ${removed.join(', ')}`),
  )
  for (const hold of left) io.err(shownLine(`still frozen: ${holdLine(hold)}`))
}

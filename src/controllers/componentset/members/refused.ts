// What the Defender refused a moment ago: machines that it refused on their own account are skipped while others go first, and a refusal that concerns all machines
// closes the set for a while. Without this a set would ask for one permit after the other as fast as they are refused. Pure.
import { isInForce, readable } from '#holds/in-force.ts'
import { askAgainInMs, endedForMs, isRefused, ownRefusals } from '#permits/ended-for.ts'
import { deniedWait } from '#permits/permit-wait.ts'
import type { Seen } from '../seen.ts'
import type { Wait } from '../waiting.ts'

/** A machine that was refused is asked for again after this time. */
const REMEMBERED_MS = 600_000
/** And after this one while a person lifts protections: of which machines is for the Defender to say. */
const REMEMBERED_IF_LIFTED_MS = 60_000
/** So many machines are asked for as fast as the Defender answers. */
const FREELY_REFUSED = 20
/** With more of them the set asks once in this time: a first step of one machine may meet thousands that are protected. */
const PACE_MS = 10_000
/** As many as there are can be met within half of the memory, or the set would ask the first ones again and never come to the others. */
const MEMORY_PER_MACHINE_MS = 2 * PACE_MS
const MOST_REMEMBERED_MS = 43_200_000

type RefusalsSeen = Pick<Seen, 'permits' | 'refusedFor' | 'holds'>

export interface Refusals {
  /** By uid: a machine that was created again under the same name was never judged. */
  readonly machines: ReadonlyMap<string, string>
  /** For how long the last of them has been refused. */
  readonly lastForMs: number
}

export function recentlyRefused({ permits, refusedFor, holds }: RefusalsSeen, now: number): Refusals {
  const refused = [...permits.values()].flatMap((permit) => {
    const own = isRefused(permit) ? ownRefusals(permit) : []
    return own.length === 0 ? [] : [{ own, forMs: endedForMs(permit, refusedFor) }]
  })
  const known = refused.filter(({ forMs }) => forMs < MOST_REMEMBERED_MS)
  const count = new Set(known.flatMap(({ own }) => own.map((v) => v.target))).size
  const isLifted = holds.map(readable).some((h) => h.spec.effect === 'Unprotect' && isInForce(h, now))
  const memoryMs = isLifted
    ? REMEMBERED_IF_LIFTED_MS
    : Math.min(MOST_REMEMBERED_MS, Math.max(REMEMBERED_MS, count * MEMORY_PER_MACHINE_MS))
  const machines = new Map<string, string>()
  let lastForMs = Infinity
  for (const { own, forMs } of known) {
    if (forMs >= memoryMs) continue
    lastForMs = Math.min(lastForMs, forMs)
    for (const { target, gate, seen } of own)
      machines.set(target, `denied by the Defender: gate ${gate}${seen === undefined ? '' : `: ${seen}`}`)
  }
  return { machines, lastForMs }
}

interface Closed {
  readonly wait: Wait
  readonly forMs: number
}

interface Wish {
  readonly component: string
  readonly isRecovery: boolean
}

/** Why nothing new is asked for one component because of refusals before. A way back waits for no refusal of the way there: the Defender permits recoveries sooner. */
export function closedByRefusal(
  { permits, refusedFor }: Pick<Seen, 'permits' | 'refusedFor'>,
  { machines, lastForMs }: Refusals,
  { component, isRecovery }: Wish,
): Closed | undefined {
  const own = [...permits.values()].filter(
    ({ spec }) => spec.component?.name === component && spec.recovery === isRecovery,
  )
  const forAll = own
    .filter((p) => ownRefusals(p).length === 0)
    .map((permit) => ({ permit, forMs: askAgainInMs(permit, refusedFor) }))
    .toSorted((a, b) => b.forMs - a.forMs)[0]
  if (forAll !== undefined && forAll.forMs > 0) return { wait: deniedWait(forAll.permit), forMs: forAll.forMs }
  if (machines.size <= FREELY_REFUSED || lastForMs >= PACE_MS) return undefined
  const wait: Wait = {
    predicate: 'PermitDenied',
    seen: `the Defender refused ${machines.size} machines, the last: ${[...machines.values()].at(-1) ?? ''}`,
    unblock: 'other machines are asked for, one slice in ten seconds',
  }
  return { wait, forMs: PACE_MS - lastForMs }
}

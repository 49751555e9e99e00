// What the Defender refused a moment ago: machines that it refused on their own account are skipped while others go first, and a refusal that concerns all machines
// closes the set for a while. Without this a set would ask for one permit after the other as fast as they are refused. Pure.
import { isInForce, readable } from '#permits/holds/in-force.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { askAgainInMs, endedForMs, isRefused, knownRefusals, ownRefusals } from '#permits/ended-for.ts'
import { endedWait } from '#permits/permit-wait.ts'
import type { Seen } from '../seen.ts'
import type { Lookup } from './lookup.ts'
import type { Wait } from '../reporting/wait.ts'

/** A machine that was refused is asked for again after this time. */
const REMEMBERED_MS = 600_000
/** And after this one while a person lifts protections, or when the policy that refused has changed: of which machines is for the Defender to say. */
const REMEMBERED_IF_LIFTED_MS = 60_000
/** So many machines are asked for as fast as the Defender answers. */
const FREELY_REFUSED = 20
/** With more of them the set asks once in this time: the Defender answers about a hundred machines at once, and there may be thousands that are protected. */
const PACE_MS = 10_000
/** As many as there are can be met within half of the memory, or the set would ask the first ones again and never come to the others. */
const MEMORY_PER_QUESTION_MS = 2 * PACE_MS
const MOST_REMEMBERED_MS = 43_200_000

type RefusalsSeen = Pick<Seen, 'permits' | 'refusedFor' | 'holds' | 'policies'>
type Refusal = ReturnType<typeof knownRefusals>[number]

export interface Refusals {
  /** By uid: a machine that was created again under the same name was never judged. */
  readonly machines: ReadonlyMap<string, string>
  /** For how long the last of them has been refused. */
  readonly lastForMs: number
  /** When the first of them may be asked for again. */
  readonly againInMs: number
}

export function recentlyRefused({ permits, refusedFor, holds, policies }: RefusalsSeen, now: number): Refusals {
  const latest = latestOf(permits.values(), refusedFor)
  const questions = new Set([...latest.values()].map(({ permit }) => permit)).size
  const isLifted = holds.map(readable).some((h) => h.spec.effect === 'Unprotect' && isInForce(h, now))
  const longMs = Math.min(MOST_REMEMBERED_MS, Math.max(REMEMBERED_MS, questions * MEMORY_PER_QUESTION_MS))
  const machines = new Map<string, string>()
  let lastForMs = Infinity
  let againInMs = Infinity
  for (const [target, { refusal, forMs }] of latest) {
    const memoryMs = isLifted || isOutdated(refusal, policies) ? REMEMBERED_IF_LIFTED_MS : longMs
    if (forMs >= memoryMs) continue
    lastForMs = Math.min(lastForMs, forMs)
    againInMs = Math.min(againInMs, memoryMs - forMs)
    const { gate, seen } = refusal
    machines.set(target, `denied by the Defender: gate ${gate}${seen === undefined ? '' : `: ${seen}`}`)
  }
  return { machines, lastForMs, againInMs }
}

interface Latest {
  readonly permit: OperationPermit
  readonly refusal: Refusal
  readonly forMs: number
}

/** The last refusal of each machine, the newest first. */
function latestOf(permits: Iterable<OperationPermit>, refusedFor: Seen['refusedFor']): ReadonlyMap<string, Latest> {
  const known = [...permits]
    .filter(isRefused)
    .map((permit) => ({ permit, forMs: endedForMs(permit, refusedFor) }))
    .filter(({ forMs }) => forMs < MOST_REMEMBERED_MS)
    .toSorted((a, b) => a.forMs - b.forMs)
  const latest = new Map<string, Latest>()
  for (const { permit, forMs } of known)
    for (const refusal of knownRefusals(permit))
      if (!latest.has(refusal.target)) latest.set(refusal.target, { permit, refusal, forMs })
  return latest
}

/** Whether the machine is protected now is for the Defender alone to say; that its policy is another one by now is reason enough to ask. */
function isOutdated({ policy, generation }: Refusal, policies: Lookup<DefenderPolicy> | undefined): boolean {
  if (policy === undefined || policies === undefined) return false
  const now = policies.get(policy)
  return now === undefined || (generation !== undefined && (now.metadata.generation ?? 0) > generation)
}

interface Closed {
  readonly wait: Wait
  readonly forMs: number
}

interface DesiredComponent {
  readonly component: string
  readonly isRecovery: boolean
}

/** Why nothing new is asked for one component because of refusals before. A way back waits for no refusal of the way there: the Defender permits recoveries sooner. */
export function closedByRefusal(
  { permits, refusedFor }: Pick<Seen, 'permits' | 'refusedFor'>,
  { machines, lastForMs }: Refusals,
  { component, isRecovery }: DesiredComponent,
): Closed | undefined {
  const own = [...permits.values()].filter(
    ({ spec }) => spec.component?.name === component && spec.recovery === isRecovery,
  )
  const forAll = own
    .filter((p) => ownRefusals(p).length === 0)
    .map((permit) => ({ permit, forMs: askAgainInMs(permit, refusedFor) }))
    .toSorted((a, b) => b.forMs - a.forMs)[0]
  if (forAll !== undefined && forAll.forMs > 0) return { wait: endedWait(forAll.permit), forMs: forAll.forMs }
  if (machines.size <= FREELY_REFUSED || lastForMs >= PACE_MS) return undefined
  const wait: Wait = {
    predicate: 'PermitDenied',
    seen: `the Defender refused ${machines.size} machines, the last: ${[...machines.values()].at(-1) ?? ''}`,
    unblock: 'other machines are asked for, one slice in ten seconds',
  }
  return { wait, forMs: PACE_MS - lastForMs }
}

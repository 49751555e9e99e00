// Remembers recent refusals of the Defender. Machines refused individually are skipped while others go first, and a refusal that affects all machines
// closes the set for a while. Otherwise a set would request permits as fast as they are refused. Pure.
import { isInForce, readable } from '#permits/holds/in-force.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { askAgainInMs, endedForMs, isRefused, knownRefusals, ownRefusals } from '#permits/ended-for.ts'
import { endedWait } from '#permits/permit-wait.ts'
import type { Seen } from '../seen.ts'
import type { Lookup } from './lookup.ts'
import type { Wait } from '../reporting/wait.ts'

/** A refused machine is requested again after this time. */
const REMEMBERED_MS = 600_000
/** The shorter time while a person lifts protections, or after the refusing policy changed. Only the Defender knows which machines this affects. */
const REMEMBERED_IF_LIFTED_MS = 60_000
/** This many refused machines are replaced as fast as the Defender answers. */
const FREELY_REFUSED = 20
/** Beyond that, the set asks once per this interval. The Defender answers about a hundred machines at once, and thousands may be protected. */
const PACE_MS = 10_000
/** The set must get through all machines in half the memory time. Otherwise it would ask about the first ones again and never reach the rest. */
const MEMORY_PER_QUESTION_MS = 2 * PACE_MS
const MOST_REMEMBERED_MS = 43_200_000

type RefusalsSeen = Pick<Seen, 'permits' | 'refusedFor' | 'holds' | 'policies'>
type Refusal = ReturnType<typeof knownRefusals>[number]

export interface Refusals {
  /** By uid: a machine recreated under the same name was never judged. */
  readonly machines: ReadonlyMap<string, string>
  /** Denied permits of the set. */
  readonly denied: readonly OperationPermit[]
  /** How long the last of the machines has been refused. */
  readonly lastForMs: number
  /** When the first of them may be requested again. */
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
  const denied = [...permits.values()].filter(({ status }) => status?.phase === 'Denied')
  return { machines, denied, lastForMs, againInMs }
}

interface Latest {
  readonly permit: OperationPermit
  readonly refusal: Refusal
  readonly forMs: number
}

/** The latest refusal of each machine, newest first. */
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

/** Only the Defender knows whether the machine is protected now. A changed policy is reason enough to ask. */
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

/**
 * Why earlier refusals block new requests for a component. A way back is not blocked by refusals of the way forward: the Defender permits recoveries
 * sooner.
 */
export function closedByRefusal(
  { refusedFor }: Pick<Seen, 'refusedFor'>,
  { machines, denied, lastForMs }: Refusals,
  { component, isRecovery }: DesiredComponent,
): Closed | undefined {
  // Only a denied one is not asked for again at once.
  const own = denied.filter(({ spec }) => spec.component?.name === component && spec.recovery === isRecovery)
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

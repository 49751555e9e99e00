// Why a cluster of a Release does not count as healthy: deletions that wait, failing objects, closed gates. Pure.
import type { Reason } from '#api/catalogue.ts'
import { HUB_TARGET } from '#api/names.ts'
import { counted } from '#lib/counted.ts'
import { shortened } from '#lib/shortened.ts'
import { someOf } from '#lib/some-of.ts'
import type { OutsideWait } from '#delivery/failures.ts'
import type { HeldPrune } from '#delivery/plan.ts'
import { judgeFailures, type Judgement } from './baseline.ts'
import type { AdvanceInput, ClusterStatus, WaitingPrune } from './cluster-seen.ts'
import { isRemote, judgeGate, unblockOf } from './gates.ts'

const MAX_SEEN = 200

/** A commit with another version ends the wait too. */
export const LIFT = 'run kubenode brake lift --reason WHY'

/** What ends each wait. */
const OUTSIDE: Readonly<Record<OutsideWait, (cluster: string) => string>> = {
  RateExceeded: () => 'the rate limit allows the next machines',
  WaitingForWindow: () => 'its window opens',
  OutsideWindow: () => 'a window of the policy opens',
  BlackoutActive: () => 'the blackout of the policy ends',
  FleetBudget: () => 'another cluster of the fleet has finished',
  FleetStopped: () => LIFT,
  ControlPlaneChanging: (cluster) => `its change ends: kubenode cluster show ${cluster}`,
  // The hold is on another server than the release.
  HoldPause: (cluster) =>
    `the hold ends, or kubenode thaw or resume lifts it there: kubenode get holds --context ${cluster} lists it`,
}

/** The permit is in the cluster and the release on the hub, so a command about the permit names the cluster. */
const atPermitOf = (cluster: string, unblock: string | undefined): string | undefined =>
  cluster === HUB_TARGET
    ? unblock
    : unblock?.replace(/\boperationpermit\/[\w.-]+( --reason WHY)?/g, (command) => `${command} --context ${cluster}`)

export const isOutside = (predicate: string | undefined): boolean =>
  predicate !== undefined && Object.hasOwn(OUTSIDE, predicate)

export interface Trouble {
  readonly predicate: Reason
  readonly seen: string
  readonly unblock: string
  /** Waiting does not fix it. */
  readonly isFinal: boolean
  /** The answer is pending: the deadline waits for it. */
  readonly isPending?: boolean
  readonly timeoutMs: number
}

export function judgementOf({
  stage,
  member: { answer },
}: Pick<AdvanceInput, 'stage' | 'member'>): Judgement | undefined {
  if (answer?.kind !== 'Seen') return undefined
  return judgeFailures(answer.failing, answer.baseline, countOf(stage.maxNewFailures, answer.machines))
}

export function troubleIn(input: AdvanceInput): Trouble | undefined {
  const { stage, member, now, approvedBy, checks, pending, rules, before } = input
  const { answer } = member
  const health = judgementOf(input)
  if (answer?.kind !== 'Seen' || health === undefined) return undefined
  if (answer.prune !== undefined && health.state !== 'Failed')
    return {
      predicate: 'PruneGuard',
      seen: pruneWaitText(answer.prune),
      unblock: atPermitOf(member.name, answer.prune.waits?.unblock) ?? `digest ${answer.prune.digest} is approved`,
      isFinal: false,
      timeoutMs: Number.POSITIVE_INFINITY,
    }
  if (health.state !== 'Current')
    return {
      predicate: health.outside ?? 'Progressing',
      seen: health.message,
      unblock: health.outside === undefined ? 'its objects become healthy' : OUTSIDE[health.outside](member.name),
      isFinal: health.state === 'Failed',
      timeoutMs: Number.POSITIVE_INFINITY,
    }
  if (member.isLeaving === true) return undefined
  for (const gate of stage.gates ?? []) {
    const checked = checks.get(gate.name)
    // After a restart nothing was queried yet: a cluster that passed keeps its soak until the answer arrives.
    if (isRemote(gate) && checked === undefined && before?.phase === 'Healthy') continue
    // An answer from before the change does not count.
    const isFresh = before?.phase === 'Healthy' || (checked?.at ?? 0) >= Date.parse(before?.since ?? '')
    const facts = {
      now,
      approvedBy,
      baseline: answer.baseline,
      check: isFresh ? checked?.value : undefined,
      rule: rules.get(gate.name),
    }
    const { holds, seen, timeoutMs } = judgeGate(gate, answer.readings, facts)
    if (!holds)
      return {
        predicate: 'GateClosed',
        seen: cut(`${gate.name}: ${seen}`),
        unblock: cut(unblockOf(gate, input.release)),
        isFinal: false,
        isPending: pending.has(gate.name),
        timeoutMs,
      }
  }
  return undefined
}

/** Rounds down: the safe side for all limits. */
export const countOf = (value: number | `${number}%`, size: number): number =>
  typeof value === 'number' ? value : Math.floor((Number(value.slice(0, -1)) * size) / 100)

const MOST_NAMED = 3

export function pruneText({ count, allowed, first, clusters = [], machines, allowedMachines }: HeldPrune): string {
  const lost = clusters.length < 2 ? '' : `; among them are the clusters ${someOf(clusters, MOST_NAMED)}`
  // The guard allows this number of objects: it blocks because machines could not be counted.
  if (machines === undefined && count <= allowed)
    return `${counted(count, 'object')} would be deleted with machines whose number is not known, the first is ${first}${lost}`
  if (machines === undefined)
    return `${counted(count, 'object')} would be deleted (limit ${allowed}), the first is ${first}${lost}`
  const limits = `${counted(machines, 'machine')} (limit ${allowedMachines ?? 0}) and ${counted(count, 'object')} (limit ${allowed})`
  return `${limits} would be deleted, the first is ${first}${lost}`
}

const pruneWaitText = (prune: WaitingPrune): string =>
  prune.waits === undefined ? pruneText(prune) : cut(`approved; ${prune.waits.seen}; ${pruneText(prune)}`)

/** The form in the Release's status. */
export function recordedPrune({ waits, ...prune }: WaitingPrune): NonNullable<ClusterStatus['prune']> {
  const { isApproved: _, ...held } = prune
  return waits?.permit === undefined ? held : { ...held, permit: waits.permit }
}

export const cut = (text: string): string => shortened(text, MAX_SEEN)

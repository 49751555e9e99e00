// The status of a MachineSet, from its observed state and its plan. Pure; equal inputs give equal statuses.
import { waitingSince } from '#runtime/waiting.ts'
import type { Reason } from '#api/catalogue.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import { isBeingDeleted } from '#api/schema/object-meta.ts'
import { type WantedCondition, setConditions } from '#kube/conditions.ts'
import { formatSelector } from '#kube/selector.ts'
import { counted } from '#lib/counted.ts'
import { someOf } from '#lib/some-of.ts'
import { refusedText } from '#runtime/refused-write.ts'
import type { ActionResult } from '#runtime/reconcile-with.ts'
import type { MachineSetAction, MachineSetPlan } from './actions.ts'
import { type Seen, aliveOf, isOutdated, isOwned, isReady, readySinceMs, checkedSelector } from './seen.ts'
import { recentLosses } from './plan-burial.ts'
import { AVAILABLE_AFTER_MS } from './plan-permits.ts'
import { defined } from '#lib/defined.ts'

export type MachineSetStatus = NonNullable<MachineSet['status']>

interface Counts {
  readonly replicas: number
  readonly ready: number
  readonly available: number
  readonly deleting: number
  readonly outdated: number
  readonly wanted: number
}

/** What the server does not take, and a retry alone will not change. */
export function refusalOf(results: readonly ActionResult<MachineSetAction>[], failures: number): string | undefined {
  for (const { action, outcome } of results) {
    const text = refusedText(outcome, failures)
    if (text !== undefined) return `${action.kind}: ${text}`
  }
  return undefined
}

export function statusOf(seen: Seen, plan: MachineSetPlan, refusal: string | undefined, now: number): MachineSetStatus {
  const { set } = seen
  const counts = countsOf(seen, now)
  const read = checkedSelector(set)
  const losses = recentLosses(set.status?.hostLosses, now)
  const problem = read.kind === 'Invalid' ? read.problem : undefined
  const generation = set.metadata.generation
  const wanted = conditionsOf(seen, counts, plan, { problem, refusal }).map((c) => ({
    ...c,
    ...defined({ observedGeneration: generation }),
  }))
  const isComplete =
    problem === undefined &&
    counts.replicas === counts.wanted &&
    counts.ready === counts.wanted &&
    counts.deleting === 0
  return {
    ...defined({ observedGeneration: generation }),
    phase:
      problem !== undefined ? 'Blocked' : isComplete ? 'Complete' : seen.hold === undefined ? 'Progressing' : 'Paused',
    replicas: counts.replicas,
    readyReplicas: counts.ready,
    availableReplicas: counts.available,
    deletingReplicas: counts.deleting,
    outdatedReplicas: counts.outdated,
    ...(losses.length > 0 && { hostLosses: losses }),
    ...(read.kind === 'Selector' && { selector: formatSelector(read.selector) }),
    ...waitingFor(seen, plan, now),
    conditions: setConditions(
      set.status?.conditions?.filter((c) => c.type !== 'Paused' || seen.hold !== undefined),
      wanted,
      now,
    ),
  }
}

function countsOf(seen: Seen, now: number): Counts {
  const alive = aliveOf(seen)
  const isAvailable = (since: number | undefined) => since !== undefined && since + AVAILABLE_AFTER_MS <= now
  return {
    replicas: alive.length,
    ready: alive.filter(isReady).length,
    available: alive.filter((m) => isAvailable(readySinceMs(m))).length,
    deleting: seen.machines.filter((m) => isOwned(m, seen.set) && isBeingDeleted(m)).length,
    outdated: alive.filter((m) => isOutdated(seen.set, m)).length,
    wanted: isBeingDeleted(seen.set) ? 0 : seen.set.spec.replicas,
  }
}

/** The start time stays as long as it waits for the same thing. */
function waitingFor({ set }: Seen, { waiting }: MachineSetPlan, now: number): Pick<MachineSetStatus, 'waitingFor'> {
  if (waiting === undefined) return {}
  return { waitingFor: waitingSince(set.status?.waitingFor, waiting, now) }
}

const condition = (type: string, holds: boolean, reason: Reason, message: string): WantedCondition => ({
  type,
  status: holds ? 'True' : 'False',
  reason,
  message,
})

interface Trouble {
  readonly problem: string | undefined
  readonly refusal: string | undefined
}

function conditionsOf(
  seen: Seen,
  counts: Counts,
  plan: MachineSetPlan,
  { problem, refusal }: Trouble,
): WantedCondition[] {
  const { replicas, ready, wanted, deleting } = counts
  if (isBeingDeleted(seen.set)) return goingConditions(counts, plan)
  const { hold } = seen
  const { waiting, freeze } = plan
  const isReached = ready >= wanted && replicas === wanted
  const reached: readonly [Reason, string] = isReached
    ? ['ReplicasReached', `${ready} of ${counted(wanted, 'machine is', 'machines are')} Ready`]
    : [
        'ReplicasShort',
        `${ready} of ${counted(wanted, 'machine is', 'machines are')} Ready, ${counted(replicas, 'exists', 'exist')}${notReady(seen)}`,
      ]
  const isMoving = problem === undefined && (replicas !== wanted || deleting > 0 || ready < wanted)
  return [
    condition(
      'Ready',
      problem === undefined && isReached,
      problem === undefined ? reached[0] : 'InvalidSpec',
      problem ?? reached[1],
    ),
    isMoving
      ? condition(
          'Reconciling',
          true,
          waiting === undefined ? 'Progressing' : waitingReason(waiting, freeze?.reason),
          waiting?.seen ?? reached[1],
        )
      : condition('Reconciling', false, problem === undefined ? 'AsDeclared' : 'InvalidSpec', 'no changes in progress'),
    problem !== undefined
      ? condition('Stalled', true, 'InvalidSpec', problem)
      : refusal !== undefined
        ? condition('Stalled', true, 'ActionRefused', refusal)
        : condition('Stalled', false, 'AsDeclared', 'no manual intervention needed'),
    condition(
      'Available',
      counts.available >= wanted,
      counts.available >= wanted ? 'ReplicasReached' : 'ReplicasShort',
      `${counts.available} of ${counted(wanted, 'machine is', 'machines are')} available`,
    ),
    freeze === undefined
      ? condition('ScalingFrozen', false, 'AsDeclared', 'machines may be created and removed')
      : condition('ScalingFrozen', true, freeze.reason, freeze.message),
    ...(hold !== undefined && freeze !== undefined ? [condition('Paused', true, freeze.reason, freeze.message)] : []),
  ]
}

const MOST_NAMED = 2

/** With their phases: `Installing` ends by itself, `Lost` does not. */
function notReady(seen: Seen): string {
  const names = aliveOf(seen)
    .filter((m) => !isReady(m))
    .map((m) => `machine/${m.metadata.name ?? ''} is ${m.status?.phase ?? 'Pending'}`)
    .toSorted()
  return names.length === 0 ? '' : `: ${someOf(names, MOST_NAMED)}`
}

/** For a set that is being deleted: how much is left, and what that waits for. */
function goingConditions({ replicas, deleting }: Counts, { waiting, freeze }: MachineSetPlan): WantedCondition[] {
  const left = `the set is being deleted; ${counted(replicas + deleting, 'machine is', 'machines are')} left, ${deleting} of them being removed`
  return [
    condition('Ready', false, 'Deleting', left),
    condition(
      'Reconciling',
      true,
      waiting === undefined ? 'Deleting' : waitingReason(waiting, freeze?.reason),
      waiting?.seen ?? left,
    ),
    condition('Stalled', false, 'Deleting', 'no manual intervention needed'),
    ...(freeze === undefined ? [] : [condition('ScalingFrozen', true, freeze.reason, freeze.message)]),
  ]
}

function waitingReason(
  { predicate, because }: NonNullable<MachineSetPlan['waiting']>,
  freeze: Reason | undefined,
): Reason {
  switch (predicate) {
    case 'PermitGranted':
      return because ?? 'PermitRequested'
    case 'PermitDenied':
      return 'PermitDenied'
    case 'WithinUnavailable':
      return 'BudgetExhausted'
    case 'NotHeld':
      return freeze ?? 'HoldPause'
    case 'Succession':
      return 'WaitingForOther'
    case 'MachinesGone':
    case 'ClusterLeaves':
      return 'Deleting'
    case 'HostsMade':
      return because ?? 'ProviderError'
    default:
      return predicate satisfies never
  }
}

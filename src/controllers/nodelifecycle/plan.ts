// Decides which lifecycle conditions KubeNode sets on a Node, so that other programs learn of drains, maintenance and repairs (KEP-5683). Conditions of other
// writers stay; KubeNode's own are removed with their cause. Pure.
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { type LifecycleType, LIFECYCLE_TYPES } from '#api/node-conditions.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { operationFacts, operationName } from '#api/protocol/operations.ts'
import { timestamp } from '#lib/clock.ts'
import { assertNever } from '#lib/errors.ts'
import { findCondition } from '#kube/conditions.ts'
import { maintenanceText, phaseOfEvent, takesHostAway } from '#nodes/faults/maintenance.ts'
import type { Plan } from '#runtime/reconcile-with.ts'
import type { LifecycleCondition, WriteConditions } from './actions.ts'
import type { Seen } from './seen.ts'

/** Prefix of KubeNode's reasons. Conditions with other reasons are never changed. */
const OURS = 'KubeNode'
const ENDED = `${OURS}Ended`

interface Cause {
  readonly reason: string
  readonly message: string
}
type Wanted = Partial<Record<LifecycleType, Cause>>

export function plan(seen: Seen, now: number): Plan<WriteConditions> {
  const { node, isServed } = seen
  if (node === undefined) return { actions: [], notices: [] }
  // If the server lacks these conditions, or its version is unknown, none is added. Existing ones are still removed.
  const wanted = isServed === true ? wantedOf(seen) : {}
  const conditions = LIFECYCLE_TYPES.flatMap((type) => {
    const found = node.status?.conditions?.find((c) => c.type === type)
    const next = nextOf(type, found, wanted[type], now)
    return next === undefined ? [] : [next]
  })
  const [first] = conditions
  if (first === undefined) return { actions: [], notices: [] }
  return { actions: [{ kind: 'WriteConditions', reason: first.message, node, conditions }], notices: [] }
}

interface Found {
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string
}

/** Undefined if the condition is unchanged. */
function nextOf(
  type: LifecycleType,
  found: Found | undefined,
  cause: Cause | undefined,
  now: number,
): LifecycleCondition | undefined {
  const isOurs = found?.reason?.startsWith(OURS) === true
  const isTrue = found?.status === 'True'
  // A client that drains also ends its drain.
  if (found !== undefined && isTrue && !isOurs) return undefined
  const at = timestamp(now)
  if (cause === undefined)
    return isTrue
      ? {
          type,
          status: 'False',
          reason: ENDED,
          message: 'what took the node out of service is over',
          lastTransitionTime: at,
        }
      : undefined
  if (isTrue && found?.reason === cause.reason && found.message === cause.message) return undefined
  return { type, status: 'True', ...cause, lastTransitionTime: isTrue ? (found?.lastTransitionTime ?? at) : at }
}

/** The first cause of each condition; any of them explains it. */
function wantedOf({ machine, jobs, events }: Seen): Wanted {
  const removal = findCondition(machine?.status?.conditions, 'Drained')
  const removed: Wanted =
    machine !== undefined && removal?.status === 'False' && removal.reason === 'WaitingForDrain'
      ? { DrainInProgress: { reason: `${OURS}Removal`, message: `machine/${nameOf(machine)} is being removed` } }
      : {}
  return Object.assign({}, ...[...events.map(ofEvent), ...jobs.map(ofJob), removed].toReversed()) as Wanted
}

function ofEvent(event: MaintenanceEvent): Wanted {
  if (!takesHostAway(event)) return {}
  const cause = { reason: `${OURS}Maintenance`, message: maintenanceText(event) }
  const drained: Wanted = event.status?.drainedAt === undefined ? {} : { Drained: cause }
  const phase = phaseOfEvent(event)
  switch (phase) {
    case 'Announced':
      return { MaintenancePlanned: cause }
    case 'Preparing':
      return {
        MaintenancePlanned: cause,
        ...(event.status?.drainStartedAt !== undefined && { DrainInProgress: cause }),
      }
    case 'Prepared':
      return { MaintenancePlanned: cause, ...drained }
    case 'Missed':
    case 'InProgress':
    case 'Verifying':
      return { MaintenanceInProgress: cause, ...drained }
    case 'Done':
    case 'Failed':
    case 'Cancelled':
      return {}
    default:
      return assertNever(phase)
  }
}

function ofJob(job: RemedyOperationJob): Wanted {
  const { phase, steps = [] } = job.status ?? {}
  if (job.spec.dryRun || (phase !== 'Running' && phase !== 'Verifying')) return {}
  const cause = {
    reason: `${OURS}Repair`,
    message: `job/${nameOf(job)} repairs the node (rule ${job.spec.remedierRef.name})`,
  }
  const drain = steps.find((s) => s.operation === 'drain')
  const isDraining = drain?.startedAt !== undefined && drain.outcome === undefined
  const isWork = job.spec.operations.some((o) => takesOut(o))
  return {
    ...(isDraining && { DrainInProgress: cause }),
    ...(drain?.outcome === 'Succeeded' && { Drained: cause }),
    ...(isWork && { MaintenanceInProgress: cause }),
  }
}

/** Restarting a component is not node maintenance. */
function takesOut(operation: RemedyOperationJob['spec']['operations'][number]): boolean {
  const name = operationName(operation)
  const disruptions = operationFacts(operation)?.disruptions ?? []
  return (
    name !== undefined && disruptions.some((d) => d === 'Drain' || d === 'Reboot' || d === 'Fence' || d === 'Replace')
  )
}

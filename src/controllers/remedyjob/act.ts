// Carries out one planned action; decides nothing. What disrupts was read from the server right before it was planned.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { FIELD_MANAGERS, FINALIZERS } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { assertNever } from '#lib/errors.ts'
import { applyObject } from '#kube/apply.ts'
import type { KubeClient } from '#kube/client.ts'
import { type WriteOutcome } from '#kube/outcome.ts'
import { uncordon } from '#nodes/cordon.ts'
import { unfence } from '#nodes/fence.ts'
import { type PermitRequest, renewPermit, reportResults, requestPermit } from '#permits/permits.ts'
import { withoutFinalizer } from '#runtime/finalizers.ts'
import type { Swap } from '#runtime/compare-and-swap.ts'
import { deleteExactly, updateExactly } from '#runtime/preconditions.ts'
import { type ActionOutcome, outdated } from '#runtime/reconcile-with.ts'
import { doStep } from './steps/do-step.ts'
import { type JobTools, nodeTools } from './steps/step-tools.ts'
import type { JobAction, PermitTarget } from './actions.ts'
import { componentOf, disruptionsOf } from './operations.ts'
import { type Seen, nameOf, uidOf } from './seen.ts'
import { shortened } from '#lib/shortened.ts'

const fieldManager = FIELD_MANAGERS.remedyJob
/** Renewed while the job is running. */
const PERMIT_LEASE_SECONDS = 120

export async function act(tools: JobTools, action: JobAction, seen: Seen, signal: AbortSignal): Promise<ActionOutcome> {
  const { client, clock } = tools
  const permits = { client, fieldManager, signal }
  const { job } = seen
  switch (action.kind) {
    case 'RequestPermit':
      return existsIsDone(await requestPermit(permits, action.permit, requestFor(seen, action.target)))
    case 'RenewPermit':
      return renewPermit(permits, action.permit, clock.now())
    case 'ReportResult':
      return reportResults(permits, action.permit, { [action.target]: action.result })
    case 'ListJobs':
      return listJobs(client, action, signal)
    case 'DoStep':
      return doStep(tools, action.step, seen, signal)
    case 'ReleaseCordon':
      return released(await uncordon(nodeTools(tools, signal), job.spec.node, action.owner))
    case 'ReleaseFence':
      return released(await unfence(nodeTools(tools, signal), job.spec.node, action.owner))
    case 'DeleteRecord':
      return deleteExactly(client, remedyOperationJob, job, { signal })
    case 'ReleaseRecord':
      return updateExactly(client, remedyOperationJob, withoutFinalizer(job, FINALIZERS.job), { fieldManager, signal })
    default:
      return assertNever(action)
  }
}

/** Asking twice under one name is asking once. */
const existsIsDone = (outcome: WriteOutcome<unknown>): ActionOutcome =>
  outcome.kind === 'Exists' ? { kind: 'Applied', object: undefined } : outcome

async function listJobs(
  client: KubeClient,
  { machine, jobs }: Extract<JobAction, { kind: 'ListJobs' }>,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  // With the uid, an apply never re-creates a deleted machine.
  const object = {
    apiVersion: API_GROUP_VERSION,
    kind: 'Machine',
    metadata: { name: nameOf(machine), uid: uidOf(machine) },
    spec: { jobs },
  }
  return applyObject(client, machineType, object, { fieldManager, force: true, signal })
}

const released = (swap: Swap<unknown>): ActionOutcome =>
  swap.kind === 'Swapped' ? { kind: 'Applied', object: undefined } : outdated(swap.reason)

function requestFor({ job }: Seen, target: PermitTarget): PermitRequest {
  const { spec } = job
  const component = componentOf(job)
  return {
    operations: disruptionsOf(job),
    ...defined({ component }),
    targets: [target],
    requester: { manager: fieldManager, kind: 'RemedyOperationJob', name: nameOf(job), uid: uidOf(job) },
    reason: shortened(`repair of ${spec.node.name} by rule ${spec.remedierRef.name}, rung ${spec.rung}`, 200),
    ...defined({ commit: spec.commit }),
    leaseSeconds: PERMIT_LEASE_SECONDS,
  }
}

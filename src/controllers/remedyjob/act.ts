// Carries out one planned action and decides nothing. The objects behind a disruptive action were read from the server right before the plan.
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { FIELD_MANAGERS, FINALIZERS } from '#api/names.ts'
import { uidOf } from '#api/schema/object-meta.ts'
import { assertNever } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { uncordon } from '#nodes/cordon.ts'
import { endIsolation } from '#nodes/dra/isolation.ts'
import { endAcceptancePod } from '#nodes/end-acceptance-pod.ts'
import { unfence } from '#nodes/fence.ts'
import { actOnPermit } from '#permits/permit-actions.ts'
import { withoutFinalizer } from '#runtime/finalizers.ts'
import type { Swap } from '#runtime/compare-and-swap.ts'
import { deleteExactly, updateExactly } from '#runtime/preconditions.ts'
import { type ActionOutcome, outdated } from '#runtime/reconcile-with.ts'
import { doStep } from './steps/do-step.ts'
import { applyList } from './steps/job-list.ts'
import { type JobTools, nodeTools } from './steps/step-tools.ts'
import type { JobAction } from './actions.ts'
import { type Seen } from './seen.ts'

const fieldManager = FIELD_MANAGERS.remedyJob

export async function act(tools: JobTools, action: JobAction, seen: Seen, signal: AbortSignal): Promise<ActionOutcome> {
  const { client, clock } = tools
  const { job } = seen
  switch (action.kind) {
    case 'RequestPermit':
    case 'RenewPermit':
    case 'ReportResult':
      return actOnPermit({ client, fieldManager, signal }, action, clock.now())
    case 'ListJobs':
      return applyList(client, action.machine, action.jobs, signal)
    case 'DoStep':
      return doStep(tools, action.step, seen, signal)
    case 'EndPod':
      return endPod(client, action.pod, signal)
    case 'ReleaseCordon':
      return released(await uncordon(nodeTools(tools, signal), job.spec.node, action.owner))
    case 'ReleaseFence':
      return released(await unfence(nodeTools(tools, signal), job.spec.node, action.owner))
    case 'ReleaseDevices':
      return releaseDevices(tools, action.incident, seen, signal)
    case 'DeleteRecord':
      return deleteExactly(client, remedyOperationJob, job, { signal })
    case 'ReleaseRecord':
      return updateExactly(client, remedyOperationJob, withoutFinalizer(job, FINALIZERS.job), { fieldManager, signal })
    default:
      return assertNever(action)
  }
}

/** Where these controllers may not, the time that its job had ends the pod. */
async function endPod(
  client: KubeClient,
  pod: Extract<JobAction, { kind: 'EndPod' }>['pod'],
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const outcome = await endAcceptancePod(client, pod, signal)
  return outcome.kind === 'Denied' || outcome.kind === 'Stale' ? { kind: 'Applied', object: undefined } : outcome
}

/** Done once in this process. Where these controllers may not, nothing else of the job waits for it. */
async function releaseDevices(
  { client, free }: JobTools,
  incident: string,
  { job }: Seen,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const outcome = await outcomeOf(() => endIsolation(client, incident, signal))
  if (outcome.kind === 'Applied') free.note(uidOf(job))
  return outcome.kind === 'Denied' ? { kind: 'Applied', object: undefined } : outcome
}

const released = (swap: Swap<unknown>): ActionOutcome =>
  swap.kind === 'Swapped' ? { kind: 'Applied', object: undefined } : outdated(swap.reason)

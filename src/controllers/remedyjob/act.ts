// Carries out one planned action; decides nothing. What disrupts was read from the server right before it was planned.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { FIELD_MANAGERS, FINALIZERS } from '#api/names.ts'
import { assertNever, messageOf } from '#lib/errors.ts'
import type { Clock } from '#lib/clock.ts'
import type { Random } from '#lib/random.ts'
import { applyObject } from '#kube/apply.ts'
import type { KubeClient } from '#kube/client.ts'
import { type WriteOutcome } from '#kube/outcome.ts'
import { type CordonTools, cordon, uncordon } from '#nodeops/cordon.ts'
import { drainPass } from '#nodeops/drain.ts'
import { type PermitRequest, renewPermit, reportResults, requestPermit } from '#nodeops/permits.ts'
import type { Provider } from '#providers/port.ts'
import type { Swap } from '#runtime/compare-and-swap.ts'
import { deleteExactly, updateExactly } from '#runtime/preconditions.ts'
import { type ActionOutcome, outdated } from '#runtime/reconcile-with.ts'
import type { JobAction, PermitTarget, StepResult } from './moves.ts'
import { componentOf, disruptionsOf } from './operations.ts'
import { type JobStep, type Seen, cordonOwner, nameOf, uidOf } from './seen.ts'

export interface JobTools {
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: Random
  readonly providers: Readonly<Record<string, Provider>>
}

const fieldManager = FIELD_MANAGERS.remedyJob
/** Renewed while the job is at work. */
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
    case 'ReleaseCordon': {
      const swap = await uncordon(cordonTools(tools, signal), job.spec.node, action.owner)
      return swapped(swap) ?? outdated(swap.kind === 'Swapped' ? '' : swap.reason)
    }
    case 'DeleteRecord':
      return deleteExactly(client, remedyOperationJob, job, { signal })
    case 'ReleaseRecord': {
      const finalizers = (job.metadata.finalizers ?? []).filter((f) => f !== FINALIZERS.job)
      return updateExactly(
        client,
        remedyOperationJob,
        { ...job, metadata: { ...job.metadata, finalizers } },
        { fieldManager, signal },
      )
    }
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
  // With the uid an apply never makes a machine that is gone.
  const object = {
    apiVersion: API_GROUP_VERSION,
    kind: 'Machine',
    metadata: { name: nameOf(machine), uid: uidOf(machine) },
    spec: { jobs },
  }
  return applyObject(client, machineType, object, { fieldManager, force: true, signal })
}

const cordonTools = ({ client, clock, random }: JobTools, signal: AbortSignal): CordonTools => ({
  client,
  clock,
  random,
  fieldManager,
  signal,
})

const applied = (object: StepResult): ActionOutcome => ({ kind: 'Applied', object })

const swapped = (swap: Swap<unknown>, output = 'done'): ActionOutcome | undefined =>
  swap.kind === 'Swapped' ? applied({ outcome: 'Succeeded', output }) : undefined

async function doStep(tools: JobTools, step: JobStep, seen: Seen, signal: AbortSignal): Promise<ActionOutcome> {
  const { job } = seen
  const operation = job.spec.operations[step.index]
  if (operation?.cordon !== undefined) {
    const claim = { reason: `repair ${nameOf(job)}` }
    const swap = await cordon(cordonTools(tools, signal), job.spec.node, cordonOwner(job), claim)
    return (
      swapped(swap) ??
      (swap.kind === 'Refused' ? applied({ outcome: 'Failed', output: swap.reason }) : outdated(reasonOf(swap)))
    )
  }
  if (operation?.uncordon !== undefined) {
    const swap = await uncordon(cordonTools(tools, signal), job.spec.node, cordonOwner(job))
    return (
      swapped(swap) ??
      (swap.kind === 'Refused' ? applied({ outcome: 'Failed', output: swap.reason }) : outdated(reasonOf(swap)))
    )
  }
  if (operation?.drain !== undefined) return drain(tools.client, job.spec.node.name, signal)
  if (operation?.reboot !== undefined) return reboot(tools, seen, signal)
  return applied({ outcome: 'Failed', output: 'this step is not known here' })
}

const reasonOf = (swap: Swap<unknown>): string => (swap.kind === 'Swapped' ? '' : swap.reason)

async function drain(client: KubeClient, node: string, signal: AbortSignal): Promise<ActionOutcome> {
  const pass = await drainPass(client, node, signal)
  switch (pass.kind) {
    case 'Drained':
      return applied({ outcome: 'Succeeded', output: 'no pod is left that must move' })
    case 'Draining':
      return applied({
        output:
          pass.blockedBy === undefined
            ? `${pass.left} pods are left, first ${pass.first}`
            : `a budget keeps ${pass.blockedBy}, ${pass.left} pods are left`,
      })
    case 'Unknown':
      return outdated(`who is on the node is not known: ${messageOf(pass.error)}`)
    default:
      return assertNever(pass)
  }
}

async function reboot({ providers }: JobTools, { machine }: Seen, signal: AbortSignal): Promise<ActionOutcome> {
  const name = machine?.spec.provider?.name ?? ''
  const provider = providers[name]
  const providerID = machine?.spec.providerID
  if (provider === undefined || providerID === undefined)
    return applied({
      outcome: 'Failed',
      output: `no provider ${JSON.stringify(name)} is here that could reboot the machine`,
    })
  try {
    const ordered = await provider.reboot(providerID, signal)
    return applied(
      ordered === 'Gone'
        ? { outcome: 'Failed', output: 'the provider knows no such host' }
        : { output: 'the provider was told to reboot' },
    )
  } catch (error) {
    // Whether it was ordered is not known; the boot will tell, or the time runs out.
    return applied({ output: `the provider did not answer: ${messageOf(error)}`.slice(0, 200) })
  }
}

function requestFor({ job }: Seen, target: PermitTarget): PermitRequest {
  const { spec } = job
  const component = componentOf(job)
  return {
    operations: disruptionsOf(job),
    ...(component !== undefined && { component }),
    targets: [target],
    requester: { manager: fieldManager, kind: 'RemedyOperationJob', name: nameOf(job), uid: uidOf(job) },
    reason: `repair of ${spec.node.name} by rule ${spec.remedierRef.name}, rung ${spec.rung}`.slice(0, 200),
    ...(spec.commit !== undefined && { commit: spec.commit }),
    leaseSeconds: PERMIT_LEASE_SECONDS,
  }
}

// Runs one pass of one central step and returns its result. Without an outcome the step continues. Each pass can be repeated.
import { machine as machineType } from '#api/kinds/machine.ts'
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { assertNever, messageOf } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { cordon, uncordon } from '#nodes/cordon.ts'
import { needsPlaces, usersOfFaulty } from '#nodes/device-users.ts'
import { devicesOn, type SlicedDevice } from '#nodes/dra/devices-on.ts'
import { type DrainOptions, drainPass } from '#nodes/drain.ts'
import { type Clearance, type ReadPermit, readingPermits, underPermit } from '#permits/under-permit.ts'
import { foreignHost } from '#providers/foreign-host.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import { type ActionOutcome, outdated } from '#runtime/reconcile-with.ts'
import { callWebhook } from './call-webhook.ts'
import { drainOptionsOf } from './drain-options.ts'
import { fenceOff } from './fence-off.ts'
import { isolateDevice } from './isolate-device.ts'
import { rescuePass } from './rescue.ts'
import { reportFault } from './report-fault.ts'
import { runPod } from './run-pod.ts'
import { type JobTools, applied, failed, hostOf, nodeTools, settled } from './step-tools.ts'
import {
  type CentralOperation,
  type Operation,
  argumentsOf,
  isCentral,
  operationName,
  operationFacts,
} from '#api/protocol/operations.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { permitName } from '../plan-permit.ts'
import { type JobStep, type Seen, cordonOwner, targetOf } from '../seen.ts'
import { shortened } from '#lib/shortened.ts'

/** A deleted pod ends within its grace period. Check often for the last one. */
const GOING_REQUEUE_MS = 500
/** A budget frees up when pods elsewhere become ready. */
const BLOCKED_REQUEUE_MS = 3_000

export async function doStep(tools: JobTools, step: JobStep, seen: Seen, signal: AbortSignal): Promise<ActionOutcome> {
  const { job } = seen
  const operation = job.spec.operations[step.index]
  const name = operation === undefined ? undefined : operationName(operation)
  if (operation === undefined || name === undefined || !isCentral(name))
    return failed('this step is not supported by this version')
  if (name === 'uncordon')
    return settled(await uncordon(nodeToolsFor(tools, seen, signal), job.spec.node, cordonOwner(job)))
  const by = { permit: permitName(job) }
  const operations = operationFacts(operation)?.disruptions ?? []
  const act = { by, operations, target: targetOf(seen)?.uid ?? '', signal }
  // Before its session, a rescue waits for its key and for a turn.
  if (name === 'rescue' || name === 'rescueReboot')
    return rescuePass(tools, step, seen, (rescue) => underPermit(readingPermits(tools.client), act, rescue), signal)
  return underPermit(readPermit(tools, seen), act, (clearance) =>
    disrupt(clearance, tools, { step, operation, name }, seen, signal),
  )
}

/** A decision's inputs were read at most half a second ago. A repair reads them again for each pass of a step. */
const readPermit = ({ client }: JobTools, { isFresh, permit }: Seen): ReadPermit =>
  isFresh ? async () => ({ kind: 'Applied', object: permit }) : readingPermits(client)

/** The node was read for this decision. If it changed since, the swap reads it again. */
const nodeToolsFor = (tools: JobTools, { isFresh, node }: Seen, signal: AbortSignal) => ({
  ...nodeTools(tools, signal),
  held: isFresh ? node : undefined,
})

interface Central {
  readonly step: JobStep
  readonly operation: Operation
  readonly name: Exclude<CentralOperation, 'uncordon' | 'rescue' | 'rescueReboot'>
}

async function disrupt(
  clearance: Clearance,
  tools: JobTools,
  { step, operation, name }: Central,
  seen: Seen,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const { node } = seen.job.spec
  switch (name) {
    case 'cordon': {
      const reason = `repair ${nameOf(seen.job)}`
      return settled(
        await cordon(clearance, nodeToolsFor(tools, seen, signal), node, cordonOwner(seen.job), { reason }),
      )
    }
    case 'runPod':
      return runPod(clearance, tools, argumentsOf(operation, name), { step, seen }, signal)
    case 'isolateDevice':
      return applied(await isolateDevice(clearance, tools, seen, signal))
    case 'drain': {
      const places = needsPlaces(seen.job, step) ? await placesOn(tools.client, node.name, signal) : []
      const only = usersOfFaulty(seen.job, step, places)
      const now = tools.clock.now()
      const options = drainOptionsOf(argumentsOf(operation, name), { ...defined({ only }), step, now })
      return drain(clearance, tools.client, node.name, options, signal)
    }
    case 'reboot':
      return reboot(clearance, tools, seen, signal)
    case 'fence':
      return fenceOff(clearance, tools, step, seen, signal)
    case 'replace':
      return replace(clearance, tools, seen, signal)
    case 'webhook':
      return applied(await callWebhook(tools, argumentsOf(operation, name), step, seen, signal))
    case 'reportFault':
      return applied(await reportFault(tools, argumentsOf(operation, name), seen, signal))
    default:
      return assertNever(name)
  }
}

/** What cannot be read has no known place, so that its pods move. */
async function placesOn(client: KubeClient, node: string, signal: AbortSignal): Promise<readonly SlicedDevice[]> {
  const read = await outcomeOf(() => devicesOn(client, node, signal))
  return read.kind === 'Applied' ? read.object : []
}

async function drain(
  clearance: Clearance,
  client: KubeClient,
  node: string,
  options: DrainOptions,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const pass = await drainPass(clearance, client, node, signal, options)
  if (pass.kind === 'Drained') return applied({ outcome: 'Succeeded', output: 'no pods left to evict' })
  if (pass.kind === 'Unknown') return outdated(`cannot list the pods of the node: ${messageOf(pass.error)}`)
  const { left, first, blockedBy, blocked = [], waiting } = pass
  const some = counted(left, 'pod left', 'pods left')
  if (blocked.length === 0 && waiting !== undefined)
    return applied({ output: `${some}; ${waiting}`, againMs: BLOCKED_REQUEUE_MS })
  if (blocked.length === 0) return applied({ output: `${some}, such as ${first}`, againMs: GOING_REQUEUE_MS })
  const why =
    blockedBy === undefined
      ? 'these must finish by themselves or keep local data'
      : 'blocked by a PodDisruptionBudget or still terminating'
  return applied({ output: `${some}; ${why}: ${blocked.join(', ')}`, againMs: BLOCKED_REQUEUE_MS })
}

async function reboot(_clearance: Clearance, tools: JobTools, seen: Seen, signal: AbortSignal): Promise<ActionOutcome> {
  const host = hostOf(tools, seen)
  if (typeof host === 'string') return failed(host)
  try {
    const foreign = foreignHost(await host.provider.get(host.providerID, signal), seen.machine?.metadata.uid)
    if (foreign !== undefined) return failed(foreign)
    const ordered = await host.provider.reboot(host.providerID, { hard: true }, signal)
    return ordered === 'Gone'
      ? failed('the provider does not know this host')
      : applied({ output: 'reboot requested from the provider' })
  } catch (error) {
    // It is unknown whether the order arrived. The boot shows it, or the time runs out.
    return applied({ output: shortened(`the provider did not respond: ${messageOf(error)}`, 200) })
  }
}

/** The machine's set creates a replacement. Without a set the node would simply be lost. */
async function replace(
  _clearance: Clearance,
  { client }: JobTools,
  { machine }: Seen,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  if (machine === undefined) return applied({ outcome: 'Succeeded', output: 'the machine was deleted' })
  const set = machine.metadata.ownerReferences?.find((o) => o.controller === true && o.kind === 'MachineSet')
  if (set === undefined)
    return failed('no MachineSet owns the machine, so no replacement would be created; replace it manually')
  const deleted = await deleteExactly(client, machineType, machine, { signal })
  if (deleted.kind === 'Applied' || deleted.kind === 'Stale')
    return applied({
      outcome: 'Succeeded',
      output: `deleted machine ${nameOf(machine)}; MachineSet ${set.name} creates a replacement`,
    })
  return deleted
}

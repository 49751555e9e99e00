// Writes what is the machine controller's in a Machine: its fields of the spec, and its finalizer.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { type WriteOutcome, outcomeOf } from '#kube/outcome.ts'
import { keyOf, preconditionsOf, updateExactly } from '#runtime/preconditions.ts'
import type { MachineTools } from './tools.ts'

const fieldManager = FIELD_MANAGERS.machine

type OwnSpec = { readonly [K in 'providerID' | 'address' | 'components' | 'leaving']?: Machine['spec'][K] | undefined }

/** What spec writes need: the cache shows them before the watch does, or the next reconcile would decide on the copy from before and be refused. */
type SpecTools = Pick<MachineTools, 'client' | 'cache'>

/**
 * All fields of the spec that are ours, whole: what is left out goes. The version that was decided about goes along, so a stale decision is refused. A merge
 * patch replaces the whole list of components, also entries that a user wrote when creating the Machine, which an apply would leave. It also spares the API
 * server the work of an apply, which counts with three of these writes for each machine of a rollout.
 */
export async function writeSpec(
  { client, cache }: SpecTools,
  machine: Machine,
  { providerID, address, components = [], leaving }: OwnSpec,
  signal: AbortSignal,
): Promise<WriteOutcome<Machine>> {
  const { uid, resourceVersion } = preconditionsOf(machine)
  const value = {
    metadata: { uid, resourceVersion },
    spec: {
      providerID: providerID ?? null,
      address: address ?? null,
      components: components.length > 0 ? components : null,
      leaving: leaving === true ? true : null,
    },
  }
  const outcome = await outcomeOf(() =>
    client.patch<Machine>(machineType, keyOf(machine), { type: 'merge', value }, { fieldManager, signal }),
  )
  if (outcome.kind === 'Applied') cache.assume(outcome.object)
  return outcome
}

/** The exact version that was decided about. */
export const writeFinalizers = (
  client: KubeClient,
  machine: Machine,
  change: (list: readonly string[]) => readonly string[],
  signal: AbortSignal,
): Promise<WriteOutcome<Machine>> =>
  updateExactly(client, machineType, withFinalizers(machine, change), { fieldManager, signal })

const withFinalizers = (m: Machine, change: (list: readonly string[]) => readonly string[]): Machine => ({
  ...m,
  metadata: { ...m.metadata, finalizers: change(m.metadata.finalizers ?? []) },
})

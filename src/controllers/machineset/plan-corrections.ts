// Decides which machines take the provider of a corrected template: those that never had a host, so that a commit can fix a misspelled provider.
// Pure. A machine that may have a host keeps its provider: only that provider can find and delete the host.
import { isObserved } from '#nodes/machine-node.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import { findCondition } from '#kube/conditions.ts'
import { jsonEqual } from '#lib/json.ts'
import type { MachineSetAction } from './actions.ts'
import { type Seen, aliveOf } from './seen.ts'

/** Specs corrected per reconcile. The next one reads all objects again first. */
const MOST_CORRECTIONS = 20

export function corrections(seen: Seen): readonly MachineSetAction[] {
  return aliveOf(seen)
    .filter((m) => takesProvider(seen.set, m))
    .slice(0, MOST_CORRECTIONS)
    .map((machine) => ({
      kind: 'TakeProvider',
      machine,
      reason: `it never had a host of provider ${machine.spec.provider?.name ?? '(none)'}`,
    }))
}

export const takesProvider = ({ spec: { template } }: MachineSet, machine: Machine): boolean =>
  !isObserved(machine) && !jsonEqual(machine.spec.provider, template.spec.provider) && neverHadHost(machine)

/** No provider was asked for a host, or the provider confirmed that it created none. */
function neverHadHost({ spec, status }: Machine): boolean {
  if (spec.providerID !== undefined || status === undefined) return false
  const { nodeRef, agent, provisioning } = status
  if (nodeRef !== undefined || agent !== undefined) return false
  const host = findCondition(status.conditions, 'InfrastructureReady')
  if (provisioning === undefined) return host?.status === 'False' && host.reason === 'ReferenceMissing'
  const { answer, providerID, lost } = provisioning
  return (answer === 'Refused' || answer === 'Exhausted') && providerID === undefined && lost === undefined
}

// Decides which machines take the provider of a corrected template: those that never had a host, so that a commit can fix a misspelled provider. And which take
// the login of their host from the list of the set, such as a new key: nothing on the host changes by that.
// Pure. A machine that may have a host keeps its provider: only that provider can find and delete the host.
import { isObserved } from '#nodes/machine-node.ts'
import type { Machine, SshSpec } from '#api/kinds/machine.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import { findCondition } from '#kube/conditions.ts'
import { jsonEqual } from '#lib/json.ts'
import { hostOf, specFor } from '#nodes/placement/set-hosts.ts'
import type { MachineSetAction } from './actions.ts'
import { type Seen, aliveOf } from './seen.ts'

/** Specs corrected per reconcile. The next one reads all objects again first. */
const MOST_CORRECTIONS = 20

export function corrections(seen: Seen): readonly MachineSetAction[] {
  return aliveOf(seen)
    .flatMap((machine): readonly MachineSetAction[] => {
      if (takesProvider(seen.set, machine))
        return [
          {
            kind: 'TakeProvider',
            machine,
            reason: `it never had a host of provider ${machine.spec.provider?.name ?? '(none)'}`,
          },
        ]
      return loginOf(seen.set, machine) === undefined
        ? []
        : [{ kind: 'TakeLogin', machine, reason: 'the set lists its host with another login' }]
    })
    .slice(0, MOST_CORRECTIONS)
}

/** Undefined: its host is not listed, or it has the login that is listed. */
export function loginOf(set: MachineSet, machine: Machine): SshSpec | undefined {
  const host = hostOf(set, machine)
  const wanted = host && specFor(set.spec.template.spec, host).ssh
  return jsonEqual(wanted, machine.spec.ssh) ? undefined : wanted
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

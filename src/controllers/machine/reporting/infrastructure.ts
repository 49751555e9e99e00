// The condition of a machine about its host at the provider. Pure.
import type { Reason } from '#api/catalogue.ts'
import type { WantedCondition } from '#kube/conditions.ts'
import type { Refusal } from '../provisioning/status.ts'
import { type Seen, isProvided } from '../seen.ts'

export function infrastructure({ machine, host, isHostKept }: Seen, refusal: Refusal | undefined): WantedCondition[] {
  const is = (status: WantedCondition['status'], reason: Reason, message: string): WantedCondition[] => [
    { type: 'InfrastructureReady', status, reason, message },
  ]
  if (refusal !== undefined) return is('False', refusal.reason, refusal.message)
  switch (host.kind) {
    case 'Host':
      if (host.host.state === 'Stopped')
        return is('False', 'HostStopped', 'the provider reports the host as powered off')
      return is(
        'True',
        'MachineExists',
        isHostKept ? 'the host existed before the Machine' : 'the provider reports that the host exists',
      )
    case 'Gone':
      // This provider only keeps records and may have lost one. The host does not depend on it.
      if (isHostKept) return is('True', 'MachineExists', 'the host existed before the Machine')
      return machine.spec.providerID === undefined
        ? is('False', 'Progressing', 'the host is being created')
        : is('False', 'MachineGone', 'the provider no longer knows the host')
    case 'Unknown':
      return is('Unknown', 'ProviderError', host.why)
    case 'NoProvider':
      return is('False', 'ReferenceMissing', `no controller serves provider ${machine.spec.provider?.name ?? ''}`)
    case 'NotAsked':
      if (isHostKept) return is('True', 'MachineExists', 'the host existed before the Machine')
      return isProvided(machine) && machine.spec.providerID === undefined
        ? is('False', 'Progressing', 'the host is being created')
        : []
    default:
      return host satisfies never
  }
}

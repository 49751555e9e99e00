// What a machine waits for that is not in service yet, or not any more, where the plan itself names nothing: no machine waits without a reason. Pure.
import type { Phase } from '#api/catalogue.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { counted } from '#lib/counted.ts'
import type { WantedCondition } from '#kube/conditions.ts'
import type { Waiting } from './actions.ts'
import { type Seen, hasJoined, isObserved, missingComponents, nameOf } from './seen.ts'

/** Nobody brings such a machine anywhere. */
export function unservedWait({ spec, metadata }: Machine): Waiting | undefined {
  if (spec.channel === 'SSH')
    return {
      predicate: 'ChannelServed',
      seen: 'machines of channel SSH are not served yet',
      unblock: 'channel Agent and provider static, and run the join command on the host',
    }
  if (spec.channel !== 'Agent' || spec.provider !== undefined) return undefined
  return {
    predicate: 'ProviderNamed',
    seen: 'spec.provider is not set: nobody makes or joins a host for it, or gives it components',
    unblock: `a provider for machine ${metadata.name ?? ''}, which is static for a host that is there`,
  }
}

export interface Known {
  /** What the provider said when it was asked last. */
  readonly refusal: string | undefined
  readonly ready: WantedCondition
}

export function waitIn(phase: Phase<'Machine'>, seen: Seen, { refusal, ready }: Known): Waiting | undefined {
  switch (phase) {
    case 'Pending':
    case 'Failed':
      return hostWait(seen, refusal)
    case 'Provisioning':
      return {
        predicate: 'HostStarted',
        seen: 'the provider says that its host is being made',
        unblock: 'the provider',
      }
    case 'Joining':
      return hasJoined(seen)
        ? { predicate: 'NodeExists', seen: `there is no Node ${nameOf(seen.machine)}`, unblock: 'its agent or kubelet' }
        : {
            predicate: 'AgentJoined',
            seen: 'its host is there, and no agent of it was heard yet',
            unblock: 'its agent',
          }
    case 'Importing':
      return { predicate: 'AgentReported', seen: 'its agent has not said what it found yet', unblock: 'its agent' }
    case 'Installing':
      return installWait(seen)
    case 'Lost':
      return lostWait(seen)
    case 'NotReady':
      return {
        predicate: ready.reason,
        seen: ready.message,
        unblock: UNBLOCKS[ready.reason] ?? 'the component healthy',
      }
    case 'Ready':
    case 'Updating':
    case 'Repairing':
    case 'Draining':
    case 'Deleting':
      return undefined
    default:
      return phase satisfies never
  }
}

/** What makes a machine Ready again that is in service; everything else is about a component. */
const UNBLOCKS: Readonly<Record<string, string>> = {
  LeaseExpired: 'its agent renewing its Lease',
  NodeNotReady: 'its Node being Ready',
  NodeMissing: 'its agent making it again, or the restart of its kubelet (by its set, under a permit)',
}

function lostWait({ machine }: Seen): Waiting {
  const unblock = 'the host coming back; look at it, and at the network'
  return isObserved(machine)
    ? { predicate: 'NodeHeard', seen: 'its Node was not heard of for long', unblock }
    : { predicate: 'AgentHeard', seen: 'neither its agent nor its Node was heard of for long', unblock }
}

function hostWait({ machine, host }: Seen, refusal: string | undefined): Waiting {
  const predicate = 'HostMade'
  if (refusal !== undefined) return { predicate, seen: refusal, unblock: 'the provider taking the request' }
  if (host.kind === 'NoProvider')
    return {
      predicate,
      seen: `no provider ${machine.spec.provider?.name ?? ''} is configured here`,
      unblock: 'that provider, or another one in the declaration',
    }
  if (host.kind === 'Unknown') return { predicate, seen: host.why, unblock: 'the provider answering' }
  return { predicate, seen: 'its host is not made yet', unblock: 'the provider' }
}

const MOST_NAMED = 3

function installWait({ machine, claims }: Seen): Waiting {
  const wanted = machine.spec.components ?? []
  const predicate = 'ComponentsIn'
  if (wanted.length === 0)
    return claims.length === 0
      ? { predicate, seen: 'it is about to be opened', unblock: 'its Node being Ready' }
      : { predicate, seen: 'its sets have not said yet what it gets', unblock: 'the sets that select it' }
  const missing = missingComponents(machine, wanted).map((c) => c.name)
  if (missing.length === 0) return { predicate, seen: 'every component is in', unblock: 'its Node being Ready' }
  const some = missing.slice(0, MOST_NAMED).join(', ')
  return {
    predicate,
    seen: `${missing.length} of ${counted(wanted.length, 'component is', 'components are')} not in: ${some}${missing.length > MOST_NAMED ? ' …' : ''}`,
    unblock: 'its agent; status.components says how far each is',
  }
}

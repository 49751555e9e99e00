// What a machine that is not in service waits for if its plan names nothing. No machine waits without a reason. Pure.
import { isObserved } from '#nodes/machine-node.ts'
import type { Phase } from '#api/phases.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { counted } from '#lib/counted.ts'
import type { WantedCondition } from '#kube/conditions.ts'
import { permitWait } from '#permits/permit-wait.ts'
import { permitAnswer } from '#permits/permits.ts'
import { acceptanceWait } from '../acceptance/plan.ts'
import type { Waiting } from '../actions.ts'
import { lateJoinWait } from '../provisioning/late-join.ts'
import { rebootWait } from '../reboots/report.ts'
import { type Seen, hasJoined, isClosed, isOverSsh, missingComponents, stuckIn } from '../seen.ts'
import { shortened } from '#lib/shortened.ts'

/** No controller serves such a machine. */
export function unservedWait({ spec, metadata }: Machine): Waiting | undefined {
  if (spec.channel === 'SSH' && !isOverSsh({ spec }))
    return {
      predicate: 'ChannelServed',
      seen: 'channel SSH is for existing hosts, and spec.provider is not static',
      unblock: `a commit sets spec.provider of machine ${metadata.name ?? ''} to static, or its channel to Agent`,
    }
  if (spec.channel !== 'Agent' || spec.provider !== undefined) return undefined
  return {
    predicate: 'ProviderNamed',
    seen: 'spec.provider is not set, so no host is created or joined and no components are installed',
    unblock: `a commit sets spec.provider of machine ${metadata.name ?? ''} (static for an existing host)`,
  }
}

export interface Known {
  /** The provider's last answer. */
  readonly refusal: string | undefined
  readonly ready: WantedCondition
  readonly now: number
}

export function waitIn(phase: Phase<'Machine'>, seen: Seen, { refusal, ready, now }: Known): Waiting | undefined {
  switch (phase) {
    case 'Pending':
    case 'Failed':
      return hostWait(seen, refusal)
    case 'Provisioning':
      return {
        predicate: 'HostStarted',
        seen: 'the provider is creating the host',
        unblock: 'the provider has created the host',
      }
    case 'Joining':
      return hasJoined(seen)
        ? {
            predicate: 'NodeExists',
            seen: `node ${nameOf(seen.machine)} not found`,
            unblock: 'its agent or kubelet creates the Node',
          }
        : (lateJoinWait(seen, now) ?? {
            predicate: 'AgentJoined',
            seen: 'the host exists; no heartbeat from its agent yet',
            unblock: 'its agent reports',
          })
    case 'Importing':
      return {
        predicate: 'AgentReported',
        seen: 'its agent has not reported its components yet',
        unblock: 'its agent reports',
      }
    case 'Installing':
      return installWait(seen)
    case 'Lost':
      return lostWait(seen)
    case 'NotReady': {
      const accepting = acceptanceWait(seen)
      if (isClosed(seen) && accepting?.seen === ready.message) return accepting
      return {
        predicate: ready.reason,
        seen: ready.message,
        unblock:
          ready.reason === 'LeaseExpired' ? reportsAgain(seen) : (UNBLOCKS[ready.reason] ?? 'the component is healthy'),
      }
    }
    case 'Updating':
      return rebootWait(seen)
    case 'Ready':
    case 'Repairing':
    case 'Draining':
    case 'Deleting':
      return undefined
    default:
      return phase satisfies never
  }
}

/** What makes a machine in service Ready again. Everything else concerns a component. */
const UNBLOCKS: Readonly<Record<string, string>> = {
  NodeNotReady: 'its Node is Ready',
  Progressing: 'its components work',
  NodeMissing: 'its agent creates it again, or its kubelet restarts (by its set, under a permit)',
}

function lostWait(seen: Seen): Waiting {
  const name = nameOf(seen.machine)
  const seenOf = (source: string) => `no heartbeat from ${source} within the lease`
  return isObserved(seen.machine)
    ? {
        predicate: 'NodeHeard',
        seen: seenOf('its Node'),
        unblock: `a person starts the host or mends its network, or deletes the Machine: kubenode events machine/${name}`,
      }
    : {
        predicate: 'AgentHeard',
        seen: seenOf('its agent or its Node'),
        unblock: `a person starts the host, deletes the Machine, or ${joinsAgain(seen)}: kubenode events machine/${name}`,
      }
}

const reportsAgain = (seen: Seen): string => `its agent renews its Lease, or a person ${joinsAgain(seen)}`

/**
 * An agent without its identity cannot report to any server: only the log on its host has KN8008, and a reboot does not help. Keep this short: with
 * two machine names it must fit into a status.
 */
function joinsAgain({ machine, isHostKept, isJoinFixed = false }: Seen): string {
  const next = isHostKept || isJoinFixed ? ', then join-command' : ''
  return `lets it join again (KN8008: kubenode machine readmit ${nameOf(machine)} --token${next})`
}

/** Quota, expired key, missing image: asking again does not help. `when`: time of the next request. */
export const providerUnblock = (machine: Machine, when = ''): string =>
  `a person corrects quota, credentials or image at the provider, or a commit corrects spec.provider${when}: kubenode events machine/${nameOf(machine)}`

function hostWait({ machine, host }: Seen, refusal: string | undefined): Waiting {
  const predicate = 'HostMade'
  if (refusal !== undefined) return { predicate, seen: refusal, unblock: providerUnblock(machine) }
  if (host.kind === 'NoProvider')
    return {
      predicate,
      seen: `provider ${machine.spec.provider?.name ?? ''} is not configured in these controllers`,
      unblock:
        'a commit corrects the name in spec.provider of its template, or a person configures the provider: kubenode lint',
    }
  if (host.kind === 'Unknown') return { predicate, seen: host.why, unblock: 'the provider answers' }
  return { predicate, seen: 'its host is not created yet', unblock: 'the provider has created the host' }
}

/** Shows the next grant time of a machine in service that waits for the rate limit. The requesting set reports all other permit waits. */
export function rateWait({ permits }: Pick<Seen, 'permits'>, uid: string): Waiting | undefined {
  for (const permit of permits) {
    if (permitAnswer(permit, uid).kind !== 'Waiting') continue
    const wait = permitWait(permit, uid)
    if (wait.predicate === 'RateExceeded') return wait
  }
  return undefined
}

const MOST_NAMED = 3
/** Limit of a status field. */
const MAX_SEEN = 200

function installWait(seen: Seen): Waiting {
  const { machine, claims } = seen
  const wanted = machine.spec.components ?? []
  const predicate = 'ComponentsIn'
  if (wanted.length === 0)
    return claims.length === 0
      ? (acceptanceWait(seen) ?? { predicate, seen: 'about to be uncordoned', unblock: 'its Node is Ready' })
      : {
          predicate,
          seen: 'its sets have not assigned components yet',
          unblock: 'the sets that select it assign components',
        }
  const problems = missingComponents(machine, wanted)
  const missing = problems.map((c) => c.name)
  if (missing.length === 0)
    return acceptanceWait(seen) ?? { predicate, seen: 'all components are installed', unblock: 'its Node is Ready' }
  const some = missing.slice(0, MOST_NAMED).join(', ')
  const count = `${missing.length} of ${counted(wanted.length, 'component', 'components')} not installed: ${some}${missing.length > MOST_NAMED ? ' …' : ''}`
  const stuck = stuckIn(problems)
  return stuck === undefined
    ? { predicate, seen: count, unblock: 'its agent installs them; see status.components' }
    : {
        predicate,
        seen: shortened(`${count}; ${stuck.what}`, MAX_SEEN),
        unblock: `${stuck.name} can be installed; the message of the component names what is missing`,
      }
}

// Pure: the Node object and the status that this agent reports.
import { timestamp } from '#lib/clock.ts'
import { AGENT_AS_KUBELET } from '#nodes/objects.ts'
import { TAINTS } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Problem } from '../detect/problems.ts'
import type { HostFacts } from './facts.ts'

interface NodeCondition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  readonly lastHeartbeatTime: string
  readonly lastTransitionTime: string
}

export interface NodeObservation {
  readonly name: string
  readonly facts: HostFacts
  /** Undefined while unknown. */
  readonly address: string | undefined
  readonly version: string
  readonly problems: readonly Problem[]
  /** Wall clock: when the agent became ready in this boot. */
  readonly readySince: number
}

/** Created once, where no kubelet does it: no pod may be scheduled before the required components are installed. */
export const newNode = ({ name, facts }: Pick<NodeObservation, 'name' | 'facts'>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name,
    labels: {
      'kubernetes.io/hostname': name,
      'kubernetes.io/os': facts.os,
      'kubernetes.io/arch': facts.arch,
    },
  },
  spec: { taints: [{ key: TAINTS.componentsPending, effect: 'NoSchedule' }] },
})

const conditionOf = (p: Problem, heartbeat: string): NodeCondition => ({
  type: p.type,
  status: p.isTrue ? 'True' : p.isUnknown === true ? 'Unknown' : 'False',
  reason: p.reason,
  message: p.message,
  lastHeartbeatTime: heartbeat,
  lastTransitionTime: timestamp(p.since),
})

/** Applied as a whole: omitted fields are removed. */
export function nodeStatus(observed: NodeObservation, now: number, own: { readonly ready: boolean }): KubeObject {
  const { name, facts, address, version, problems, readySince } = observed
  const heartbeat = timestamp(now)
  const ready: NodeCondition = {
    type: 'Ready',
    status: 'True',
    reason: 'AgentReady',
    message: 'the agent is running',
    lastHeartbeatTime: heartbeat,
    lastTransitionTime: timestamp(readySince),
  }
  // Nothing here runs pods: a scheduler must not send any until a kubelet has taken the Node over.
  const resources = { cpu: String(facts.cpus), memory: String(facts.memoryBytes), pods: '0' }
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    status: {
      ...(own.ready
        ? {
            addresses: [
              ...(address === undefined ? [] : [{ type: 'InternalIP', address }]),
              { type: 'Hostname', address: name },
            ],
            capacity: resources,
            allocatable: resources,
            nodeInfo: {
              architecture: facts.arch,
              bootID: facts.bootId,
              containerRuntimeVersion: 'none://0',
              kernelVersion: facts.kernel,
              kubeProxyVersion: '',
              kubeletVersion: `${AGENT_AS_KUBELET}${version}`,
              machineID: name,
              operatingSystem: facts.os,
              osImage: facts.distribution?.name ?? facts.os,
              systemUUID: name,
            },
          }
        : {}),
      conditions: [...(own.ready ? [ready] : []), ...problems.map((p) => conditionOf(p, heartbeat))],
    },
  }
}

/** Whether a change is worth a write before the next heartbeat. */
export function isSameStatus(a: KubeObject | undefined, b: KubeObject): boolean {
  return a !== undefined && JSON.stringify(a, withoutHeartbeat) === JSON.stringify(b, withoutHeartbeat)
}

const withoutHeartbeat = (key: string, value: unknown): unknown => (key === 'lastHeartbeatTime' ? undefined : value)

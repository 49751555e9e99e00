// What Kubernetes says of one node and of the pods on it. Pure.
import { TAINTS } from '#api/names.ts'
import { hasTaint, isPodReady, type Node, type Pod } from '#nodes/objects.ts'
import type { NodeFacts, NodePodRow } from '../../node-facts.ts'
import { at, given } from './parts.ts'

/** More rows are read better with kubectl. */
const MOST_PODS = 20

const isUnwell = (pod: Pod): boolean => pod.status?.phase !== 'Succeeded' && !isPodReady(pod)

/** Undefined for a user who may not list pods. */
type Pods = readonly Pod[] | undefined

export function nodeFacts(node: Node, pods: Pods): NodeFacts {
  const { spec, status } = node
  const { cpu, memory, pods: most } = status?.allocatable ?? {}
  return {
    ...given('kubelet', status?.nodeInfo?.kubeletVersion),
    isCordoned: spec?.unschedulable === true,
    isCordonedByKubeNode: hasTaint(node, TAINTS.cordon),
    taints: (spec?.taints ?? []).map(
      ({ key, value, effect }) => `${key}${value === undefined ? '' : `=${value}`}:${effect}`,
    ),
    ...given('cpu', cpu),
    ...given('memory', memory),
    ...given('mostPods', most),
    ...given('pods', pods?.length),
    ...given('podsNotReady', pods?.filter(isUnwell).length),
  }
}

/** Pods that are neither ready nor completed. */
export const podRows = (pods: Pods = []): readonly NodePodRow[] =>
  pods
    .filter(isUnwell)
    .slice(0, MOST_PODS)
    .map((pod) => {
      const { namespace = '', name = '', creationTimestamp } = pod.metadata
      const ready = pod.status?.conditions?.find((c) => c.type === 'Ready')
      return {
        id: `Pod/${namespace}/${name}`,
        row: 'Pod' as const,
        namespace,
        name,
        phase: pod.status?.phase ?? 'Unknown',
        restarts: (pod.status?.containerStatuses ?? []).reduce((n, c) => n + c.restartCount, 0),
        ...at('since', ready?.lastTransitionTime ?? creationTimestamp),
        why: whyOf(pod),
      }
    })

function whyOf({ status }: Pod): string {
  for (const { name, state } of status?.containerStatuses ?? []) {
    const { reason = '', message = '' } = state?.waiting ?? state?.terminated ?? {}
    if (reason !== '') return `${name}: ${reason}${message === '' ? '' : ` (${message})`}`
  }
  const { reason = '', message = '' } = status?.conditions?.find((c) => c.status !== 'True') ?? {}
  return [status?.reason ?? '', reason, message].filter((t) => t !== '').join(': ')
}

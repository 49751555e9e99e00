// Where KubeNode's programs run as pods: which nodes host replicas of which role, and where a leader is. Nodes without replicas are in no map.
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { Pod } from './objects.ts'

const NAME_LABEL = 'app.kubernetes.io/name'
const ROLE_LABEL = 'app.kubernetes.io/component'

/** Labels from the Deployments in deploy/charts. */
export const OWN_PODS = { namespace: SYSTEM_NAMESPACE, labelSelector: `${NAME_LABEL}=kubenode` } as const

/** Roles by node name. */
export type Hosts = ReadonlyMap<string, ReadonlySet<string>>

const ENDED = new Set(['Succeeded', 'Failed'])

/** A pod that ended or is being deleted serves nothing that a disruption could stop. */
const isServing = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined && !ENDED.has(status?.phase ?? '')

export function hostsOf(pods: readonly Pod[]): Hosts {
  const hosts = new Map<string, Set<string>>()
  for (const pod of pods.filter(isServing)) {
    const { nodeName } = pod.spec ?? {}
    const role = pod.metadata.labels?.[ROLE_LABEL]
    if (nodeName === undefined || role === undefined) continue
    const roles = hosts.get(nodeName) ?? new Set()
    hosts.set(nodeName, roles.add(role))
  }
  return hosts
}

const SEPARATOR = '_'

/** The holder of a lease. In a pod its name comes first, so that the leader's node can be found. */
export const holderName = (pod: string | undefined, process: string): string =>
  pod === undefined ? process : `${pod}${SEPARATOR}${process}`

/** Nodes whose pods hold one of these leases. */
export function leadingNodes(pods: readonly Pod[], holders: readonly string[]): ReadonlySet<string> {
  const leaders = new Set(holders.map((holder) => holder.split(SEPARATOR, 1)[0]))
  return new Set(
    pods.flatMap(({ metadata, spec }) =>
      spec?.nodeName !== undefined && leaders.has(metadata.name ?? '') ? [spec.nodeName] : [],
    ),
  )
}

// Which lane a request takes: renewals of leaders and heartbeats of nodes have their own seats, health is always answered, the rest shares.
import type { RequestUser } from '../builtin/kind.ts'
import type { ResourcePath } from '../http/request-path.ts'

export type Lane = 'leaders' | 'vital' | 'ordinary'

const SINGLE: ReadonlySet<string> = new Set(['get', 'create', 'update', 'patch'])
/** Nodes whose silence would count as a failure. */
const REPORTING: ReadonlySet<string> = new Set(['/nodes', 'kubenode.io/machines'])
/** Where the programs of KubeNode, and those of Kubernetes, elect their leaders. */
const ELECTIONS: ReadonlySet<string> = new Set(['kubenode-system', 'kube-system'])
/** An agent's name is `kubenode:agent:NAME`, and is none of them. */
const PROGRAM =
  /^(?:kubenode:[a-z]+|system:serviceaccount:kubenode-system:kubenode-[a-z]+|system:kube-(?:controller-manager|scheduler))$/

export const isProgram = (name: string): boolean => PROGRAM.test(name)

type LanePath = Pick<ResourcePath, 'group' | 'plural' | 'subresource' | 'namespace'>

/** Only requests on one object: a list of all leases is ordinary work. */
export function laneOf(path: LanePath, verb: string, { name, groups }: Pick<RequestUser, 'name' | 'groups'>): Lane {
  if (!SINGLE.has(verb)) return 'ordinary'
  const resource = `${path.group}/${path.plural}`
  if (resource === 'coordination.k8s.io/leases') {
    const leads = ELECTIONS.has(path.namespace) && (isProgram(name) || groups.includes('system:masters'))
    return leads ? 'leaders' : 'vital'
  }
  return path.subresource === 'status' && REPORTING.has(resource) ? 'vital' : 'ordinary'
}

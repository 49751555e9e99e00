// The rights of a kubelet, by verb and name: its own Node and Leases, the pods bound to its node and the objects they refer to. What it writes
// into them is checked by admission/node-restriction.ts.
import { valueAskedFor } from '../selectors/field-selector.ts'
import type { Store } from '../storage/store.ts'
import { covers, type Attributes, type Authority, type PolicyRule } from './authorizer.ts'
import { NodePods } from './node-pods.ts'
import type { RequestUser } from './user.ts'

const NODES_GROUP = 'system:nodes'
const NODE_PREFIX = 'system:node:'
const NODE_LEASES = 'kube-node-lease'

/** The node whose kubelet asks; undefined for all other users. */
export const nodeOf = ({ name, groups }: RequestUser): string | undefined =>
  groups.includes(NODES_GROUP) && name.startsWith(NODE_PREFIX) && name.length > NODE_PREFIX.length
    ? name.slice(NODE_PREFIX.length)
    : undefined

interface Asked {
  readonly node: string
  readonly a: Attributes
  readonly pods: NodePods
  readonly store: Store
}

/** Undefined: allowed. Otherwise why not. */
type Check = (asked: Asked) => string | undefined

const READ: ReadonlySet<string> = new Set(['get', 'list', 'watch'])
const WRITE: ReadonlySet<string> = new Set(['update', 'patch'])

const unrelated = ({ node }: Asked): string => `no relationship found between node '${node}' and this object`
const verbless = ({ a: { verb } }: Asked): string => `a node cannot ${verb} it`

/** By name, in the namespace of a pod of the node that refers to it. */
const referred =
  (...verbs: readonly string[]): Check =>
  (asked) => {
    const { node, a, pods } = asked
    if (!verbs.includes(a.verb) || a.subresource !== '') return verbless(asked)
    return a.name !== '' && pods.refer(node, a.resource, a.namespace, a.name) ? undefined : unrelated(asked)
  }

const ofAccounts: Check = (asked) => {
  const { a } = asked
  const isToken = a.verb === 'create' && a.subresource === 'token'
  return isToken ? referred('get')({ ...asked, a: { ...a, verb: 'get', subresource: '' } }) : referred('get')(asked)
}

const ofVolumes: Check = (asked) => {
  const { node, a, pods } = asked
  if (a.verb !== 'get' || a.subresource !== '') return verbless(asked)
  return pods.referToVolume(node, a.name) ? undefined : unrelated(asked)
}

const ofAttachments: Check = (asked) => {
  const { node, a, store } = asked
  if (a.verb !== 'get' || a.subresource !== '') return verbless(asked)
  const found = store.get({ resource: 'storage.k8s.io/volumeattachments', namespace: '', name: a.name })?.value
  const spec = found?.['spec'] as { readonly nodeName?: string } | undefined
  return spec?.nodeName === node ? undefined : unrelated(asked)
}

const ofNodes: Check = (asked) => {
  const { node, a } = asked
  const isStatus = a.subresource === 'status' && WRITE.has(a.verb)
  const isNode = a.subresource === '' && (READ.has(a.verb) || WRITE.has(a.verb) || a.verb === 'create')
  if (!isStatus && !isNode) return verbless(asked)
  // a creation has its name in the body, which admission checks
  if (a.name === node || (a.verb === 'create' && a.name === '')) return undefined
  return a.name === ''
    ? `node '${node}' cannot read all nodes, only its own Node object`
    : `node '${node}' cannot ${a.verb} '${a.name}', only its own Node object`
}

const ofPods: Check = (asked) => {
  const { node, a, pods } = asked
  const isBound = a.name !== '' && pods.has(node, a.namespace, a.name)
  switch (`${a.verb} ${a.subresource}`.trim()) {
    case 'list':
    case 'watch':
      return isBound || valueAskedFor(a.fieldSelector ?? '', 'spec.nodeName') === node
        ? undefined
        : `can only list/watch pods with spec.nodeName field selector`
    case 'create':
      return undefined
    case 'get':
    case 'delete':
    case 'update status':
    case 'patch status':
    case 'create eviction':
      return isBound ? undefined : unrelated(asked)
    default:
      return verbless(asked)
  }
}

/** Objects that bear the name of the node. */
const named =
  (namespace: string): Check =>
  (asked) => {
    const { node, a } = asked
    const isChange = WRITE.has(a.verb) || a.verb === 'get' || a.verb === 'delete'
    if (a.subresource !== '' || !(isChange || a.verb === 'create')) return verbless(asked)
    if (a.namespace !== namespace) return `can only access ${a.resource} in the ${JSON.stringify(namespace)} namespace`
    if (a.name === node || (a.verb === 'create' && a.name === '')) return undefined
    return `can only access the object of ${a.resource} with the same name as the requesting node`
  }

const never: Check = verbless

const SUBDIVIDED: ReadonlyMap<string, Check> = new Map([
  ['/secrets', referred('get', 'list', 'watch')],
  ['/configmaps', referred('get', 'list', 'watch')],
  ['/persistentvolumeclaims', referred('get')],
  ['/persistentvolumes', ofVolumes],
  ['/serviceaccounts', ofAccounts],
  ['/nodes', ofNodes],
  ['/pods', ofPods],
  ['coordination.k8s.io/leases', named(NODE_LEASES)],
  ['storage.k8s.io/csinodes', named('')],
  ['storage.k8s.io/volumeattachments', ofAttachments],
  // devices of dynamic resource allocation are not tracked here
  ['resource.k8s.io/resourceclaims', never],
  ['resource.k8s.io/resourceslices', never],
])

export class NodeAuthorizer implements Authority {
  readonly #store: Store
  readonly #pods: NodePods
  readonly #rules: readonly PolicyRule[]

  /** `rules`: what any node may do with kinds that have no per-node limit; for the others the table above decides. */
  constructor(store: Store, rules: readonly PolicyRule[]) {
    this.#store = store
    this.#pods = new NodePods(store)
    this.#rules = rules
  }

  verdict(user: RequestUser, a: Attributes): true | string | undefined {
    const node = nodeOf(user)
    if (node === undefined || a.path !== undefined) return undefined
    const check = SUBDIVIDED.get(`${a.group}/${a.resource}`)
    if (check !== undefined) return check({ node, a, pods: this.#pods, store: this.#store }) ?? true
    return this.#rules.some((r) => covers(r, a)) || undefined
  }
}

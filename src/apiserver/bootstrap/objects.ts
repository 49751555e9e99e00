// The objects that a new server starts with.
import { timestamp } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { RBAC } from '../auth/authorizer.ts'
import { encodeJson } from '../codec/json.ts'
import { storeObject } from '../storage/internal-write.ts'
import type { Place, Store } from '../storage/store.ts'
import { bootstrapBindings, bootstrapRoles, type BootstrapBinding, type BootstrapRole } from './roles.ts'

interface NewObject {
  readonly at: Place
  readonly object: KubeObject
}

const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease']
const AUTHENTICATION = 'extension-apiserver-authentication'
/** A real server resets these at each start; here only missing ones are created. */
const AUTOUPDATE = { 'rbac.authorization.kubernetes.io/autoupdate': 'true' }
const MARK = { 'kubernetes.io/bootstrapping': 'rbac-defaults' }

export interface BootstrapFacts {
  readonly now: number
  readonly uid: () => string
  /** PEM of the authorities whose client certificates are accepted. */
  readonly authority: string
}

function objects({ now, uid, authority }: BootstrapFacts): readonly NewObject[] {
  const born = (name: string) => ({ name, uid: uid(), creationTimestamp: timestamp(now) })
  const cluster = (resource: string, name: string): Place => ({ resource, namespace: '', name })
  const namespaces = NAMESPACES.map((name) => ({
    at: cluster('/namespaces', name),
    object: {
      kind: 'Namespace',
      apiVersion: 'v1',
      metadata: { ...born(name), labels: { 'kubernetes.io/metadata.name': name } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    },
  }))
  const head = (kind: string) => ({ kind, apiVersion: `${RBAC}/v1` })
  const roles = bootstrapRoles.map((r: BootstrapRole) => ({
    at: cluster(`${RBAC}/clusterroles`, r.name),
    object: {
      ...head('ClusterRole'),
      metadata: { ...born(r.name), labels: { ...MARK, ...r.labels }, annotations: AUTOUPDATE },
      ...(r.gathers === undefined
        ? {}
        : { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [r.gathers]: 'true' } }] } }),
      rules: r.rules,
    },
  }))
  const bindings = bootstrapBindings.map((b: BootstrapBinding) => ({
    at: cluster(`${RBAC}/clusterrolebindings`, b.name),
    object: {
      ...head('ClusterRoleBinding'),
      metadata: { ...born(b.name), labels: MARK, annotations: AUTOUPDATE },
      ...withSubjects([
        ...(b.groups ?? []).map((name) => ({ kind: 'Group', apiGroup: RBAC, name })),
        ...(b.users ?? []).map((name) => ({ kind: 'User', apiGroup: RBAC, name })),
      ]),
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: b.role },
    },
  }))
  const system = (resource: string, name: string, kind: string, rest: object): NewObject => ({
    at: { resource, namespace: 'kube-system', name },
    object: {
      kind,
      apiVersion: resource.startsWith('/') ? 'v1' : `${RBAC}/v1`,
      metadata: {
        ...born(name),
        namespace: 'kube-system',
        ...(kind === 'ConfigMap' ? {} : { labels: MARK, annotations: AUTOUPDATE }),
      },
      ...rest,
    },
  })
  const priority = (name: string, value: number, description: string): NewObject => ({
    at: cluster('scheduling.k8s.io/priorityclasses', name),
    object: {
      kind: 'PriorityClass',
      apiVersion: 'scheduling.k8s.io/v1',
      metadata: { ...born(name), generation: 1 },
      value,
      description,
      preemptionPolicy: 'PreemptLowerPriority',
    },
  })
  return [
    ...namespaces,
    ...roles,
    ...bindings,
    // where the other programs of a control plane learn which authority to trust
    system('/configmaps', AUTHENTICATION, 'ConfigMap', {
      data: {
        'client-ca-file': authority,
        'requestheader-allowed-names': '[]',
        'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
        'requestheader-group-headers': '["X-Remote-Group"]',
        'requestheader-username-headers': '["X-Remote-User"]',
      },
    }),
    system(`${RBAC}/roles`, `${AUTHENTICATION}-reader`, 'Role', {
      rules: [
        {
          apiGroups: [''],
          resources: ['configmaps'],
          resourceNames: [AUTHENTICATION],
          verbs: ['get', 'list', 'watch'],
        },
      ],
    }),
    system(`${RBAC}/rolebindings`, `system::${AUTHENTICATION}-reader`, 'RoleBinding', {
      subjects: ['system:kube-controller-manager', 'system:kube-scheduler'].map((name) => ({
        kind: 'User',
        apiGroup: RBAC,
        name,
      })),
      roleRef: { apiGroup: RBAC, kind: 'Role', name: `${AUTHENTICATION}-reader` },
    }),
    priority(
      'system-cluster-critical',
      2_000_000_000,
      'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
    ),
    priority(
      'system-node-critical',
      2_000_001_000,
      'Used for system critical pods that must not be moved from their current node.',
    ),
  ]
}

const withSubjects = (subjects: readonly object[]) => (subjects.length === 0 ? {} : { subjects })

/** Servers older than the node authorizer bound every node to the whole role; with that a stolen kubelet key could read all Secrets. */
async function unbindNodes(store: Store): Promise<void> {
  const at: Place = { resource: `${RBAC}/clusterrolebindings`, namespace: '', name: 'system:node' }
  const isNodes = (s: unknown): boolean => isObject(s) && s['kind'] === 'Group' && s['name'] === 'system:nodes'
  await storeObject(store, at, (binding) => {
    const { subjects, ...rest } = binding
    const all = Array.isArray(subjects) ? (subjects as readonly object[]) : []
    return all.some(isNodes) ? { ...rest, ...withSubjects(all.filter((s) => !isNodes(s))) } : binding
  })
}

/** Creates missing objects; resolves when they are stored. */
export async function bootstrap(store: Store, facts: BootstrapFacts): Promise<void> {
  const missing = objects(facts).filter(({ at }) => store.get(at) === undefined)
  await Promise.all(
    missing.map(({ at, object }) =>
      store.put(at, undefined, (revision) => {
        const value = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } }
        return { value, bytes: encodeJson(value) }
      }),
    ),
  )
  await unbindNodes(store)
  await publishAuthority(store, facts.authority)
}

/** After another authority came, or an old one was removed. */
export async function publishAuthority(store: Store, authority: string): Promise<void> {
  const at: Place = { resource: '/configmaps', namespace: 'kube-system', name: AUTHENTICATION }
  await storeObject(store, at, (o) => {
    const data = isObject(o['data']) ? o['data'] : {}
    return data['client-ca-file'] === authority ? o : { ...o, data: { ...data, 'client-ca-file': authority } }
  })
}

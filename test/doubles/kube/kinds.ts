// What the fake knows of a kind, the kinds it knows from the start, and how objects are keyed.
import type { ResourceType } from '#api/schema/resource.ts'
import type { Schema } from '#api/schema/schema.ts'
import { builtinSchemas } from './builtin-schemas.ts'
import { defined } from '#lib/defined.ts'

export interface FakeKind {
  readonly type: ResourceType
  /** Without one, objects are taken as they are and server-side apply treats every list as atomic. */
  readonly schema?: Schema
  /** The schema says how to merge and nothing else: no pruning, no defaults, no validation; strategic merge patches are understood. */
  readonly mergeOnly?: boolean
  /** Has a status subresource: writes of the main resource leave status alone, and the other way round. */
  readonly status?: boolean
  /** What becomes of a status that comes with a create: Nodes keep theirs, pods begin as Pending, all others lose it. */
  readonly statusOnCreate?: 'kept' | { readonly [field: string]: unknown }
  readonly scale?: { readonly specPath: string; readonly statusPath?: string }
  /** Paths beyond metadata.name and metadata.namespace that field selectors may use; without them, those that the definition of the kind names. */
  readonly selectableFields?: readonly string[]
}

/** A KubeNode kind lists in its definition the fields that may be selected, as its CRD does for a server. */
export function selectableFieldsOf({ type, selectableFields }: FakeKind): readonly string[] {
  if (selectableFields !== undefined) return selectableFields
  const { definition } = type as { readonly definition?: { readonly selectable?: readonly string[] } }
  return (definition?.selectable ?? []).map((path) => path.replace(/^\./, ''))
}

export const kindKey = (t: Pick<ResourceType, 'group' | 'plural'>): string => `${t.group}/${t.plural}`
export const objectKeyText = (namespace: string | undefined, name: string): string =>
  namespace ? `${namespace}/${name}` : name

type Row = readonly [
  group: string,
  version: string,
  kind: string,
  plural: string,
  namespaced: boolean,
  status?: boolean,
]

const ROWS: readonly Row[] = [
  ['', 'v1', 'Namespace', 'namespaces', false, true],
  ['', 'v1', 'Node', 'nodes', false, true],
  ['', 'v1', 'Pod', 'pods', true, true],
  ['', 'v1', 'PodTemplate', 'podtemplates', true],
  ['', 'v1', 'Secret', 'secrets', true],
  ['', 'v1', 'ConfigMap', 'configmaps', true],
  ['', 'v1', 'Service', 'services', true, true],
  ['', 'v1', 'ServiceAccount', 'serviceaccounts', true],
  ['', 'v1', 'Event', 'events', true],
  ['events.k8s.io', 'v1', 'Event', 'events', true],
  ['coordination.k8s.io', 'v1', 'Lease', 'leases', true],
  ['apps', 'v1', 'Deployment', 'deployments', true, true],
  ['apps', 'v1', 'StatefulSet', 'statefulsets', true, true],
  ['apps', 'v1', 'DaemonSet', 'daemonsets', true, true],
  ['apps', 'v1', 'ReplicaSet', 'replicasets', true, true],
  ['apps', 'v1', 'ControllerRevision', 'controllerrevisions', true],
  ['batch', 'v1', 'Job', 'jobs', true, true],
  ['policy', 'v1', 'PodDisruptionBudget', 'poddisruptionbudgets', true, true],
  ['certificates.k8s.io', 'v1', 'CertificateSigningRequest', 'certificatesigningrequests', false, true],
]

const SCALABLE: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet', 'ReplicaSet'])

export const builtinKinds: readonly FakeKind[] = ROWS.map(
  ([group, version, kind, plural, namespaced, status = false]) => ({
    type: { group, version, kind, plural, namespaced },
    status,
    mergeOnly: true,
    ...defined({ schema: builtinSchemas[kind] }),
    ...(SCALABLE.has(kind) ? { scale: { specPath: '.spec.replicas', statusPath: '.status.replicas' } } : {}),
    ...(kind === 'Node' ? { statusOnCreate: 'kept' as const } : {}),
    ...(kind === 'Pod' ? { statusOnCreate: { phase: 'Pending', qosClass: 'BestEffort' } } : {}),
    ...(kind === 'Pod' ? { selectableFields: ['spec.nodeName', 'status.phase'] } : {}),
    ...(kind === 'Node' ? { selectableFields: ['spec.unschedulable'] } : {}),
  }),
)

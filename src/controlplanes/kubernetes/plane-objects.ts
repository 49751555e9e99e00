// Applies a control plane's objects in its namespace, reads the state of its workloads, and removes them. The namespace contains nothing else, so it is its own
// inventory.
import { CREDENTIALS_ANNOTATION, OURS, PART_OF, selectorOf } from '#api/constructs/control-plane/labels.ts'
import { PARTS, type ControlPlaneSettings, type Part } from '#api/constructs/control-plane/settings.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { kindAndName } from '#api/schema/object-meta.ts'
import { numberAt, recordAt } from './fields-of.ts'
import { troubleOf, type NamespaceLimits, type Trouble } from './part-trouble.ts'

const PLURALS: Readonly<Record<string, string>> = { NetworkPolicy: 'networkpolicies' }

export const typeOf = ({
  apiVersion,
  kind,
  isNamespaced = kind !== 'Namespace',
}: Pick<KubeObject, 'apiVersion' | 'kind'> & { readonly isNamespaced?: boolean }): ResourceType => {
  const [first = '', second] = apiVersion.split('/')
  return {
    group: second === undefined ? '' : first,
    version: second ?? first,
    kind,
    plural: PLURALS[kind] ?? `${kind.toLowerCase()}s`,
    namespaced: isNamespaced,
  }
}

const of = (apiVersion: string, kind: string): ResourceType => typeOf({ apiVersion, kind })

export const JOBS = coreKind('Job')
export const PODS = coreKind('Pod')
export const CLAIMS = coreKind('PersistentVolumeClaim')
export const SERVICES = of('v1', 'Service')
export const QUOTAS = of('v1', 'ResourceQuota')

const WORKLOADS: Readonly<Record<Part, { readonly type: ResourceType; readonly name: string }>> = {
  etcd: { type: of('apps/v1', 'StatefulSet'), name: 'etcd' },
  apiserver: { type: of('apps/v1', 'Deployment'), name: 'kube-apiserver' },
  'controller-manager': { type: of('apps/v1', 'Deployment'), name: 'kube-controller-manager' },
  scheduler: { type: of('apps/v1', 'Deployment'), name: 'kube-scheduler' },
}

/** All kinds a control plane may have, workloads first, so that nothing restarts meanwhile. */
const REMOVABLE: readonly ResourceType[] = [
  of('apps/v1', 'Deployment'),
  of('apps/v1', 'StatefulSet'),
  JOBS,
  SERVICES,
  of('policy/v1', 'PodDisruptionBudget'),
  of('networking.k8s.io/v1', 'NetworkPolicy'),
  of('v1', 'ConfigMap'),
  of('v1', 'Secret'),
]

/** Clusters, and programs in them, put ConfigMaps of their own into every namespace, again and again. */
const isOfOthers = ({ kind }: ResourceType, { metadata }: KubeObject): boolean =>
  kind === 'ConfigMap' && metadata.labels?.[PART_OF] !== OURS

export interface Place {
  readonly client: KubeClient
  readonly namespace: string
  readonly fieldManager: string
  readonly signal?: AbortSignal
  /** By object: what this process applied, and the resulting version. */
  readonly applied: Map<string, string>
}

const optionsOf = ({ signal }: Place) => defined({ signal })

/** Does not rewrite an object that is still at the version of its last apply: an idle control plane causes no writes. */
export async function applyAll(place: Place, objects: readonly KubeObject[]): Promise<void> {
  const { client, fieldManager, namespace, applied } = place
  const live = new Map<string, string | undefined>()
  for (const [first] of Map.groupBy(objects, ({ apiVersion, kind }) => `${apiVersion}/${kind}`).values())
    if (first !== undefined && objects.some((o) => o.kind === first.kind && applied.has(kindAndName(o))))
      for (const { metadata } of await listAll(client, typeOf(first), { ...optionsOf(place), namespace }))
        live.set(kindAndName({ ...first, metadata }), metadata.resourceVersion)
  for (const object of objects) {
    const key = kindAndName(object)
    const digest = sha256OfJson(object)
    const version = live.get(key)
    if (version !== undefined && applied.get(key) === `${digest} ${version}`) continue
    const { metadata } = await client.apply(typeOf(object), object, { ...optionsOf(place), fieldManager, force: true })
    applied.set(key, `${digest} ${metadata.resourceVersion ?? ''}`)
  }
}

export interface PartState {
  readonly isReady: boolean
  /** How many instances serve. */
  readonly serving: number
  /** The problem of a pod or workload that is not ready. */
  readonly trouble?: Trouble
}

/** The workloads' reports about exactly the applied version. */
export async function partStates(
  place: Place,
  settings: Pick<ControlPlaneSettings, 'cluster'>,
): Promise<Readonly<Record<Part, PartState>>> {
  const { client, namespace } = place
  const pods = await listAll(client, PODS, { ...optionsOf(place), namespace })
  const states: Partial<Record<Part, PartState>> = {}
  let limits: NamespaceLimits | undefined
  for (const part of PARTS) {
    const { type, name } = WORKLOADS[part]
    const workload = await client.get(type, { namespace, name }, optionsOf(place))
    const own = pods.filter((pod) => matches(pod, selectorOf(settings, part)))
    const state = stateOf(workload)
    if (state.isReady || workload === undefined) states[part] = state
    else {
      const trouble = troubleOf(workload, own, (limits ??= await limitsOf(place)))
      states[part] = { ...state, ...defined({ trouble }) }
    }
  }
  return states as Record<Part, PartState>
}

/** How many programs should follow a credentials change, and how many run with exactly these. A terminating one does not count as following. */
export async function programsWith(
  place: Place,
  { cluster, credentials }: Pick<ControlPlaneSettings, 'cluster' | 'credentials'>,
): Promise<{ readonly total: number; readonly current: number }> {
  const { client, namespace } = place
  const pods = await listAll(client, PODS, { ...optionsOf(place), namespace })
  let [total, current] = [0, 0]
  for (const part of PARTS) {
    const { type, name } = WORKLOADS[part]
    const workload = await client.get(type, { namespace, name }, optionsOf(place))
    const spec = recordAt(workload, 'spec')
    const { annotations } = recordAt(recordAt(spec, 'template'), 'metadata')
    const wanted = Math.max(1, numberAt(spec, 'replicas'))
    const ending = pods.filter(
      (pod) => pod.metadata.deletionTimestamp !== undefined && matches(pod, selectorOf({ cluster }, part)),
    )
    total += wanted + ending.length
    const runsWith = isObject(annotations) ? annotations[CREDENTIALS_ANNOTATION] : undefined
    if (runsWith === credentials[part] && stateOf(workload).isReady) current += wanted
  }
  return { total, current }
}

export async function limitsOf(place: Place): Promise<NamespaceLimits> {
  const { client, namespace } = place
  const [claims, quotas] = await Promise.all(
    [CLAIMS, QUOTAS].map((type) => listAll(client, type, { ...optionsOf(place), namespace })),
  )
  return { claims: claims ?? [], quotas: quotas ?? [] }
}

function stateOf(workload: KubeObject | undefined): PartState {
  if (workload === undefined) return { isReady: false, serving: 0, trouble: { text: 'it does not exist' } }
  const [spec, status] = [recordAt(workload, 'spec'), recordAt(workload, 'status')]
  const wanted = numberAt(spec, 'replicas')
  const serving = numberAt(status, 'readyReplicas')
  const isCurrent = numberAt(status, 'observedGeneration') >= (workload.metadata.generation ?? 0)
  const isReady =
    isCurrent &&
    serving === wanted &&
    numberAt(status, 'replicas') === wanted &&
    (wanted === 0 || numberAt(status, 'updatedReplicas') === wanted)
  return { isReady, serving }
}

/** Remaining pods of the parts, including terminating ones. */
export async function podsOf(
  place: Place,
  settings: ControlPlaneSettings,
  parts: readonly Part[],
): Promise<readonly string[]> {
  const pods = await listAll(place.client, PODS, { ...optionsOf(place), namespace: place.namespace })
  return pods
    .filter((pod) => parts.some((part) => matches(pod, selectorOf(settings, part))))
    .map((pod) => pod.metadata.name ?? '')
}

const matches = ({ metadata }: KubeObject, labels: Readonly<Record<string, string>>): boolean =>
  Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value)

/** A leader's client deletes only what it read. What changed since is left to the next pass. */
export async function removeExactly(
  client: Place['client'],
  type: ResourceType,
  object: KubeObject,
  options: { readonly signal?: AbortSignal } = {},
): Promise<void> {
  const outcome = await deleteExactly(client, type, object, { ...options, propagationPolicy: 'Background' })
  if (outcome.kind === 'Denied' || outcome.kind === 'Unknown') throw outcome.error
}

/** Removes everything except what stays, and the namespace. Returns what is left. */
export async function removeObjects(
  place: Place,
  isKept: (type: ResourceType, name: string) => boolean,
): Promise<readonly string[]> {
  const { client, namespace } = place
  const left: string[] = []
  for (const type of [...REMOVABLE, CLAIMS])
    for (const object of await listAll(client, type, { ...optionsOf(place), namespace })) {
      const { name = '', deletionTimestamp } = object.metadata
      if (isOfOthers(type, object) || isKept(type, name)) continue
      left.push(`${type.kind} ${name}`)
      if (deletionTimestamp === undefined) await removeExactly(client, type, object, optionsOf(place))
    }
  const pods = await listAll(client, PODS, { ...optionsOf(place), namespace })
  return [...left, ...pods.map((pod) => `Pod ${pod.metadata.name ?? ''}`)]
}

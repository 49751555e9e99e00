// The requests on pods beside their own path: eviction (within budgets), binding to a node, and logs.
import { timestamp } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import { notSupported } from '../schema/field-error.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Draft } from '../builtin/kind.ts'
import { deleteObject } from '../handlers/delete.ts'
import type { DeleteOptions } from '../handlers/delete-options.ts'
import type { Answer, Call, Handler } from '../handlers/context.ts'
import { encoded } from '../handlers/encode.ts'
import { admissionRequest } from '../handlers/judge.ts'
import { groupResource, placeOf } from '../handlers/stored-place.ts'
import { readSent } from '../http/body.ts'
import { writeOptions } from '../http/query.ts'
import { selectorMatcher } from '../selectors/label-selector.ts'
import type { LabelSelector } from '#api/schema/labels.ts'
import { badRequest, conflict, forbidden, internal, invalid, notFound, tooManyRequests } from '../status/refusal.ts'
import { storeObject } from '../storage/internal-write.ts'

type Fields = Readonly<Record<string, unknown>>
const fields = (v: unknown): Fields => (isObject(v) ? v : {})

const created = (call: Call): Promise<Answer> =>
  encoded(call, 201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 })

const BUDGETS = 'policy/poddisruptionbudgets'
const VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."
const STILL_PROCESSED_SECONDS = 10

async function evict(call: Call): Promise<Answer> {
  const { served, path, parts } = call
  const { value } = await readSent(call, 'Eviction')
  const eviction = value ?? {}
  const kind = String(eviction['kind'] ?? 'Eviction')
  if (kind !== 'Eviction')
    throw badRequest(
      `${kind} in version "v1" cannot be handled as a Eviction: no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(eviction['apiVersion'] ?? '')} in scheme "pkg/runtime/scheme.go:111"`,
    )
  const name = fields(eviction['metadata'])['name'] ?? ''
  const at = placeOf(served, path.namespace, path.name)
  if (name !== path.name) throw badRequest('name in URL does not match name in Eviction object')
  const pod = parts.store.latest(at)?.value
  if (pod === undefined) throw notFound(groupResource(served), path.name)
  const options = evictionOptions(fields(eviction['deleteOptions']), call.query)
  await refuseByPolicy(call, { group: 'policy', kind, sent: eviction, dryRun: options.dryRun })
  if (!mayGoFreely(pod)) {
    await takeFromBudget(call, pod, options.dryRun)
    if (!options.dryRun) await storeObject(parts.store, at, (p) => withDisruption(p, parts.clock.now()))
  }
  const gone = await deleteObject({ ...call, path: { ...path, subresource: '' } }, at, options)
  if (gone === undefined) throw notFound(groupResource(served), path.name)
  return created(call)
}

interface Asking {
  readonly group: string
  readonly kind: string
  readonly sent: Fields
  readonly dryRun: boolean
}

/** A request on a pod passes admission like any creation: an authorized user may still be refused. */
function refuseByPolicy(call: Call, { group, kind, sent, dryRun }: Asking): Promise<void> {
  const { namespace, name } = call.path
  const metadata = { ...fields(sent['metadata']), name, namespace }
  const options = { dryRun, fieldManager: '', fieldValidation: 'Ignore', force: false } as const
  return call.parts.admission.validate({
    ...admissionRequest(call, 'CREATE', options, undefined),
    kind: { group, version: 'v1', kind },
    object: { ...sent, kind, apiVersion: group === '' ? 'v1' : `${group}/v1`, metadata },
  })
}

function evictionOptions(raw: Fields, query: URLSearchParams): DeleteOptions {
  const preconditions = fields(raw['preconditions'])
  const dryRun = Array.isArray(raw['dryRun']) ? raw['dryRun'] : []
  if (!dryRun.every((d) => d === 'All'))
    throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', [notSupported('dryRun', dryRun, ['All'])])
  return {
    gracePeriodSeconds: typeof raw['gracePeriodSeconds'] === 'number' ? raw['gracePeriodSeconds'] : undefined,
    propagation: undefined,
    uid: typeof preconditions['uid'] === 'string' ? preconditions['uid'] : undefined,
    resourceVersion:
      typeof preconditions['resourceVersion'] === 'string' ? preconditions['resourceVersion'] : undefined,
    dryRun: dryRun.includes('All') || query.getAll('dryRun').includes('All'),
  }
}

/** A pod that has not started, has ended or is being deleted needs no budget. */
function mayGoFreely(pod: KubeObject): boolean {
  const phase = fields(pod['status'])['phase']
  return (
    phase === 'Pending' || phase === 'Succeeded' || phase === 'Failed' || pod.metadata.deletionTimestamp !== undefined
  )
}

const isReady = (pod: KubeObject): boolean => {
  const { conditions } = fields(pod['status'])
  return (
    Array.isArray(conditions) && conditions.some((c) => isObject(c) && c['type'] === 'Ready' && c['status'] === 'True')
  )
}

async function takeFromBudget({ parts }: Call, pod: KubeObject, dryRun: boolean): Promise<void> {
  const { store, clock } = parts
  const namespace = pod.metadata.namespace ?? ''
  const budgets = store
    .collection(BUDGETS)
    .snapshot(namespace)
    .filter((b) =>
      selectorMatcher(fields(b.value['spec'])['selector'] as LabelSelector | undefined)(pod.metadata.labels),
    )
  if (budgets.length > 1)
    throw internal('This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.')
  const [budget] = budgets
  if (budget === undefined) return
  const spec = fields(budget.value['spec'])
  if (!isReady(pod)) {
    if (spec['unhealthyPodEvictionPolicy'] === 'AlwaysAllow') return
    const { currentHealthy, desiredHealthy } = fields(budget.value['status'])
    if (Number(currentHealthy ?? 0) >= Number(desiredHealthy ?? 0) && Number(desiredHealthy ?? 0) > 0) return
  }
  await storeObject(store, budget, (b) => {
    const status = fields(b['status'])
    const cause = (message: string) => [{ reason: 'DisruptionBudget', message }]
    if (Number(status['observedGeneration'] ?? 0) < (b.metadata.generation ?? 0))
      throw tooManyRequests(
        VIOLATES,
        STILL_PROCESSED_SECONDS,
        cause(`The disruption budget ${b.metadata.name} is still being processed by the server.`),
      )
    const allowed = Number(status['disruptionsAllowed'] ?? 0)
    if (allowed < 0)
      throw forbidden(
        { group: 'policy', plural: 'poddisruptionbudgets' },
        b.metadata.name ?? '',
        'pdb disruptions allowed is negative',
      )
    if (allowed === 0)
      throw tooManyRequests(
        VIOLATES,
        0,
        cause(
          `The disruption budget ${b.metadata.name} needs ${Number(status['desiredHealthy'] ?? 0)} healthy pods and has ${Number(status['currentHealthy'] ?? 0)} currently`,
        ),
      )
    if (dryRun) return b
    const disruptedPods = { ...fields(status['disruptedPods']), [pod.metadata.name ?? '']: timestamp(clock.now()) }
    return { ...b, status: { ...status, disruptionsAllowed: allowed - 1, disruptedPods } }
  })
}

function withCondition(pod: KubeObject, condition: Fields): KubeObject {
  const status = fields(pod['status'])
  const before = Array.isArray(status['conditions']) ? status['conditions'].filter(isObject) : []
  const others = before.filter((c) => c['type'] !== condition['type'])
  return { ...pod, status: { ...status, conditions: [...others, condition] } }
}

const withDisruption = (pod: KubeObject, now: number): KubeObject =>
  withCondition(pod, {
    type: 'DisruptionTarget',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: timestamp(now),
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  })

async function bind(call: Call): Promise<Answer> {
  const { served, path, parts } = call
  const { dryRun } = writeOptions(call.query, { options: 'CreateOptions', apply: false })
  const { value } = await readSent(call, 'Binding')
  const binding = value ?? {}
  const target = fields(binding['target'])
  const kind = String(target['kind'] ?? '')
  const node = String(target['name'] ?? '')
  if (node === '') throw internal('target.name: Required value')
  if (kind !== '' && kind !== 'Node')
    throw internal(`target.kind: Unsupported value: ${JSON.stringify(kind)}: supported values: "Node", "<empty>"`)
  const refuse = (why: string) => conflict({ group: '', plural: 'pods/binding' }, path.name, why)
  const at = placeOf(served, path.namespace, path.name)
  if (parts.store.latest(at) === undefined) throw notFound(groupResource(served), path.name)
  await refuseByPolicy(call, { group: '', kind: 'Binding', sent: binding, dryRun })
  const bound = await storeObject(parts.store, at, (pod) => {
    if (pod.metadata.deletionTimestamp !== undefined)
      throw refuse(`pod ${path.name} is being deleted, cannot be assigned to a host`)
    const spec = fields(pod['spec'])
    if (Array.isArray(spec['schedulingGates']) && spec['schedulingGates'].length > 0)
      throw refuse(`pod ${path.name} has non-empty .spec.schedulingGates`)
    if (spec['nodeName'] !== undefined)
      throw refuse(`pod ${path.name} is already assigned to node ${JSON.stringify(spec['nodeName'])}`)
    if (dryRun) return pod
    return boundPod(pod, {
      node,
      annotations: fields(fields(binding['metadata'])['annotations']),
      now: parts.clock.now(),
    })
  })
  if (bound === undefined) throw notFound(groupResource(served), path.name)
  return created(call)
}

interface BindingFacts {
  readonly node: string
  readonly annotations: Fields
  readonly now: number
}

function boundPod(pod: KubeObject, { node, annotations, now }: BindingFacts): Draft {
  const merged = { ...pod.metadata.annotations, ...annotations } as { readonly [key: string]: string }
  const placed: KubeObject = {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(Object.keys(merged).length === 0 ? {} : { annotations: merged }),
    },
    spec: { ...fields(pod['spec']), nodeName: node },
  }
  return withCondition(placed, {
    type: 'PodScheduled',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: timestamp(now),
  })
}

/** Logs are of one container, which must be said where there are several. */
function checkContainer(pod: KubeObject, asked: string): void {
  const name = pod.metadata.name ?? ''
  const names = (list: string) => {
    const found = fields(pod['spec'])[list]
    return Array.isArray(found) ? found.filter(isObject).map((c) => String(c['name'])) : []
  }
  const [main, initial, ephemeral] = [names('containers'), names('initContainers'), names('ephemeralContainers')]
  if (asked === '') {
    if (main.length <= 1) return
    const others = initial.length === 0 ? '' : ` or one of the init containers: [${initial.join(' ')}]`
    throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${main.join(' ')}]${others}`)
  }
  if (![...main, ...initial, ...ephemeral].includes(asked))
    throw badRequest(`container ${asked} is not valid for pod ${name}`)
}

/** By itself this server has no way to a kubelet; the program around it may have one. */
async function log(call: Call): Promise<Answer> {
  const { served, path, parts } = call
  const pod = parts.store.get(placeOf(served, path.namespace, path.name))?.value
  if (pod === undefined) throw notFound(groupResource(served), path.name)
  const node = fields(pod['spec'])['nodeName']
  const container = call.query.get('container') ?? ''
  checkContainer(pod, container)
  if (node === undefined) return { code: 204, body: undefined }
  const kept = await parts.podLog?.(pod, container)
  if (kept !== undefined) {
    const limit = Number(call.query.get('limitBytes') ?? kept.length)
    return { code: 200, body: kept.subarray(0, limit), type: 'text/plain', verbatim: true }
  }
  throw internal(
    `cannot reach node ${JSON.stringify(node)} for the logs of pod ${JSON.stringify(path.name)}: this server does not speak to kubelets`,
  )
}

export const evictionHandlers: Readonly<Record<string, Handler>> = { create: evict }
export const bindingHandlers: Readonly<Record<string, Handler>> = { create: bind }
export const logHandlers: Readonly<Record<string, Handler>> = { get: log }

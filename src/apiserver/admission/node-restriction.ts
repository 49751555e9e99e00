// What kubelets may write: their own Node without reserved labels, its taints and owners as they are; mirror pods on it, the status of
// its pods; Leases and CSINodes of its name; tokens of its pods. Which objects they reach at all is auth/node-authorizer.ts.
import { isObject, jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { nodeOf } from '../auth/node-authorizer.ts'
import { nodeNameOf, referencesOf } from '../auth/node-pods.ts'
import { forbidden } from '../status/refusal.ts'
import type { Store } from '../storage/store.ts'
import type { RequestUser } from '../auth/user.ts'
import type { AdmissionLink, AdmissionRequest } from './chain.ts'
import { fields, listOfFields, word } from './compiled-policy.ts'
import { reservedLabels } from './node-labels.ts'

const MIRROR = 'kubernetes.io/config.mirror'

interface Write {
  readonly node: string
  readonly request: AdmissionRequest
  readonly object: KubeObject
  readonly store: Store
}

/** Undefined: admitted. */
type Check = (write: Write) => string | undefined

export const nodeRestriction = (store: Store): AdmissionLink => ({
  validate(request) {
    const node = nodeOf(request.user)
    const { served, operation, subresource, object, old, name } = request
    if (node === undefined) return
    const check = CHECKS.get([operation, served.resource, ...(subresource === '' ? [] : [subresource])].join(' '))
    const subject = object ?? old
    if (check === undefined || subject === undefined) return
    const why = check({ node, request, object: subject, store })
    if (why !== undefined) throw forbidden({ group: served.type.group, plural: served.type.plural }, name, why)
  },
})

const nodeWrite: Check = ({ node, request: { operation, old }, object }) => {
  const name = object.metadata.name ?? ''
  if (name !== node) return `node ${JSON.stringify(node)} is not allowed to modify node ${JSON.stringify(name)}`
  const reserved = reservedLabels(old?.metadata.labels ?? {}, object.metadata.labels ?? {})
  if (reserved.length > 0)
    return `node ${JSON.stringify(node)} is not allowed to ${operation === 'CREATE' ? 'set' : 'modify'} the following labels: ${reserved.join(', ')}`
  const taints = (o: KubeObject | undefined) => listOfFields(fields(o?.['spec'])['taints'])
  if (operation === 'UPDATE' && !jsonEqual(taints(old), taints(object)))
    return `node ${JSON.stringify(node)} is not allowed to modify taints`
  return kept(node, 'ownerReferences', old, object) ?? kept(node, 'finalizers', old, object)
}

/** With a false owner the garbage collector would delete the object. */
function kept(
  node: string,
  field: 'ownerReferences' | 'finalizers',
  old: KubeObject | undefined,
  object: KubeObject,
): string | undefined {
  const of = (o: KubeObject | undefined): readonly unknown[] => o?.metadata[field] ?? []
  return jsonEqual(of(old), of(object)) ? undefined : `node ${JSON.stringify(node)} is not allowed to modify ${field}`
}

const mirrorPod: Check = ({ node, object, store }) => {
  const who = `node ${JSON.stringify(node)}`
  if (object.metadata.annotations?.[MIRROR] === undefined)
    return `pod does not have ${JSON.stringify(MIRROR)} annotation, ${who} can only create mirror pods`
  if (nodeNameOf(object) !== node) return `${who} can only create pods with spec.nodeName set to itself`
  const owners = (object.metadata.ownerReferences ?? []) as readonly unknown[]
  if (owners.length > 1) return `${who} can only create pods with a single owner reference set to itself`
  const owner = fields(owners[0])
  if (owner['apiVersion'] !== 'v1' || owner['kind'] !== 'Node' || owner['name'] !== node)
    return `${who} can only create pods with an owner reference set to itself`
  if (owner['controller'] !== true) return `${who} can only create pods with a controller owner reference set to itself`
  if (owner['blockOwnerDeletion'] === true) return `${who} must not set blockOwnerDeletion on an owner reference`
  const uid = store.get({ resource: '/nodes', namespace: '', name: node })?.value.metadata.uid
  if (uid === undefined || owner['uid'] !== uid)
    return `node ${node} UID mismatch: expected ${word(owner['uid'])} got ${uid ?? ''}`
  return referenceProblem(who, object)
}

/** A node may read what its pods refer to: a mirror pod would open any Secret. */
function referenceProblem(who: string, pod: KubeObject): string | undefined {
  const [first] = [...referencesOf(pod)]
  if (first !== undefined) return `${who} can not create pods that reference ${first.split('/')[0] ?? ''}`
  const hasClaims = listOfFields(fields(pod['spec'])['resourceClaims']).length > 0
  return hasClaims ? `${who} can not create pods that reference resourceclaims` : undefined
}

const podStatus: Check = ({ node, request: { old }, object }) => {
  const who = `node ${JSON.stringify(node)}`
  if (nodeNameOf(old) !== node) return `${who} can only update pod status for pods with spec.nodeName set to itself`
  if (!jsonEqual(old?.metadata.labels ?? {}, object.metadata.labels ?? {}))
    return `${who} cannot update labels through pod status`
  const claims = (o: KubeObject | undefined) => listOfFields(fields(o?.['status'])['resourceClaimStatuses'])
  if (!jsonEqual(claims(old), claims(object))) return `${who} cannot update resource claim statuses`
  return kept(node, 'ownerReferences', old, object) ?? kept(node, 'finalizers', old, object)
}

const podDeletion: Check = ({ node, object }) =>
  nodeNameOf(object) === node
    ? undefined
    : `node ${JSON.stringify(node)} can only delete pods with spec.nodeName set to itself`

const ownName: Check = ({ node, object, request: { old } }) => {
  if (object.metadata.name !== node) return `node ${JSON.stringify(node)} can only write the object with its own name`
  // a node's Lease belongs to its Node, and the kubelet sets that owner itself
  const owners = (object.metadata.ownerReferences ?? []) as readonly unknown[]
  const isOwn = owners.every((o) => fields(o)['kind'] === 'Node' && fields(o)['name'] === node)
  return isOwn || jsonEqual(old?.metadata.ownerReferences ?? [], owners)
    ? undefined
    : `node ${JSON.stringify(node)} can only set an owner reference to itself`
}

const LEASES = 'coordination.k8s.io/leases'
const CSI_NODES = 'storage.k8s.io/csinodes'

const CHECKS: ReadonlyMap<string, Check> = new Map([
  ['CREATE /nodes', nodeWrite],
  ['UPDATE /nodes', nodeWrite],
  ['UPDATE /nodes status', nodeWrite],
  ['CREATE /pods', mirrorPod],
  ['UPDATE /pods status', podStatus],
  ['DELETE /pods', podDeletion],
  [`CREATE ${LEASES}`, ownName],
  [`UPDATE ${LEASES}`, ownName],
  [`CREATE ${CSI_NODES}`, ownName],
  [`UPDATE ${CSI_NODES}`, ownName],
])

export interface TokenAsked {
  readonly audiences: readonly string[]
  readonly reference: unknown
  readonly pod: KubeObject | undefined
}

/** Why a kubelet may not have this token; undefined when it may, and for all other users. */
export function tokenRefusal(user: RequestUser, { audiences, reference, pod }: TokenAsked): string | undefined {
  const node = nodeOf(user)
  if (node === undefined) return undefined
  const who = `node ${JSON.stringify(node)}`
  const asked = fields(reference)
  if (asked['kind'] !== 'Pod' || pod === undefined) return `${who} requested token not bound to a pod`
  if (word(asked['uid']) === '') return `${who} requested token with a pod binding without a uid`
  if (nodeNameOf(pod) !== node) return `${who} requested token bound to a pod scheduled on a different node`
  const mounted = mountedAudiences(pod)
  // no audience means the API server, and so does a volume without one
  const stranger = (audiences.length === 0 ? [''] : audiences).find((a) => !mounted.has(a))
  return stranger === undefined
    ? undefined
    : `audience ${JSON.stringify(stranger)} not found in pod spec volume, ${who} is not authorized to request a token for it`
}

const mountedAudiences = (pod: KubeObject): ReadonlySet<string> =>
  new Set(
    listOfFields(fields(pod['spec'])['volumes'])
      .flatMap((v) => listOfFields(fields(v['projected'])['sources']))
      .map((source) => source['serviceAccountToken'])
      .filter(isObject)
      .map((t) => word(t['audience'])),
  )

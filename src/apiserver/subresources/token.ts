// Tokens for service accounts, requested one by one: with an expiry, for an audience, bound to an object that must exist.
import { timestamp } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import { invalid as invalidField, type FieldError } from '../schema/field-error.ts'
import { tokenRefusal } from '../admission/node-restriction.ts'
import type { NewToken } from '../auth/tokens.ts'
import { tokenRequest } from '../builtin/reviews.ts'
import { builtinServed } from '../registry/builtin-served.ts'
import type { Answer, Call, Handler } from '../handlers/context.ts'
import { decodeObject } from '../handlers/decode.ts'
import { encoded } from '../handlers/encode.ts'
import { admissionRequest } from '../handlers/judge.ts'
import { groupResource, placeOf } from '../handlers/stored-place.ts'
import { readSent } from '../http/body.ts'
import { writeOptions } from '../http/query.ts'
import { badRequest, conflict, forbidden, invalid, notFound } from '../status/refusal.ts'

const SHORTEST_SECONDS = 600
const DEFAULT_SECONDS = 3_600
const LONGEST_SECONDS = 2 ** 32
/** What a pod's volume asks for. Such tokens are good for a year, for the sake of programs that read the file once. */
const POD_SECONDS = 3_607
const POD_SECONDS_EXTENDED = 365 * 24 * 3_600

type Fields = Readonly<Record<string, unknown>>
const fields = (v: unknown): Fields => (isObject(v) ? v : {})
const REQUEST = builtinServed(tokenRequest)
const BINDABLE: Readonly<Record<string, string | undefined>> = { Pod: '/pods', Secret: '/secrets', Node: '/nodes' }

async function create(call: Call): Promise<Answer> {
  const { served, path, parts, warnings } = call
  const options = writeOptions(call.query, { options: 'CreateOptions', apply: false })
  const account = parts.store.latest(placeOf(served, path.namespace, path.name))?.value
  if (account === undefined) throw notFound(groupResource(served), path.name)
  const body = await readSent(call, 'TokenRequest')
  const request = decodeObject(
    { served: REQUEST, registry: parts.registry, validation: options.fieldValidation, warnings },
    body,
  )
  const asked = request.metadata.name ?? ''
  if (asked !== '' && asked !== path.name)
    throw invalid({ group: 'authentication.k8s.io', kind: 'TokenRequest' }, path.name, [
      invalidField('metadata.name', asked, 'must match the service account name if specified'),
    ])
  const spec = fields(request['spec'])
  const seconds = typeof spec['expirationSeconds'] === 'number' ? spec['expirationSeconds'] : DEFAULT_SECONDS
  refuseBadTimes(seconds)
  // A token is an identity: policies may refuse it like any creation.
  const { type } = REQUEST
  const kind = { group: type.group, version: type.version, kind: type.kind }
  const audiences = Array.isArray(spec['audiences']) ? spec['audiences'].map(String) : []
  const object = {
    ...request,
    spec: {
      ...spec,
      audiences: audiences.length === 0 ? parts.signer.defaultAudiences : audiences,
      expirationSeconds: seconds,
    },
  }
  await parts.admission.validate({ ...admissionRequest(call, 'CREATE', options, undefined), kind, object })
  const bound = boundObject(call, fields(spec['boundObjectRef']))
  const reference = spec['boundObjectRef']
  const pod = bound.bound?.kind === 'Pod' ? podOf(call, bound.bound.name) : undefined
  const why = tokenRefusal(call.user, { audiences, reference, pod })
  if (why !== undefined) throw forbidden({ group: '', plural: 'serviceaccounts/token' }, path.name, why)
  const { token, issued } = parts.signer.issue({
    namespace: path.namespace,
    account: { name: path.name, uid: account.metadata.uid ?? '' },
    audiences,
    ...lifetime(seconds, parts.signer.isForUs(audiences)),
    ...bound,
    now: parts.clock.now(),
    id: parts.uid(),
  })
  return encoded(call, 201, {
    ...request,
    metadata: {
      name: path.name,
      namespace: path.namespace,
      uid: parts.uid(),
      creationTimestamp: timestamp(parts.clock.now()),
    },
    spec: {
      ...spec,
      audiences: audiences.length === 0 ? parts.signer.defaultAudiences : audiences,
      expirationSeconds: seconds,
      boundObjectRef: spec['boundObjectRef'] ?? null,
    },
    status: { token, expirationTimestamp: timestamp(issued + seconds * 1_000) },
  })
}

const podOf = ({ parts, path: { namespace } }: Call, name: string) =>
  parts.store.get({ resource: '/pods', namespace, name })?.value

const lifetime = (seconds: number, isForUs: boolean) =>
  seconds === POD_SECONDS && isForUs ? { seconds: POD_SECONDS_EXTENDED, warnAfterSeconds: seconds } : { seconds }

function refuseBadTimes(seconds: number): void {
  const problems: FieldError[] = []
  if (seconds < SHORTEST_SECONDS)
    problems.push(invalidField('spec.expirationSeconds', seconds, 'may not specify a duration less than 10 minutes'))
  if (seconds > LONGEST_SECONDS)
    problems.push(
      invalidField('spec.expirationSeconds', seconds, 'may not specify a duration larger than 2^32 seconds'),
    )
  if (problems.length > 0) throw invalid({ group: 'authentication.k8s.io', kind: 'TokenRequest' }, '', problems)
}

/** `/v1`: the core group is written as nothing before the slash. */
const goKind = (apiVersion: string): string => (apiVersion.includes('/') ? apiVersion : `/${apiVersion}`)

/** The object that the token is bound to; a running pod adds its node. */
function boundObject(call: Call, ref: Fields): Pick<NewToken, 'bound' | 'node'> {
  const kind = String(ref['kind'] ?? '')
  if (kind === '') return {}
  const name = String(ref['name'] ?? '')
  const resource = BINDABLE[kind]
  if (resource === undefined)
    throw badRequest(`cannot bind token to object of type ${goKind(String(ref['apiVersion'] ?? ''))}, Kind=${kind}`)
  const plural = resource.slice(1)
  const { store } = call.parts
  const found = store.get({ resource, namespace: kind === 'Node' ? '' : call.path.namespace, name })?.value
  if (found === undefined) throw notFound({ group: '', plural }, name)
  const spec = fields(found['spec'])
  if (kind === 'Pod' && String(spec['serviceAccountName'] ?? '') !== call.path.name)
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(call.path.name)} to pod running with different serviceaccount name.`,
    )
  const uid = found.metadata.uid ?? ''
  if (ref['uid'] !== undefined && ref['uid'] !== uid)
    throw conflict(
      { group: '', plural: kind },
      name,
      `the UID in the bound object reference (${String(ref['uid'])}) does not match the UID in record. The object might have been deleted and then recreated`,
    )
  const bound = { kind, name, uid }
  const nodeName = kind === 'Pod' ? String(spec['nodeName'] ?? '') : ''
  if (nodeName === '') return { bound }
  const node = store.get({ resource: '/nodes', namespace: '', name: nodeName })?.value
  return {
    bound,
    node: { name: nodeName, ...(node?.metadata.uid === undefined ? {} : { uid: node.metadata.uid }) },
  }
}

export const tokenHandlers: Readonly<Record<string, Handler>> = { create }

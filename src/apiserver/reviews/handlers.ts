// Reviews: questions about access and identity, answered in the answer to their creation.
import { timestamp } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import { invalid as invalidField, StructValue, type FieldError } from '../schema/field-error.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { accountOf, bootstrapTokens, legacyAccountOf } from '../auth/authenticate.ts'
import type { Attributes, PolicyRule } from '../auth/authorizer.ts'
import type { RequestUser } from '../builtin/kind.ts'
import type { Answer, Call, Handler } from '../handlers/context.ts'
import { decodeObject } from '../handlers/decode.ts'
import { encoded } from '../handlers/encode.ts'
import { managing, tracked } from '../handlers/managed.ts'
import { readSent } from '../http/body.ts'
import { writeOptions } from '../http/query.ts'
import { badRequest, invalid } from '../status/refusal.ts'

type Fields = Readonly<Record<string, unknown>>
const fields = (v: unknown): Fields => (isObject(v) ? v : {})
const word = (v: unknown): string => (typeof v === 'string' ? v : '')
const texts = (v: unknown): readonly string[] => (Array.isArray(v) ? v.map(String) : [])

async function asked(call: Call): Promise<KubeObject> {
  const { served, parts, warnings } = call
  const options = writeOptions(call.query, { options: 'CreateOptions', apply: false })
  const body = await readSent(call, served.type.kind)
  const review = decodeObject({ served, registry: parts.registry, validation: options.fieldValidation, warnings }, body)
  return tracked(call, undefined, review, managing(call, options, ''))
}

const answer = (call: Call, review: KubeObject, status: unknown): Promise<Answer> =>
  encoded(call, 201, { ...review, status })

function attributeProblems(spec: Fields): FieldError[] {
  const resource = spec['resourceAttributes']
  const path = spec['nonResourceAttributes']
  if (resource !== undefined && path !== undefined) {
    const f = fields(path)
    const shown = new StructValue({ Path: word(f['path']), Verb: word(f['verb']) })
    return [
      invalidField('spec.nonResourceAttributes', shown, 'cannot be specified in combination with resourceAttributes'),
    ]
  }
  if (resource === undefined && path === undefined)
    return [
      invalidField(
        'spec.resourceAttributes',
        null,
        'exactly one of nonResourceAttributes or resourceAttributes must be specified',
      ),
    ]
  return []
}

function refuse(problems: readonly FieldError[]): void {
  if (problems.length > 0) throw invalid({ group: 'authorization.k8s.io', kind: '' }, '', problems)
}

function attributesOf(spec: Fields): Attributes {
  const path = spec['nonResourceAttributes']
  if (path !== undefined) {
    const f = fields(path)
    return {
      verb: word(f['verb']),
      group: '',
      resource: '',
      subresource: '',
      namespace: '',
      name: '',
      path: word(f['path']),
    }
  }
  const r = fields(spec['resourceAttributes'])
  const at = (key: string) => word(r[key])
  return {
    verb: at('verb'),
    group: at('group'),
    resource: at('resource'),
    subresource: at('subresource'),
    namespace: at('namespace'),
    name: at('name'),
  }
}

function verdict(call: Call, user: RequestUser, spec: Fields): unknown {
  const reason = call.parts.authorizer.reasonFor(user, attributesOf(spec))
  return { allowed: reason !== undefined, ...(reason === undefined || reason === '' ? {} : { reason }) }
}

async function subjectAccess(call: Call): Promise<Answer> {
  const review = await asked(call)
  const spec = fields(review['spec'])
  const nobody = word(spec['user']) === '' && texts(spec['groups']).length === 0
  refuse([
    ...attributeProblems(spec),
    ...(nobody ? [invalidField('spec.user', '', 'at least one of user or group must be specified')] : []),
  ])
  const { namespace } = call.path
  if (call.served.type.namespaced) {
    const inside = word(fields(spec['resourceAttributes'])['namespace'])
    if (inside !== namespace)
      refuse([invalidField('spec.resourceAttributes.namespace', inside, 'must match metadata.namespace')])
  }
  return answer(call, review, verdict(call, { name: word(spec['user']), groups: texts(spec['groups']) }, spec))
}

async function selfAccess(call: Call): Promise<Answer> {
  const review = await asked(call)
  const spec = fields(review['spec'])
  refuse(attributeProblems(spec))
  return answer(call, review, verdict(call, call.user, spec))
}

async function selfRules(call: Call): Promise<Answer> {
  const review = await asked(call)
  const namespace = word(fields(review['spec'])['namespace'])
  if (namespace === '') throw badRequest('no namespace on request')
  const rules = call.parts.authorizer.rulesFor(call.user, namespace)
  const resourceRules = rules
    .filter((r) => (r.resources ?? []).length > 0)
    .map(({ verbs, apiGroups, resources, resourceNames }: PolicyRule) => ({
      verbs,
      apiGroups,
      resources,
      ...((resourceNames ?? []).length === 0 ? {} : { resourceNames }),
    }))
  const nonResourceRules = rules
    .filter((r) => (r.nonResourceURLs ?? []).length > 0)
    .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs }))
  const { managedFields: _managed, ...metadata } = review.metadata
  return answer(call, { ...review, metadata, spec: {} }, { resourceRules, nonResourceRules, incomplete: false })
}

const shownUser = (u: RequestUser) => ({
  username: u.name,
  ...(u.uid === undefined ? {} : { uid: u.uid }),
  groups: u.groups,
  ...(u.extra === undefined ? {} : { extra: u.extra }),
})

async function selfSubject(call: Call): Promise<Answer> {
  const review = await asked(call)
  const { spec: _spec, ...rest } = review
  const creationTimestamp = timestamp(call.parts.clock.now())
  const metadata = { ...review.metadata, creationTimestamp }
  return answer(call, { ...rest, metadata }, { userInfo: shownUser(call.user) })
}

async function token(call: Call): Promise<Answer> {
  const { signer, store, clock } = call.parts
  const review = await asked(call)
  const spec = fields(review['spec'])
  const text = word(spec['token'])
  if (text === '') throw badRequest('token is required for TokenReview in authentication')
  const wanted = texts(spec['audiences'])
  const accepted = wanted.length === 0 ? signer.defaultAudiences : wanted
  const claims = signer.read(text, clock.now())
  const audiences = claims === undefined ? [] : claims.aud.filter((a) => accepted.includes(a))
  const user = claims === undefined || audiences.length === 0 ? undefined : accountOf(claims, store, clock.now())
  // a machine's join token, or one without an audience, is valid for this server only
  const legacy = signer.readLegacy(text)
  const kept = legacy === undefined ? undefined : legacyAccountOf(legacy, text, store)
  const joining = signer.isForUs(accepted) ? (kept ?? bootstrapTokens(store, () => clock.now())(text)) : undefined
  if (joining !== undefined)
    return answer(call, review, { authenticated: true, user: shownUser(joining), audiences: accepted })
  if (user === undefined) return answer(call, review, { user: {}, error: tokenError(claims?.aud ?? [], accepted) })
  return answer(call, review, { authenticated: true, user: shownUser(user), audiences })
}

/** A valid token for other audiences is reported as that. */
function tokenError(meantFor: readonly string[], accepted: readonly string[]): string {
  const isForOthers = meantFor.length > 0 && !meantFor.some((a) => accepted.includes(a))
  if (!isForOthers) return 'invalid bearer token'
  const shown = (list: readonly string[]) => `[${list.map((a) => JSON.stringify(a)).join(' ')}]`
  return `[invalid bearer token, token audiences ${shown(meantFor)} is invalid for the target audiences ${shown(accepted)}]`
}

export const reviewHandlers: Readonly<Record<string, Handler | undefined>> = {
  'authorization.k8s.io/subjectaccessreviews': subjectAccess,
  'authorization.k8s.io/localsubjectaccessreviews': subjectAccess,
  'authorization.k8s.io/selfsubjectaccessreviews': selfAccess,
  'authorization.k8s.io/selfsubjectrulesreviews': selfRules,
  'authentication.k8s.io/tokenreviews': token,
  'authentication.k8s.io/selfsubjectreviews': selfSubject,
}

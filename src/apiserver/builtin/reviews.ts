// Requests that are answered in the response to their creation: nothing of them is stored.
import type { BuiltinKind, BuiltinSchema } from './kind.ts'
import * as s from './shape.ts'

const selectorAttributes = s.struct(
  'FieldSelectorAttributes',
  {
    rawSelector: s.str,
    requirements: s.listOf(
      s.struct('Requirement', { key: s.always(s.str), operator: s.always(s.str), values: s.listOf(s.str) }),
    ),
  },
  { 'x-go-field': 'pointer' },
)
const resourceAttributes = s.struct(
  'ResourceAttributes',
  {
    namespace: s.str,
    verb: s.str,
    group: s.str,
    version: s.str,
    resource: s.str,
    subresource: s.str,
    name: s.str,
    fieldSelector: selectorAttributes,
    labelSelector: selectorAttributes,
  },
  { 'x-go-field': 'pointer' },
)
const nonResourceAttributes = s.struct(
  'NonResourceAttributes',
  { path: s.str, verb: s.str },
  { 'x-go-field': 'pointer' },
)
const userFields = { user: s.str, groups: s.listOf(s.str), extra: s.mapOf(s.listOf(s.str)), uid: s.str }

const accessStatus = s.always(
  s.struct('SubjectAccessReviewStatus', {
    allowed: s.always(s.bool),
    denied: s.bool,
    reason: s.str,
    evaluationError: s.str,
  }),
)

interface ReviewFacts {
  readonly group: string
  readonly kind: string
  readonly plural: string
  readonly namespaced?: boolean
  readonly spec: BuiltinSchema
  readonly status: BuiltinSchema
}

const review = ({ group, kind, plural, namespaced = false, spec, status }: ReviewFacts): BuiltinKind => ({
  type: { group, version: 'v1', kind, plural, namespaced },
  verbs: ['create'],
  schema: s.struct(kind, { spec: s.always(spec), status }),
})

const AUTHORIZATION = 'authorization.k8s.io'
const AUTHENTICATION = 'authentication.k8s.io'

const fullSpec = s.struct('SubjectAccessReviewSpec', { resourceAttributes, nonResourceAttributes, ...userFields })

const rules = (nonResource: boolean): BuiltinSchema =>
  s.listOf(
    s.struct(nonResource ? 'NonResourceRule' : 'ResourceRule', {
      verbs: s.always(s.listOf(s.str)),
      ...(nonResource
        ? { nonResourceURLs: s.listOf(s.str) }
        : { apiGroups: s.listOf(s.str), resources: s.listOf(s.str), resourceNames: s.listOf(s.str) }),
    }),
  )

const userInfo = s.struct('UserInfo', {
  username: s.str,
  uid: s.str,
  groups: s.listOf(s.str),
  extra: s.mapOf(s.listOf(s.str)),
})

export const reviewKinds = [
  review({
    group: AUTHORIZATION,
    kind: 'SubjectAccessReview',
    plural: 'subjectaccessreviews',
    spec: fullSpec,
    status: accessStatus,
  }),
  review({
    group: AUTHORIZATION,
    kind: 'LocalSubjectAccessReview',
    plural: 'localsubjectaccessreviews',
    namespaced: true,
    spec: fullSpec,
    status: accessStatus,
  }),
  review({
    group: AUTHORIZATION,
    kind: 'SelfSubjectAccessReview',
    plural: 'selfsubjectaccessreviews',
    spec: s.struct('SelfSubjectAccessReviewSpec', { resourceAttributes, nonResourceAttributes }),
    status: accessStatus,
  }),
  review({
    group: AUTHORIZATION,
    kind: 'SelfSubjectRulesReview',
    plural: 'selfsubjectrulesreviews',
    spec: s.struct('SelfSubjectRulesReviewSpec', { namespace: s.str }),
    status: s.always(
      s.struct('SubjectRulesReviewStatus', {
        resourceRules: s.always(rules(false)),
        nonResourceRules: s.always(rules(true)),
        incomplete: s.always(s.bool),
        evaluationError: s.str,
      }),
    ),
  }),
  review({
    group: AUTHENTICATION,
    kind: 'TokenReview',
    plural: 'tokenreviews',
    spec: s.struct('TokenReviewSpec', { token: s.str, audiences: s.listOf(s.str) }),
    status: s.always(
      s.struct('TokenReviewStatus', {
        authenticated: s.bool,
        user: s.always(userInfo),
        audiences: s.listOf(s.str),
        error: s.str,
      }),
    ),
  }),
  review({
    group: AUTHENTICATION,
    kind: 'SelfSubjectReview',
    plural: 'selfsubjectreviews',
    spec: s.struct('SelfSubjectReviewSpec', {}),
    status: s.always(s.struct('SelfSubjectReviewStatus', { userInfo: s.always(userInfo) })),
  }),
] as const

/** The token request of a service account's token subresource. */
export const tokenRequest: BuiltinKind = {
  type: { group: AUTHENTICATION, version: 'v1', kind: 'TokenRequest', plural: 'tokenrequests', namespaced: true },
  schema: s.struct('TokenRequest', {
    spec: s.always(
      s.struct('TokenRequestSpec', {
        audiences: s.always(s.listOf(s.str)),
        expirationSeconds: s.pointer(s.int64),
        boundObjectRef: s.struct(
          'BoundObjectReference',
          { kind: s.str, apiVersion: s.str, name: s.str, uid: s.str },
          { 'x-go-field': 'pointer' },
        ),
      }),
    ),
    status: s.always(s.struct('TokenRequestStatus', { token: s.always(s.str), expirationTimestamp: s.always(s.time) })),
  }),
}

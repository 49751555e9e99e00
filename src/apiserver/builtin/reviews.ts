// Requests that are answered in the response to their creation: nothing of them is stored.
import type { BuiltinKind, BuiltinSchema } from './kind.ts'
import { always, bool, int64, listOf, mapOf, pointer, str, struct, time } from './shape.ts'

const selectorAttributes = struct(
  'FieldSelectorAttributes',
  {
    rawSelector: str,
    requirements: listOf(struct('Requirement', { key: always(str), operator: always(str), values: listOf(str) })),
  },
  { 'x-go-field': 'pointer' },
)
const resourceAttributes = struct(
  'ResourceAttributes',
  {
    namespace: str,
    verb: str,
    group: str,
    version: str,
    resource: str,
    subresource: str,
    name: str,
    fieldSelector: selectorAttributes,
    labelSelector: selectorAttributes,
  },
  { 'x-go-field': 'pointer' },
)
const nonResourceAttributes = struct('NonResourceAttributes', { path: str, verb: str }, { 'x-go-field': 'pointer' })
const userFields = { user: str, groups: listOf(str), extra: mapOf(listOf(str)), uid: str }

const accessStatus = always(
  struct('SubjectAccessReviewStatus', { allowed: always(bool), denied: bool, reason: str, evaluationError: str }),
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
  singular: kind.toLowerCase(),
  verbs: ['create'],
  schema: struct(kind, { spec: always(spec), status }),
})

const AUTHORIZATION = 'authorization.k8s.io'
const AUTHENTICATION = 'authentication.k8s.io'

const fullSpec = struct('SubjectAccessReviewSpec', { resourceAttributes, nonResourceAttributes, ...userFields })

const rules = (nonResource: boolean): BuiltinSchema =>
  listOf(
    struct(nonResource ? 'NonResourceRule' : 'ResourceRule', {
      verbs: always(listOf(str)),
      ...(nonResource
        ? { nonResourceURLs: listOf(str) }
        : { apiGroups: listOf(str), resources: listOf(str), resourceNames: listOf(str) }),
    }),
  )

const userInfo = struct('UserInfo', { username: str, uid: str, groups: listOf(str), extra: mapOf(listOf(str)) })

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
    spec: struct('SelfSubjectAccessReviewSpec', { resourceAttributes, nonResourceAttributes }),
    status: accessStatus,
  }),
  review({
    group: AUTHORIZATION,
    kind: 'SelfSubjectRulesReview',
    plural: 'selfsubjectrulesreviews',
    spec: struct('SelfSubjectRulesReviewSpec', { namespace: str }),
    status: always(
      struct('SubjectRulesReviewStatus', {
        resourceRules: always(rules(false)),
        nonResourceRules: always(rules(true)),
        incomplete: always(bool),
        evaluationError: str,
      }),
    ),
  }),
  review({
    group: AUTHENTICATION,
    kind: 'TokenReview',
    plural: 'tokenreviews',
    spec: struct('TokenReviewSpec', { token: str, audiences: listOf(str) }),
    status: always(
      struct('TokenReviewStatus', { authenticated: bool, user: always(userInfo), audiences: listOf(str), error: str }),
    ),
  }),
  review({
    group: AUTHENTICATION,
    kind: 'SelfSubjectReview',
    plural: 'selfsubjectreviews',
    spec: struct('SelfSubjectReviewSpec', {}),
    status: always(struct('SelfSubjectReviewStatus', { userInfo: always(userInfo) })),
  }),
] as const

/** The token request of a service account's token subresource. */
export const tokenRequest: BuiltinKind = {
  type: { group: AUTHENTICATION, version: 'v1', kind: 'TokenRequest', plural: 'tokenrequests', namespaced: true },
  singular: 'tokenrequest',
  schema: struct('TokenRequest', {
    spec: always(
      struct('TokenRequestSpec', {
        audiences: always(listOf(str)),
        expirationSeconds: pointer(int64),
        boundObjectRef: struct(
          'BoundObjectReference',
          { kind: str, apiVersion: str, name: str, uid: str },
          { 'x-go-field': 'pointer' },
        ),
      }),
    ),
    status: always(struct('TokenRequestStatus', { token: always(str), expirationTimestamp: always(time) })),
  }),
}

// Whether a policy, a binding or a webhook applies to a request: by operation, resource, name, namespace and labels.
import type { KubeObject } from '#api/schema/object.ts'
import { selectorMatcher, type LabelMatcher } from '../selectors/label-selector.ts'
import type { Store } from '../storage/store.ts'
import type { AdmissionRequest } from './chain.ts'
import { fields, listOfFields, word } from './compiled-policy.ts'

type Fields = Readonly<Record<string, unknown>>
const texts = (v: unknown): readonly string[] => (Array.isArray(v) ? v.map(String) : [])
const has = (list: readonly string[], value: string): boolean => list.includes('*') || list.includes(value)

export const ADMISSION_GROUP = 'admissionregistration.k8s.io'

const POLICY_KINDS = ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'].map(
  (plural) => `${ADMISSION_GROUP}/${plural}`,
)
const WEBHOOK_KINDS = ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'].map(
  (plural) => `${ADMISSION_GROUP}/${plural}`,
)
/** Questions, of which nothing is stored. */
const REVIEWS = [
  'authentication.k8s.io/selfsubjectreviews',
  'authentication.k8s.io/tokenreviews',
  'authorization.k8s.io/localsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectaccessreviews',
  'authorization.k8s.io/selfsubjectrulesreviews',
  'authorization.k8s.io/subjectaccessreviews',
]
const NO_POLICIES: ReadonlySet<string> = new Set([...POLICY_KINDS, ...REVIEWS])
const NO_WEBHOOKS: ReadonlySet<string> = new Set([...POLICY_KINDS, ...WEBHOOK_KINDS])

/** Policies do not judge the objects that could repair a wrong one, but they do judge registrations of webhooks. */
export const isFreeOfPolicies = ({ served }: AdmissionRequest): boolean => NO_POLICIES.has(served.resource)

/** Webhooks judge neither policies nor registrations of webhooks. */
export const isFreeOfWebhooks = ({ served }: AdmissionRequest): boolean => NO_WEBHOOKS.has(served.resource)

export interface MatchOptions {
  /** A binding without rules matches everything that its policy matches. */
  readonly emptyRulesMatch: boolean
}

export function matchesResources(
  match: Fields,
  request: AdmissionRequest,
  store: Store,
  { emptyRulesMatch }: MatchOptions,
): boolean {
  const rules = listOfFields(match['resourceRules'])
  if (listOfFields(match['excludeResourceRules']).some((r) => ruleMatches(r, request))) return false
  if (!(rules.length === 0 && emptyRulesMatch) && !rules.some((r) => ruleMatches(r, request))) return false
  return namespaceMatches(match['namespaceSelector'], request, store) && objectMatches(match['objectSelector'], request)
}

export function ruleMatches(rule: Fields, { operation, served, subresource, name }: AdmissionRequest): boolean {
  const { group, version, plural, namespaced } = served.type
  const scope = word(rule['scope']) || '*'
  const names = texts(rule['resourceNames'])
  return (
    has(texts(rule['operations']), operation) &&
    has(texts(rule['apiGroups']), group) &&
    has(texts(rule['apiVersions']), version) &&
    (scope === '*' || (scope === 'Namespaced') === namespaced) &&
    texts(rule['resources']).some((r) => resourceMatches(r, plural, subresource)) &&
    (names.length === 0 || names.includes(name))
  )
}

function resourceMatches(pattern: string, plural: string, subresource: string): boolean {
  const [resource = '', sub] = pattern.split('/')
  if (pattern === '*/*') return true
  if (resource !== '*' && resource !== plural) return false
  return sub === undefined ? subresource === '' : sub === '*' || sub === subresource
}

const isEmptySelector = (s: unknown): boolean => s === undefined || Object.keys(fields(s)).length === 0

/** Undefined for a selector that matches everything. */
export const compiledSelector = (selector: unknown): LabelMatcher | undefined =>
  isEmptySelector(selector) ? undefined : selectorMatcher(fields(selector))

const namespaceMatches = (selector: unknown, request: AdmissionRequest, store: Store): boolean =>
  isNamespaceSelected(compiledSelector(selector), request, store)

export function isNamespaceSelected(
  matcher: LabelMatcher | undefined,
  { served, namespace, object, old }: AdmissionRequest,
  store: Store,
): boolean {
  if (matcher === undefined) return true
  if (served.resource === '/namespaces') return matcher((object ?? old)?.metadata.labels)
  if (namespace === '') return true
  return matcher(store.get({ resource: '/namespaces', namespace: '', name: namespace })?.value.metadata.labels)
}

const objectMatches = (selector: unknown, request: AdmissionRequest): boolean =>
  isObjectSelected(compiledSelector(selector), request)

/** The old or the new object: one match is enough. */
export function isObjectSelected(matcher: LabelMatcher | undefined, { object, old }: AdmissionRequest): boolean {
  if (matcher === undefined) return true
  return [object, old].some((o: KubeObject | undefined) => o !== undefined && matcher(o.metadata.labels))
}

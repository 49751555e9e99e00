// No user grants rights they do not have: roles and bindings may grant only what the writer holds, unless the writer may escalate or bind. A rule
// that aggregates may grant anything later, so it needs everything.
import { isObject, jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { coversRule, EVERYTHING_RULES, RBAC, rulesOf, type Authorizer, type PolicyRule } from '../auth/authorizer.ts'
import { MASTERS } from '../auth/user.ts'
import { forbidden } from '../status/refusal.ts'
import type { AdmissionLink, AdmissionRequest } from './chain.ts'

const ROLES = new Set([`${RBAC}/roles`, `${RBAC}/clusterroles`])
const BOUND = new Set([`${RBAC}/rolebindings`, `${RBAC}/clusterrolebindings`])

export const escalationGuard = (authorizer: Authorizer): AdmissionLink => ({
  validate(request) {
    const { user, object, old, served } = request
    if (user.groups.includes(MASTERS) || object === undefined) return
    const check = ROLES.has(served.resource) ? checkRole : BOUND.has(served.resource) ? checkBinding : undefined
    if (check !== undefined && !changesOnlyOwnership(object, old)) check(authorizer, request, object)
  },
})

/**
 * A write by a garbage collector. Every other change is judged by the whole role, for its writer vouches for it: a new label can
 * feed the aggregate of another user.
 */
function changesOnlyOwnership(object: KubeObject, old: KubeObject | undefined): boolean {
  return old !== undefined && jsonEqual(withoutOwnership(object), withoutOwnership(old))
}

function withoutOwnership(o: KubeObject): unknown {
  const { finalizers: _f, ownerReferences: _o, managedFields: _m, resourceVersion: _r, ...metadata } = o.metadata
  return { ...o, metadata }
}

function checkRole(authorizer: Authorizer, request: AdmissionRequest, role: KubeObject): void {
  const { user, namespace, pathName = '', old, served, name } = request
  const attributes = { group: RBAC, resource: served.type.plural, subresource: '', namespace, name: pathName }
  if (authorizer.allows(user, { verb: 'escalate', ...attributes })) return
  refuseMissing(authorizer, request, rulesOf(role))
  if (!aggregates(role) && !aggregates(old)) return
  const held = authorizer.rulesFor(user, '')
  if (EVERYTHING_RULES.every((r) => coversRule(held, r))) return
  throw forbidden(
    { group: RBAC, plural: served.type.plural },
    name,
    'must have cluster-admin privileges to use the aggregationRule',
  )
}

function aggregates(role: KubeObject | undefined): boolean {
  const rule = role?.['aggregationRule']
  if (!isObject(rule)) return false
  const selectors = rule['clusterRoleSelectors']
  return Array.isArray(selectors) && selectors.length > 0
}

function checkBinding(authorizer: Authorizer, request: AdmissionRequest, binding: KubeObject): void {
  const { user, namespace } = request
  const ref = binding['roleRef'] as { readonly kind: string; readonly name: string }
  const plural = ref.kind === 'ClusterRole' ? 'clusterroles' : 'roles'
  if (
    authorizer.allows(user, { verb: 'bind', group: RBAC, resource: plural, subresource: '', namespace, name: ref.name })
  )
    return
  const rules = authorizer.rulesOfRef(ref, namespace)
  if (rules === undefined)
    throw forbidden(
      { group: RBAC, plural: request.served.type.plural },
      request.name,
      `${plural}.${RBAC} ${JSON.stringify(ref.name)} not found`,
    )
  refuseMissing(authorizer, request, rules)
}

function refuseMissing(
  authorizer: Authorizer,
  { user, namespace, served, name }: AdmissionRequest,
  wanted: readonly PolicyRule[],
): void {
  const held = authorizer.rulesFor(user, namespace)
  const missing = wanted.filter((r) => !coversRule(held, r))
  if (missing.length === 0) return
  const groups = `(groups=${goList(user.groups)})`
  throw forbidden(
    { group: RBAC, plural: served.type.plural },
    name,
    `user ${JSON.stringify(user.name)} ${groups} is attempting to grant RBAC permissions not currently held:\n${missing.map(ruleText).join('\n')}`,
  )
}

const goList = (list: readonly string[]): string => `[${list.map((s) => JSON.stringify(s)).join(' ')}]`

function ruleText(r: PolicyRule): string {
  const parts = [
    ['APIGroups', r.apiGroups],
    ['Resources', r.resources],
    ['ResourceNames', r.resourceNames],
    ['NonResourceURLs', r.nonResourceURLs],
    ['Verbs', r.verbs],
  ] as const
  return `{${parts
    .filter(([, list]) => list !== undefined && list.length > 0)
    .map(([name, list]) => `${name}:[${(list ?? []).map((s) => JSON.stringify(s)).join(', ')}]`)
    .join(', ')}}`
}

// Nobody gives what they do not have: roles and bindings may grant only what the writer holds, unless they may escalate or bind.
import { jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#schema/object.ts'
import { coversRule, RBAC, rulesOf, type Authorizer, type PolicyRule } from '../auth/authorizer.ts'
import { MASTERS } from '../auth/user.ts'
import { forbidden } from '../status/refusal.ts'
import type { AdmissionLink, AdmissionRequest } from './chain.ts'

const ROLES = new Set([`${RBAC}/roles`, `${RBAC}/clusterroles`])
const BOUND = new Set([`${RBAC}/rolebindings`, `${RBAC}/clusterrolebindings`])

export const escalationGuard = (authorizer: Authorizer): AdmissionLink => ({
  validate(request) {
    if (request.user.groups.includes(MASTERS) || request.object === undefined) return
    if (ROLES.has(request.served.resource)) checkRole(authorizer, request, request.object)
    else if (BOUND.has(request.served.resource)) checkBinding(authorizer, request, request.object)
  },
})

function checkRole(authorizer: Authorizer, request: AdmissionRequest, role: KubeObject): void {
  const { user, namespace, name, old, served } = request
  if (old !== undefined && jsonEqual(old['rules'], role['rules'])) return
  const plural = served.type.plural
  if (authorizer.allows(user, { verb: 'escalate', group: RBAC, resource: plural, subresource: '', namespace, name }))
    return
  refuseMissing(authorizer, request, rulesOf(role))
}

function checkBinding(authorizer: Authorizer, request: AdmissionRequest, binding: KubeObject): void {
  const { user, namespace, old } = request
  if (
    old !== undefined &&
    jsonEqual(old['roleRef'], binding['roleRef']) &&
    jsonEqual(old['subjects'], binding['subjects'])
  )
    return
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

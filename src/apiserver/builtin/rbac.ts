// Roles and their bindings.
import { isObject, jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { ageColumn, nameColumn, text } from './core-columns.ts'
import { invalid, notSupported, required, StructValue, type FieldProblem } from './field-problem.ts'
import type { BuiltinKind, BuiltinSchema, Draft } from './kind.ts'
import * as s from './shape.ts'

const GROUP = 'rbac.authorization.k8s.io'

const rule = s.struct('PolicyRule', {
  verbs: s.always(s.listOf(s.str)),
  apiGroups: s.listOf(s.str),
  resources: s.listOf(s.str),
  resourceNames: s.listOf(s.str),
  nonResourceURLs: s.listOf(s.str),
})
const subject = s.struct('Subject', { kind: s.always(s.str), apiGroup: s.str, name: s.always(s.str), namespace: s.str })
const roleRef: BuiltinSchema = s.struct(
  'RoleRef',
  { apiGroup: s.always(s.str), kind: s.always(s.str), name: s.always(s.str) },
  { 'x-kubernetes-map-type': 'atomic', 'x-go-field': 'always' },
)

type Fields = Readonly<Record<string, unknown>>
const listAt = (o: Fields, field: string): readonly Fields[] => {
  const v = o[field]
  return Array.isArray(v) ? v.filter(isObject) : []
}
const textsAt = (o: Fields, field: string): readonly string[] => {
  const v = o[field]
  return Array.isArray(v) ? v.map(String) : []
}

function ruleProblems(r: Fields, field: string, namespaced: boolean): FieldProblem[] {
  const out: FieldProblem[] = []
  const urls = textsAt(r, 'nonResourceURLs')
  const groups = textsAt(r, 'apiGroups')
  const resources = textsAt(r, 'resources')
  if (textsAt(r, 'verbs').length === 0) out.push(required(`${field}.verbs`, 'verbs must contain at least one value'))
  if (urls.length > 0) {
    if (namespaced)
      out.push(invalid(`${field}.nonResourceURLs`, urls, 'namespaced rules cannot apply to non-resource URLs'))
    if (groups.length + resources.length + textsAt(r, 'resourceNames').length > 0)
      out.push(
        invalid(`${field}.nonResourceURLs`, urls, 'rules cannot apply to both regular resources and non-resource URLs'),
      )
    return out
  }
  if (groups.length === 0) out.push(required(`${field}.apiGroups`, 'resource rules must supply at least one api group'))
  if (resources.length === 0)
    out.push(required(`${field}.resources`, 'resource rules must supply at least one resource'))
  return out
}

const rulesProblems = (o: KubeObject, namespaced: boolean): FieldProblem[] =>
  listAt(o, 'rules').flatMap((r, i) => ruleProblems(r, `rules[${i}]`, namespaced))

const role: BuiltinKind = {
  type: { group: GROUP, version: 'v1', kind: 'Role', plural: 'roles', namespaced: true },
  nameRule: 'pathSegment',
  createOnUpdate: true,
  schema: s.struct('Role', { rules: s.always(s.listOf(rule)) }),
  columns: [nameColumn, { ...text('Created At', (o) => o.metadata.creationTimestamp ?? null), type: 'date' }],
  validate: (o) => rulesProblems(o, true),
}

const clusterRole: BuiltinKind = {
  type: { group: GROUP, version: 'v1', kind: 'ClusterRole', plural: 'clusterroles', namespaced: false },
  nameRule: 'pathSegment',
  createOnUpdate: true,
  schema: s.struct('ClusterRole', {
    rules: s.always(s.listOf(rule)),
    aggregationRule: s.struct(
      'AggregationRule',
      { clusterRoleSelectors: s.listOf({ ...s.labelSelector, 'x-go-field': 'pointer' }) },
      { 'x-go-field': 'pointer' },
    ),
  }),
  columns: [nameColumn, { ...text('Created At', (o) => o.metadata.creationTimestamp ?? null), type: 'date' }],
  validate: (o) => [...rulesProblems(o, false), ...aggregationProblems(o)],
}

/** A rule that selects nothing is a mistake. */
function aggregationProblems(o: KubeObject): readonly FieldProblem[] {
  const rule = o['aggregationRule']
  if (!isObject(rule) || listAt(rule, 'clusterRoleSelectors').length > 0) return []
  return [
    required(
      'aggregationRule.clusterRoleSelectors',
      'at least one clusterRoleSelector required if aggregationRule is non-nil',
    ),
  ]
}

/** Groups that subjects and references are taken to mean. */
function withGroups(o: Draft): Draft {
  const ref = isObject(o['roleRef']) ? o['roleRef'] : {}
  const subjects = listAt(o, 'subjects').map((s) =>
    (s['kind'] === 'User' || s['kind'] === 'Group') && s['apiGroup'] === undefined ? { ...s, apiGroup: GROUP } : s,
  )
  const { subjects: _, ...rest } = o
  return {
    ...rest,
    ...(subjects.length === 0 ? {} : { subjects }),
    roleRef: { ...ref, apiGroup: ref['apiGroup'] === '' || ref['apiGroup'] === undefined ? GROUP : ref['apiGroup'] },
  }
}

function bindingProblems(o: KubeObject, old: KubeObject | undefined, kinds: readonly string[]): FieldProblem[] {
  const out: FieldProblem[] = []
  const ref = isObject(o['roleRef']) ? o['roleRef'] : {}
  if (ref['apiGroup'] !== GROUP) out.push(notSupported('roleRef.apiGroup', ref['apiGroup'], [GROUP]))
  if (!kinds.includes(String(ref['kind']))) out.push(notSupported('roleRef.kind', ref['kind'], kinds))
  if ((ref['name'] ?? '') === '') out.push(required('roleRef.name'))
  out.push(
    ...listAt(o, 'subjects').flatMap((s, i) =>
      subjectProblems(s, `subjects[${i}]`, o.metadata.namespace !== undefined),
    ),
  )
  if (old !== undefined && !jsonEqual(old['roleRef'], ref))
    out.push(
      invalid(
        'roleRef',
        new StructValue({ APIGroup: ref['apiGroup'], Kind: ref['kind'], Name: ref['name'] }),
        'cannot change roleRef',
      ),
    )
  return out
}

function subjectProblems(s: Fields, field: string, namespaced: boolean): FieldProblem[] {
  const out: FieldProblem[] = []
  const group = String(s['apiGroup'] ?? '')
  if ((s['name'] ?? '') === '') out.push(required(`${field}.name`))
  switch (s['kind']) {
    case 'ServiceAccount':
      if (group !== '') out.push(notSupported(`${field}.apiGroup`, group, ['']))
      if (!namespaced && (s['namespace'] ?? '') === '') out.push(required(`${field}.namespace`))
      break
    case 'User':
    case 'Group':
      if (group !== GROUP) out.push(notSupported(`${field}.apiGroup`, group, [GROUP]))
      break
    default:
      out.push(notSupported(`${field}.kind`, s['kind'], ['ServiceAccount', 'User', 'Group']))
  }
  return out
}

const names = (o: KubeObject, kind: string): string =>
  listAt(o, 'subjects')
    .filter((s) => s['kind'] === kind)
    .map((s) =>
      kind === 'ServiceAccount' ? `${String(s['namespace'] ?? '')}/${String(s['name'])}` : String(s['name']),
    )
    .join(', ')

const bindingColumns = [
  nameColumn,
  text('Role', (o) =>
    isObject(o['roleRef']) ? `${String(o['roleRef']['kind'])}/${String(o['roleRef']['name'])}` : '',
  ),
  ageColumn,
  text('Users', (o) => names(o, 'User'), 1),
  text('Groups', (o) => names(o, 'Group'), 1),
  text('ServiceAccounts', (o) => names(o, 'ServiceAccount'), 1),
]

/** Of one namespace or of the cluster, to roles of these kinds. */
const binding = (kind: string, namespaced: boolean, roles: readonly string[]): BuiltinKind => ({
  type: { group: GROUP, version: 'v1', kind, plural: `${kind.toLowerCase()}s`, namespaced },
  nameRule: 'pathSegment',
  createOnUpdate: true,
  schema: s.struct(kind, { subjects: s.listOf(subject), roleRef }),
  columns: bindingColumns,
  applyDefaults: withGroups,
  validate: (o, old) => bindingProblems(o, old, roles),
})

const roleBinding = binding('RoleBinding', true, ['Role', 'ClusterRole'])
const clusterRoleBinding = binding('ClusterRoleBinding', false, ['ClusterRole'])

export const rbacKinds = [role, clusterRole, roleBinding, clusterRoleBinding] as const

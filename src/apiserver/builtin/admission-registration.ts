// Admission registration: webhooks, and policies in CEL with their bindings. They take effect in src/apiserver/admission.
import type { KubeObject } from '#api/schema/object.ts'
import { serviceReferenceProblems } from '../schema/service-reference-problems.ts'
import { forbidden, invalid, notSupported, required } from './field-problem.ts'
import type { FieldProblem } from './field-problem.ts'
import { fields, listAt, specOf, text, textsAt } from './fields.ts'
import type { Fields } from './fields.ts'
import type { BuiltinKind, BuiltinSchema, Column, Draft } from './kind.ts'
import * as s from './shape.ts'
import { ageColumn, nameColumn } from './workload.ts'

const GROUP = 'admissionregistration.k8s.io'
const kind = (name: string, plural: string) =>
  ({ group: GROUP, version: 'v1', kind: name, plural, namespaced: false }) as const
const texts = s.listOf(s.str)

const ruleFields = {
  operations: texts,
  apiGroups: texts,
  apiVersions: texts,
  resources: texts,
  scope: s.withDefault(s.pointer(s.str), '*'),
}
const rule = s.struct('RuleWithOperations', ruleFields)
const namedRule = s.struct(
  'NamedRuleWithOperations',
  { resourceNames: texts, ...ruleFields },
  { 'x-kubernetes-map-type': 'atomic' },
)
const matchCondition = s.struct('MatchCondition', { name: s.always(s.str), expression: s.always(s.str) })
const selector: BuiltinSchema = { ...s.labelSelector, default: {} }

const clientConfig = s.struct('WebhookClientConfig', {
  url: s.pointer(s.str),
  service: s.pointer(
    s.struct('ServiceReference', {
      namespace: s.always(s.str),
      name: s.always(s.str),
      path: s.pointer(s.str),
      port: s.withDefault(s.pointer(s.int32), 443),
    }),
  ),
  caBundle: s.bytes,
})

const webhookFields = {
  name: s.always(s.str),
  clientConfig: s.always(clientConfig),
  rules: s.listOf(rule),
  failurePolicy: s.withDefault(s.pointer(s.str), 'Fail'),
  matchPolicy: s.withDefault(s.pointer(s.str), 'Equivalent'),
  namespaceSelector: selector,
  objectSelector: selector,
  sideEffects: s.always(s.pointer(s.str)),
  timeoutSeconds: s.withDefault(s.pointer(s.int32), 10),
  admissionReviewVersions: s.always(texts),
  matchConditions: s.mapList(['name'], matchCondition),
}

const MAX_TIMEOUT_SECONDS = 30
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  failurePolicy: ['Fail', 'Ignore'],
  matchPolicy: ['Equivalent', 'Exact'],
  reinvocationPolicy: ['IfNeeded', 'Never'],
}

function webhookProblems(o: KubeObject): readonly FieldProblem[] {
  const seen = new Set<string>()
  return listAt(o, 'webhooks').flatMap((w, i) => {
    const at = `webhooks[${i}]`
    const out: FieldProblem[] = []
    const name = text(w['name'])
    if (name === '') out.push(required(`${at}.name`))
    else if (name.split('.').length < 3)
      out.push(invalid(`${at}.name`, name, 'should be a domain with at least three segments separated by dots'))
    if (seen.has(name)) out.push({ ...invalid(`${at}.name`, name, ''), type: 'FieldValueDuplicate' })
    seen.add(name)
    if (textsAt(w, 'admissionReviewVersions').length === 0)
      out.push(required(`${at}.admissionReviewVersions`, 'must specify one of v1, v1beta1'))
    const effects = text(w['sideEffects'])
    if (effects === '') out.push(required(`${at}.sideEffects`, 'must specify one of None, NoneOnDryRun'))
    else if (!['None', 'NoneOnDryRun'].includes(effects))
      out.push(notSupported(`${at}.sideEffects`, effects, ['None', 'NoneOnDryRun']))
    const client = fields(w['clientConfig'])
    if ((client['url'] === undefined) === (client['service'] === undefined)) {
      out.push(required(`${at}.clientConfig`, 'exactly one of url or service is required'))
    }
    out.push(...urlProblems(client['url'], `${at}.clientConfig.url`))
    if (client['service'] !== undefined)
      out.push(...serviceReferenceProblems(fields(client['service']), `${at}.clientConfig.service`))
    listAt(w, 'rules').forEach((r, j) => out.push(...ruleProblems(r, `${at}.rules[${j}]`)))
    for (const [field, values] of Object.entries(CHOICES)) {
      const chosen = w[field]
      if (chosen !== undefined && !values.includes(text(chosen)))
        out.push(notSupported(`${at}.${field}`, chosen, values))
    }
    const timeout = w['timeoutSeconds']
    if (typeof timeout === 'number' && (timeout < 1 || timeout > MAX_TIMEOUT_SECONDS))
      out.push(invalid(`${at}.timeoutSeconds`, timeout, 'the timeout value must be between 1 and 30 seconds'))
    return out
  })
}

const URL_FORM = 'desired format: https://host[/path]'

function urlProblems(url: unknown, field: string): FieldProblem[] {
  if (url === undefined) return []
  const parsed = URL.parse(text(url))
  if (parsed === null) return [invalid(field, url, `url must be a valid URL; ${URL_FORM}`)]
  const scheme = parsed.protocol.slice(0, -1)
  const out: FieldProblem[] = []
  if (scheme !== 'https') out.push(invalid(field, scheme, `'https' is the only allowed URL scheme; ${URL_FORM}`))
  if (parsed.host === '') out.push(invalid(field, parsed.host, `host must be specified; ${URL_FORM}`))
  if (parsed.username !== '') out.push(invalid(field, parsed.username, 'user information is not permitted in the URL'))
  if (parsed.hash !== '') out.push(invalid(field, parsed.hash.slice(1), 'fragments are not permitted in the URL'))
  if (parsed.search !== '')
    out.push(invalid(field, parsed.search.slice(1), 'query parameters are not permitted in the URL'))
  return out
}

const webhookKind = (
  name: string,
  plural: string,
  goName: string,
  more: Record<string, BuiltinSchema>,
): BuiltinKind => ({
  type: kind(name, plural),
  categories: ['api-extensions'],
  generation: true,
  schema: {
    type: 'object',
    properties: { webhooks: s.mapList(['name'], s.struct(goName, { ...webhookFields, ...more })) },
  },
  columns: [nameColumn, { name: 'Webhooks', type: 'integer', cell: (o) => listAt(o, 'webhooks').length }, ageColumn],
  validate: webhookProblems,
})

const matchResources = s.struct(
  'MatchResources',
  {
    namespaceSelector: selector,
    objectSelector: selector,
    resourceRules: s.listOf(namedRule),
    excludeResourceRules: s.listOf(namedRule),
    matchPolicy: s.withDefault(s.pointer(s.str), 'Equivalent'),
  },
  { 'x-kubernetes-map-type': 'atomic', 'x-go-field': 'pointer' },
)

const policyProblems = (o: KubeObject): readonly FieldProblem[] => {
  const spec = specOf(o)
  const out: FieldProblem[] = []
  if (listAt(spec, 'validations').length === 0 && listAt(spec, 'auditAnnotations').length === 0) {
    out.push(required('spec.validations', 'validations or auditAnnotations must contain at least one item'))
    out.push(required('spec.auditAnnotations', 'validations or auditAnnotations must contain at least one item'))
  }
  out.push(...constraintProblems(spec), ...variableProblems(spec))
  listAt(spec, 'validations').forEach((v, i) => {
    if (text(v['expression']).trim() === '')
      out.push(required(`spec.validations[${i}].expression`, 'expression is not specified'))
    const { reason } = v
    if (reason !== undefined && !REASONS.includes(text(reason)))
      out.push(notSupported(`spec.validations[${i}].reason`, reason, REASONS))
  })
  return out
}

/** Allowed reasons of a refusal: clients act on these words. */
const REASONS = ['Forbidden', 'Invalid', 'RequestEntityTooLarge']

/** What a policy must be meant for. */
function constraintProblems(spec: Fields): FieldProblem[] {
  const constraints = fields(spec['matchConstraints'])
  const rules = listAt(constraints, 'resourceRules')
  if (spec['matchConstraints'] === undefined) return [required('spec.matchConstraints')]
  if (rules.length === 0) return [required('spec.matchConstraints.resourceRules')]
  return rules.flatMap((r, i) => ruleProblems(r, `spec.matchConstraints.resourceRules[${i}]`))
}

/** A wildcard makes other entries redundant, so it must be the only one. */
function resourcesProblem(resources: readonly string[]): string | undefined {
  if (resources.length > 1 && resources.includes('*/*')) return "if '*/*' is present, must not specify other resources"
  const plain = resources.filter((r) => !r.includes('/'))
  if (plain.length > 1 && plain.includes('*'))
    return "if '*' is present, must not specify other resources without subresources"
  const whole = new Set(resources.filter((r) => r.endsWith('/*')).map((r) => r.slice(0, -2)))
  const parts = new Set(resources.filter((r) => r.startsWith('*/')).map((r) => r.slice(2)))
  for (const r of resources) {
    const [resource = '', sub] = r.split('/')
    if (sub === undefined || resource === '*' || sub === '*') continue
    if (whole.has(resource)) return `if '${resource}/*' is present, must not specify ${r}`
    if (parts.has(sub)) return `if '*/${sub}' is present, must not specify ${r}`
  }
  return undefined
}

const RESERVED: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)

/** Expressions read variables by their names. */
const variableProblems = (spec: Fields): FieldProblem[] =>
  listAt(spec, 'variables').flatMap((v, i) => {
    const at = `spec.variables[${i}]`
    const name = text(v['name'])
    const out: FieldProblem[] = []
    if (name === '') out.push(required(`${at}.name`, 'name is not specified'))
    else if (!/^[_a-zA-Z]\w*$/.test(name) || RESERVED.has(name))
      out.push(invalid(`${at}.name`, name, 'must be a valid CEL identifier'))
    if (text(v['expression']).trim() === '') out.push(required(`${at}.expression`, 'expression is not specified'))
    return out
  })

const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']

function ruleProblems(r: Fields, at: string): FieldProblem[] {
  const out: FieldProblem[] = []
  for (const field of ['operations', 'apiGroups', 'apiVersions', 'resources']) {
    if (textsAt(r, field).length === 0) out.push(required(`${at}.${field}`))
  }
  const resources = resourcesProblem(textsAt(r, 'resources'))
  if (resources !== undefined) out.push(invalid(`${at}.resources`, textsAt(r, 'resources'), resources))
  textsAt(r, 'operations').forEach((op, i) => {
    if (!OPERATIONS.includes(op)) out.push(notSupported(`${at}.operations[${i}]`, op, OPERATIONS))
  })
  return out
}

const paramKind = s.pointer(
  s.struct('ParamKind', { apiVersion: s.str, kind: s.str }, { 'x-kubernetes-map-type': 'atomic' }),
)

const variables = s.mapList(
  ['name'],
  s.struct('Variable', { name: s.always(s.str), expression: s.always(s.str) }, { 'x-kubernetes-map-type': 'atomic' }),
)

const paramRef = s.pointer(
  s.struct(
    'ParamRef',
    { name: s.str, namespace: s.str, selector: s.labelSelector, parameterNotFoundAction: s.pointer(s.str) },
    { 'x-kubernetes-map-type': 'atomic' },
  ),
)

const paramKindColumn: Column = {
  name: 'ParamKind',
  type: 'string',
  cell: (o) => {
    const p = fields(specOf(o)['paramKind'])
    return p['kind'] === undefined ? '<unset>' : `${text(p['apiVersion'])}/${text(p['kind'])}`
  },
}

const bindingColumns: readonly Column[] = [
  nameColumn,
  { name: 'PolicyName', type: 'string', cell: (o) => text(specOf(o)['policyName']) },
  {
    name: 'ParamRef',
    type: 'string',
    cell: (o) => {
      const p = fields(specOf(o)['paramRef'])
      return p['name'] === undefined ? '<unset>' : `${text(p['namespace']) || '*'}/${text(p['name'])}`
    },
  },
  ageColumn,
]

const validatingAdmissionPolicy: BuiltinKind = {
  type: kind('ValidatingAdmissionPolicy', 'validatingadmissionpolicies'),
  subresources: ['status'],
  categories: ['api-extensions'],
  generation: true,
  schema: s.specAndStatus(
    s.struct('ValidatingAdmissionPolicySpec', {
      paramKind,
      matchConstraints: matchResources,
      validations: s.listOf(
        s.struct('Validation', {
          expression: s.always(s.str),
          message: s.str,
          reason: s.pointer(s.str),
          messageExpression: s.str,
        }),
      ),
      failurePolicy: s.withDefault(s.pointer(s.str), 'Fail'),
      auditAnnotations: s.listOf(
        s.struct('AuditAnnotation', { key: s.always(s.str), valueExpression: s.always(s.str) }),
      ),
      matchConditions: s.mapList(['name'], matchCondition),
      variables,
    }),
    s.struct('ValidatingAdmissionPolicyStatus', {
      observedGeneration: s.int64,
      typeChecking: s.pointer(
        s.struct('TypeChecking', {
          expressionWarnings: s.listOf(
            s.struct('ExpressionWarning', { fieldRef: s.always(s.str), warning: s.always(s.str) }),
          ),
        }),
      ),
      conditions: s.conditions,
    }),
  ),
  columns: [
    nameColumn,
    { name: 'Validations', type: 'integer', cell: (o) => listAt(specOf(o), 'validations').length },
    paramKindColumn,
    ageColumn,
  ],
  prepareForCreate: (o: Draft) => ({ ...o, status: {} }),
  validate: policyProblems,
}

const ACTIONS = ['Audit', 'Deny', 'Warn']

const validatingAdmissionPolicyBinding: BuiltinKind = {
  type: kind('ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings'),
  categories: ['api-extensions'],
  generation: true,
  schema: s.specOnly(
    s.struct('ValidatingAdmissionPolicyBindingSpec', {
      policyName: s.str,
      paramRef,
      matchResources,
      validationActions: s.listOf(s.str, { 'x-kubernetes-list-type': 'set' }),
    }),
  ),
  columns: bindingColumns,
  validate: (o) => {
    const spec = specOf(o)
    const actions = textsAt(spec, 'validationActions')
    const out: FieldProblem[] = []
    if (text(spec['policyName']) === '') out.push(required('spec.policyName'))
    if (actions.length === 0) out.push(required('spec.validationActions', 'at least one validation action is required'))
    actions.forEach((a, i) => {
      if (!ACTIONS.includes(a)) out.push(notSupported(`spec.validationActions[${i}]`, a, ACTIONS))
    })
    if (actions.includes('Deny') && actions.includes('Warn')) {
      out.push(
        invalid(
          'spec.validationActions',
          actions,
          'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
        ),
      )
    }
    return [...out, ...paramRefProblems(spec['paramRef'])]
  },
}

/** Parameters are found by name or by selector, and the policy defines what happens if there are none. */
function paramRefProblems(paramRef: unknown): FieldProblem[] {
  if (paramRef === undefined) return []
  const p = fields(paramRef)
  const both = text(p['name']) !== '' && p['selector'] !== undefined
  const neither = text(p['name']) === '' && p['selector'] === undefined
  const exclusive = 'name and selector are mutually exclusive'
  const action = p['parameterNotFoundAction']
  return [
    ...(both ? [forbidden('spec.paramRef.name', exclusive), forbidden('spec.paramRef.selector', exclusive)] : []),
    ...(neither ? [required('spec.paramRef', 'one of name or selector must be specified')] : []),
    ...(action === undefined ? [required('spec.paramRef.parameterNotFoundAction')] : []),
    ...(action === undefined || action === 'Deny' || action === 'Allow'
      ? []
      : [notSupported('spec.paramRef.parameterNotFoundAction', action, ['Deny', 'Allow'])]),
  ]
}

export const admissionKinds = [
  webhookKind('ValidatingWebhookConfiguration', 'validatingwebhookconfigurations', 'ValidatingWebhook', {}),
  webhookKind('MutatingWebhookConfiguration', 'mutatingwebhookconfigurations', 'MutatingWebhook', {
    reinvocationPolicy: s.withDefault(s.pointer(s.str), 'Never'),
  }),
  validatingAdmissionPolicy,
  validatingAdmissionPolicyBinding,
] as const

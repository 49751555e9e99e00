// Mutating policies in CEL and their bindings. They take effect in src/apiserver/admission.
import type { KubeObject } from '#api/schema/object.ts'
import {
  bindingColumns,
  constraintProblems,
  kind,
  matchCondition,
  matchResources,
  paramKind,
  paramKindColumn,
  paramRef,
  paramRefProblems,
  variableProblems,
  variables,
} from './admission-registration.ts'
import { invalid, notSupported, required } from './field-problem.ts'
import type { FieldProblem } from './field-problem.ts'
import { fields, listAt, specOf, text, textsAt } from './fields.ts'
import type { Fields } from './fields.ts'
import type { BuiltinKind } from './kind.ts'
import * as s from './shape.ts'
import { ageColumn, nameColumn } from './workload.ts'

const expression = { expression: s.str }

/** A deletion has no object to change. */
const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'UPDATE']

const operationProblems = (match: unknown, at: string): readonly FieldProblem[] =>
  listAt(fields(match), 'resourceRules')
    .flatMap((rule) => textsAt(rule, 'operations'))
    .filter((operation) => !OPERATIONS.includes(operation))
    .map((operation) => notSupported(`${at}.resourceRules.operations`, operation, OPERATIONS))

const PARTS = { ApplyConfiguration: 'applyConfiguration', JSONPatch: 'jsonPatch' } as const

function mutationProblems(m: Fields, at: string): readonly FieldProblem[] {
  const type = text(m['patchType'])
  if (type === '') return [required(`${at}.patchType`)]
  if (type !== 'ApplyConfiguration' && type !== 'JSONPatch')
    return [notSupported(`${at}.patchType`, type, Object.keys(PARTS))]
  const [own, other] =
    type === 'JSONPatch'
      ? (['jsonPatch', 'applyConfiguration'] as const)
      : (['applyConfiguration', 'jsonPatch'] as const)
  const out: FieldProblem[] = []
  if (m[own] === undefined) out.push(required(`${at}.${own}`, `must be specified when patchType is ${type}`))
  else if (text(fields(m[own])['expression']).trim() === '') out.push(required(`${at}.${own}.expression`))
  if (m[other] !== undefined)
    out.push(invalid(`${at}.${other}`, `{${other}}`, `must not be specified when patchType is ${type}`))
  return out
}

const FAILURE_POLICIES = ['Fail', 'Ignore']
const REINVOCATIONS = ['Never', 'IfNeeded']

function policyProblems(o: KubeObject): readonly FieldProblem[] {
  const spec = specOf(o)
  const out: FieldProblem[] = []
  const failure = text(spec['failurePolicy'])
  if (!FAILURE_POLICIES.includes(failure)) out.push(notSupported('spec.failurePolicy', failure, FAILURE_POLICIES))
  out.push(...constraintProblems(spec), ...operationProblems(spec['matchConstraints'], 'spec.matchConstraints'))
  out.push(...variableProblems(spec))
  const mutations = listAt(spec, 'mutations')
  if (mutations.length === 0) out.push(required('spec.mutations', 'mutations must contain at least one item'))
  mutations.forEach((m, i) => out.push(...mutationProblems(m, `spec.mutations[${i}]`)))
  const reinvocation = text(spec['reinvocationPolicy'])
  if (reinvocation === '') out.push(required('spec.reinvocationPolicy'))
  else if (!REINVOCATIONS.includes(reinvocation))
    out.push(notSupported('spec.reinvocationPolicy', reinvocation, REINVOCATIONS))
  return out
}

const mutatingAdmissionPolicy: BuiltinKind = {
  type: kind('MutatingAdmissionPolicy', 'mutatingadmissionpolicies'),
  categories: ['api-extensions'],
  generation: true,
  schema: s.specOnly(
    s.struct('MutatingAdmissionPolicySpec', {
      paramKind,
      matchConstraints: matchResources,
      variables,
      mutations: s.listOf(
        s.struct('Mutation', {
          patchType: s.always(s.str),
          applyConfiguration: s.pointer(s.struct('ApplyConfiguration', expression)),
          jsonPatch: s.pointer(s.struct('JSONPatch', expression)),
        }),
      ),
      failurePolicy: s.withDefault(s.pointer(s.str), 'Fail'),
      matchConditions: s.mapList(['name'], matchCondition),
      reinvocationPolicy: s.str,
    }),
  ),
  columns: [
    nameColumn,
    { name: 'Mutations', type: 'integer', cell: (o) => listAt(specOf(o), 'mutations').length },
    paramKindColumn,
    ageColumn,
  ],
  validate: policyProblems,
}

const mutatingAdmissionPolicyBinding: BuiltinKind = {
  type: kind('MutatingAdmissionPolicyBinding', 'mutatingadmissionpolicybindings'),
  categories: ['api-extensions'],
  generation: true,
  schema: s.specOnly(s.struct('MutatingAdmissionPolicyBindingSpec', { policyName: s.str, paramRef, matchResources })),
  columns: bindingColumns,
  validate: (o) => {
    const spec = specOf(o)
    return [
      ...(text(spec['policyName']) === '' ? [required('spec.policyName')] : []),
      ...paramRefProblems(spec['paramRef']),
      ...operationProblems(spec['matchResources'], 'spec.matchResources'),
    ]
  },
}

export const mutatingPolicyKinds = [mutatingAdmissionPolicy, mutatingAdmissionPolicyBinding] as const

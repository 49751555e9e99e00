import { describe, expect, it } from 'vitest'
import { fieldErrorLine } from '../field-error.ts'
import {
  AdmissionEvaluation,
  type AdmissionInput,
  type AdmissionScope,
  admissionScope,
  compileAdmission,
  matchConditions,
} from './admission.ts'
import type { CelProgram } from './cel.ts'

const input: AdmissionInput = {
  object: { metadata: { name: 'a', labels: { app: 'x' } }, spec: { replicas: 3, port: '80%' } },
  oldObject: null,
  request: { operation: 'CREATE', name: 'a', userInfo: { username: 'u', groups: ['g'] }, dryRun: false },
  namespaceObject: { metadata: { name: 'ns', labels: { env: 'prod' } } },
  params: { max: 2 },
}

function compile(expression: string, scope: AdmissionScope): CelProgram {
  const compiled = compileAdmission(
    expression,
    scope,
    ['bool', 'string', 'int', 'dyn'],
    'spec.validations[0].expression',
  )
  if (!compiled.ok) throw new Error(fieldErrorLine(compiled.problem))
  return compiled.program
}

const plain = admissionScope({ hasParams: true })

const HOLDS: readonly string[] = [
  'object.spec.replicas == 3',
  'oldObject == null',
  'object != null && has(object.metadata.labels) && object.metadata.labels.app == "x"',
  'request.operation == "CREATE" && "g" in request.userInfo.groups',
  'namespaceObject.metadata.labels["env"] == "prod"',
  'object.spec.replicas > params.max',
  'object.spec.?replicas.orValue(1) == 3',
  'type(object.spec.port) == string',
  '!has(request.subResource)',
]

describe('expressions of admission', () => {
  it.each(HOLDS)('%s', (expression) => {
    const result = new AdmissionEvaluation(plain, input).run(compile(expression, plain))
    expect(result).toEqual({ ok: true, value: true })
  })

  it('an error names the expression', () => {
    const result = new AdmissionEvaluation(plain, input).run(compile('object.spec.zz == 1', plain))
    expect(result).toEqual({ ok: false, error: "expression 'object.spec.zz == 1' resulted in error: no such key: zz" })
  })

  it('params and variables are unknown where there are none', () => {
    const scope = admissionScope({})
    for (const name of ['params', 'variables']) {
      const compiled = compileAdmission(`${name}.x == 1`, scope, ['bool'], 'spec.validations[0].expression')
      expect(compiled).toMatchObject({ ok: false })
      if (!compiled.ok)
        expect(fieldErrorLine(compiled.problem)).toContain(
          `spec.validations[0].expression: Invalid value: "${name}.x == 1": compilation failed: ERROR: <input>:1:1: undeclared reference to '${name}'`,
        )
    }
  })

  it('the value must be of the right type', () => {
    const compiled = compileAdmission('1', plain, ['bool'], 'e')
    expect(compiled.ok ? '' : compiled.problem.detail).toBe('must evaluate to bool but got int')
    const several = compileAdmission('1', plain, ['string', 'null'], 'e')
    expect(several.ok ? '' : several.problem.detail).toBe('must evaluate to one of [string null_type] but got int')
  })
})

describe('variables', () => {
  const scope = admissionScope({
    variables: [
      { name: 'replicas', expression: 'object.spec.replicas' },
      { name: 'twice', expression: 'variables.replicas * 2' },
      { name: 'bad', expression: 'object.spec.zz' },
    ],
  })

  it('read those before them', () => {
    expect(scope.problems).toEqual([])
    const evaluation = new AdmissionEvaluation(scope, input)
    expect(evaluation.run(compile('variables.twice == 6', scope))).toEqual({ ok: true, value: true })
  })

  it('fail only who reads them', () => {
    const evaluation = new AdmissionEvaluation(scope, input)
    expect(evaluation.run(compile('variables.twice == 6 || variables.bad == 1', scope))).toEqual({
      ok: true,
      value: true,
    })
    expect(evaluation.run(compile('variables.bad == 1', scope))).toEqual({
      ok: false,
      error: `expression 'variables.bad == 1' resulted in error: composited variable "bad" fails to evaluate: no such key: zz`,
    })
  })

  it('are paid for when first read', () => {
    const evaluation = new AdmissionEvaluation(scope, input, 14)
    expect(evaluation.run(compile('variables.replicas == 3', scope))).toMatchObject({ ok: true })
    expect(evaluation.run(compile('variables.replicas == 3', scope))).toMatchObject({ ok: true })
    expect(evaluation.run(compile('variables.twice == 6', scope))).toEqual({
      ok: false,
      error: 'validation failed due to running out of cost budget, no further validation rules will be run',
    })
  })

  it('that do not compile, or come later, are problems', () => {
    const { problems } = admissionScope({
      variables: [
        { name: 'a', expression: 'variables.b' },
        { name: 'b', expression: '1 +' },
      ],
    })
    expect(problems.map((p) => p.field)).toEqual(['spec.variables[0].expression', 'spec.variables[1].expression'])
    expect(problems[0]?.detail).toContain("undefined field 'b'")
  })
})

describe('match conditions', () => {
  const match = (...expressions: readonly string[]) => {
    const conditions = expressions.map((e, i) => ({ name: `c${i}`, program: compile(e, plain) }))
    return matchConditions(conditions, new AdmissionEvaluation(plain, input))
  }

  it('all must hold', () => {
    expect(match('true', 'object.spec.replicas == 3')).toEqual({ matches: true })
    expect(match('true', 'false')).toEqual({ matches: false })
    expect(match()).toEqual({ matches: true })
  })

  it('one false decides over failures', () => {
    expect(match('object.zz == 1', 'false')).toEqual({ matches: false })
    expect(match('object.zz == 1', 'true')).toEqual({
      error: "expression 'object.zz == 1' resulted in error: no such key: zz",
    })
  })
})

// A compiled ValidatingAdmissionPolicy: its expressions, compiled once, and the problems that make it invalid.
import type { FieldError } from '../schema/field-error.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { isObject } from '#lib/json.ts'
import {
  admissionScope,
  compileAdmission,
  withoutAuthorizer,
  type AdmissionScope,
  type MatchCondition,
} from '../machinery.ts'

type Fields = Readonly<Record<string, unknown>>
export const fields = (v: unknown): Fields => (isObject(v) ? v : {})
export const listOfFields = (v: unknown): readonly Fields[] => (Array.isArray(v) ? v.filter(isObject) : [])
export const word = (v: unknown): string => (typeof v === 'string' ? v : '')

type Program = MatchCondition['program']

export interface CompiledValidation {
  readonly program: Program
  readonly expression: string
  readonly message: string
  readonly messageProgram: Program | undefined
  readonly reason: string
}

interface CompiledAnnotation {
  readonly key: string
  readonly program: Program
}

export interface CompiledPolicy {
  readonly name: string
  readonly spec: Fields
  readonly scope: AdmissionScope
  readonly conditions: readonly MatchCondition[]
  readonly validations: readonly CompiledValidation[]
  readonly annotations: readonly CompiledAnnotation[]
  readonly ignoresFailure: boolean
  readonly problems: readonly FieldError[]
}

export function compilePolicy(policy: KubeObject): CompiledPolicy {
  const spec = fields(policy['spec'])
  const variables = listOfFields(spec['variables']).map((v) => ({
    name: word(v['name']),
    expression: word(v['expression']),
  }))
  const scope = admissionScope({ hasParams: spec['paramKind'] !== undefined, variables })
  const problems: FieldError[] = [...scope.problems]
  const compile = (
    expression: unknown,
    kinds: readonly ('bool' | 'string' | 'null')[],
    path: string,
    seen: AdmissionScope = scope,
  ): Program | undefined => {
    const compiled = compileAdmission(word(expression), seen, kinds, path)
    if (compiled.ok) return compiled.program
    problems.push(compiled.problem)
    return undefined
  }
  const conditions = listOfFields(spec['matchConditions']).flatMap((c, i) => {
    const program = compile(c['expression'], ['bool'], `spec.matchConditions[${i}].expression`)
    return program === undefined ? [] : [{ name: word(c['name']), program }]
  })
  const validations = listOfFields(spec['validations']).flatMap((v, i): readonly CompiledValidation[] => {
    const at = `spec.validations[${i}]`
    const program = compile(v['expression'], ['bool'], `${at}.expression`)
    const messageProgram =
      word(v['messageExpression']) === ''
        ? undefined
        : compile(v['messageExpression'], ['string'], `${at}.messageExpression`, withoutAuthorizer(scope))
    if (program === undefined) return []
    return [
      {
        program,
        expression: word(v['expression']),
        message: word(v['message']),
        messageProgram,
        reason: word(v['reason']) || 'Invalid',
      },
    ]
  })
  const annotations = listOfFields(spec['auditAnnotations']).flatMap((a, i): readonly CompiledAnnotation[] => {
    const program = compile(a['valueExpression'], ['string', 'null'], `spec.auditAnnotations[${i}].valueExpression`)
    return program === undefined ? [] : [{ key: word(a['key']), program }]
  })
  return {
    name: policy.metadata.name ?? '',
    spec,
    scope,
    conditions,
    validations,
    annotations,
    ignoresFailure: spec['failurePolicy'] === 'Ignore',
    problems,
  }
}

// Expressions of admission: variables that are computed when first read and once, match conditions, validations, audit annotations.
// Compiles them as a policy or a webhook has them, and evaluates a list of them within one budget.
import { Effort } from '#lib/effort.ts'
import { type FieldError, invalid } from '../field-error.ts'
import { VALIDATION_EFFORT } from '../validation-effort.ts'
import { admissionEnv } from './admission-types.ts'
import { type CelEnv, type CelLibrary, type CelProgram, compileCel, evaluateCel } from './cel.ts'
import { type CelType, formatType, type ObjectField, objectOf } from './types.ts'
import { CelError, CelObject, type CelValue } from './values.ts'

interface NamedExpression {
  readonly name: string
  readonly expression: string
}

/** The names that later expressions of a policy see, with the programs of its variables. */
export interface AdmissionScope {
  readonly env: CelEnv
  readonly variables: ReadonlyMap<string, CelProgram>
  readonly problems: readonly FieldError[]
}

export interface ScopeOptions {
  readonly hasParams?: boolean
  /** In order: each may read those before it. */
  readonly variables?: readonly NamedExpression[]
  /** Extra functions of these expressions. */
  readonly library?: CelLibrary
  /** Where the variables stand, for problems: `spec.variables`. */
  readonly path?: string
}

export function admissionScope({
  hasParams = false,
  variables = [],
  library,
  path = 'spec.variables',
}: ScopeOptions): AdmissionScope {
  const base = { ...admissionEnv(hasParams), ...(library === undefined ? {} : { library }) }
  if (variables.length === 0) return { env: base, variables: new Map(), problems: [] }
  const fields = new Map<string, ObjectField>()
  const env: CelEnv = { ...base, variables: { ...base.variables, variables: objectOf('kubernetes.variables', fields) } }
  const programs = new Map<string, CelProgram>()
  const problems: FieldError[] = []
  variables.forEach(({ name, expression }, i) => {
    const compiled = compileCel(expression, env)
    if (compiled.ok) {
      programs.set(name, compiled.program)
      fields.set(name, { name, type: compiled.program.type })
    } else problems.push(invalid(`${path}[${i}].expression`, expression, `compilation failed: ${compiled.problems}`))
  })
  return { env, variables: programs, problems }
}

/** For messages: they are built after the decision, and make no requests. */
export function withoutAuthorizer(scope: AdmissionScope): AdmissionScope {
  const { authorizer: _, ...variables } = scope.env.variables
  return { ...scope, env: { ...scope.env, variables } }
}

export type Compiled =
  | { readonly ok: true; readonly program: CelProgram }
  | { readonly ok: false; readonly problem: FieldError }

/** Compiles one expression of a policy; its value must be of one of the kinds. */
export function compileAdmission(
  expression: string,
  scope: AdmissionScope,
  kinds: readonly CelType['kind'][],
  path: string,
): Compiled {
  const compiled = compileCel(expression, scope.env)
  if (!compiled.ok) return { ok: false, problem: invalid(path, expression, `compilation failed: ${compiled.problems}`) }
  const { type } = compiled.program
  if (kinds.includes(type.kind)) return compiled
  const names = kinds.map((kind) => (kind === 'null' ? 'null_type' : kind))
  const wanted = names.length === 1 ? names[0] : `one of [${names.join(' ')}]`
  return { ok: false, problem: invalid(path, expression, `must evaluate to ${wanted} but got ${formatType(type)}`) }
}

/** As data of the API; null where there is none (the object of a deletion, the old object of a creation). */
export interface AdmissionInput {
  readonly object: unknown
  readonly oldObject: unknown
  readonly request: unknown
  readonly namespaceObject?: unknown
  readonly params?: unknown
  /** Made by `authorizerValue`; an expression that reads it fails without. */
  readonly authorizer?: CelValue
}

export type AdmissionResult =
  | { readonly ok: true; readonly value: CelValue }
  /** `expression '…' resulted in error: no such key: x` */
  | { readonly ok: false; readonly error: string }

/** Evaluates expressions over one input and one budget; the variables keep their values from one to the next. */
export class AdmissionEvaluation {
  readonly #values: Record<string, unknown>
  readonly #lazy: LazyVariables
  #left: number
  readonly #effort = new Effort(VALIDATION_EFFORT)

  constructor(scope: AdmissionScope, input: AdmissionInput, budget = BINDING_BUDGET) {
    const { object, oldObject, request, namespaceObject = null, params = null } = input
    this.#values = { object, oldObject, request, namespaceObject, params }
    if (input.authorizer !== undefined) this.#values['authorizer'] = input.authorizer
    this.#lazy = new LazyVariables(scope, this.#values, this.#effort)
    this.#values['variables'] = this.#lazy
    this.#left = budget
  }

  get isOutOfBudget(): boolean {
    return this.#left < 0
  }

  run(program: CelProgram): AdmissionResult {
    if (this.isOutOfBudget) return { ok: false, error: OUT_OF_BUDGET }
    const outcome = evaluateCel(program, this.#values, { effort: this.#effort })
    this.#left -= outcome.cost + this.#lazy.takeCost()
    if (this.isOutOfBudget) return { ok: false, error: OUT_OF_BUDGET }
    if (outcome.ok) return { ok: true, value: outcome.value }
    return { ok: false, error: `expression '${program.expression}' resulted in error: ${outcome.error}` }
  }
}

/**
 * What all expressions of one policy binding may cost together, as on the real server: a question to the authorizer counts 350,000 although it takes
 * microseconds, and our own policies ask one for each Secret that a source names. Administrators write policies, and patterns have their own bound.
 */
const BINDING_BUDGET = 10_000_000

const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run'

/** `variables.x`: computed when first read. A variable reads only those before it, so there is no circle. */
class LazyVariables extends CelObject {
  readonly #programs: ReadonlyMap<string, CelProgram>
  readonly #inputs: Readonly<Record<string, unknown>>
  readonly #effort: Effort
  readonly #values = new Map<string, CelValue>()
  #cost = 0

  constructor(scope: AdmissionScope, inputs: Readonly<Record<string, unknown>>, effort: Effort) {
    super({}, objectOf('kubernetes.variables', new Map()), () => null)
    this.#programs = scope.variables
    this.#inputs = inputs
    this.#effort = effort
  }

  takeCost(): number {
    const cost = this.#cost
    this.#cost = 0
    return cost
  }

  override get(name: string): CelValue | undefined {
    const program = this.#programs.get(name)
    if (program === undefined) return undefined
    const known = this.#values.get(name)
    if (known !== undefined) return known
    const outcome = evaluateCel(program, this.#inputs, { effort: this.#effort })
    this.#cost += outcome.cost
    const value = outcome.ok
      ? outcome.value
      : new CelError(`composited variable "${name}" fails to evaluate: ${outcome.error}`)
    this.#values.set(name, value)
    return value
  }
}

export interface MatchCondition {
  readonly name: string
  readonly program: CelProgram
}

export type Matched = { readonly matches: boolean } | { readonly error: string }

/** One false decides, regardless of failures; a failure counts only without a false. */
export function matchConditions(conditions: readonly MatchCondition[], evaluation: AdmissionEvaluation): Matched {
  const errors: string[] = []
  for (const { program } of conditions) {
    const result = evaluation.run(program)
    if (!result.ok && evaluation.isOutOfBudget) return { error: result.error }
    if (!result.ok) errors.push(result.error)
    else if (result.value === false) return { matches: false }
  }
  const unique = [...new Set(errors)]
  if (unique.length === 0) return { matches: true }
  return { error: unique.length === 1 ? (unique[0] ?? '') : `[${unique.join(', ')}]` }
}

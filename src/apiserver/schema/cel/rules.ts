// The rules of a schema (`x-kubernetes-validations`), compiled once into a tree beside it, with every problem that the server finds
// when such a schema is written. A rule that does not compile here never gets to run by guess.
import type { Effort } from '#lib/effort.ts'
import { childPath, type FieldError, invalid, keyPath, notSupported, required } from '../field-error.ts'
import { StructValue } from '../field-error.ts'
import type { CelRule, Schema } from '#api/schema/schema.ts'
import { type CelEnv, compileCel, type CelProgram } from './cel.ts'
import { estimateCost } from './cost-estimate.ts'
import { type Cardinality, CostTotal, occurrences, partsOf } from './cost-limits.ts'
import { sizedOf } from './cost-size.ts'
import { rulePath } from './rule-path.ts'
import { celTypeOf, placeOf, type SchemaPlace } from './schema-type.ts'
import { type CelType, optionalOf } from './types.ts'

export interface CompiledRule {
  readonly rule: CelRule
  /** Undefined when the rule did not compile; then `problem` says why. */
  readonly program: CelProgram | undefined
  readonly problem: string
  readonly usesOldSelf: boolean
  readonly message: CelProgram | undefined
  /** Below the value that the rule belongs to; empty for the value itself. */
  readonly fieldPath: string
}

export interface RuleTree {
  readonly schema: Schema
  readonly rules: readonly CompiledRule[]
  readonly properties: ReadonlyMap<string, RuleTree>
  readonly additional: RuleTree | undefined
  readonly items: RuleTree | undefined
  readonly allOf: readonly RuleTree[]
  readonly isRoot: boolean
}

export interface SchemaRules {
  /** Undefined when there are no rules anywhere. */
  readonly tree: RuleTree | undefined
  /** What makes the schema invalid as it stands; a server must not accept it then. */
  readonly problems: readonly FieldError[]
}

export interface RulesOptions {
  /** The path of the schema in its definition, for problems. */
  readonly path?: string
  /** Whether values are whole resources; true by default. */
  readonly place?: SchemaPlace
  /** Pays for patterns; nothing counts when left out, as for a schema that was accepted. Throws EffortSpent. */
  readonly effort?: Effort
}

export function compileSchemaRules(schema: Schema, options: RulesOptions = {}): SchemaRules {
  const walk = new Walk(options.effort)
  const tree = walk.node(schema, {
    path: options.path ?? '',
    place: options.place ?? 'resource',
    uncorrelated: undefined,
    isRoot: true,
    often: 1,
  })
  return { tree, problems: [...walk.problems, ...walk.total.problems(options.path ?? '')] }
}

interface Place {
  readonly path: string
  readonly place: SchemaPlace
  /** The nearest ancestor whose parts have no counterpart in an old object. */
  readonly uncorrelated: string | undefined
  readonly isRoot: boolean
  /** How often the place can occur in one object. */
  readonly often: Cardinality
}

/** One pass over a schema; collects problems on the way. */
class Walk {
  readonly problems: FieldError[] = []
  readonly total = new CostTotal()
  /** Problems of the rules as data so far; where there are any below a node, its rules are not compiled. */
  #malformed = 0
  readonly #effort: Effort | undefined

  constructor(effort: Effort | undefined) {
    this.#effort = effort
  }

  node(schema: Schema, at: Place): RuleTree | undefined {
    const before = this.#malformed
    const below = { isRoot: false, often: partsOf(schema, at.often) }
    const properties = new Map<string, RuleTree>()
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      const path = keyPath(childPath(at.path, 'properties'), name)
      const tree = this.node(property, { ...below, path, place: placeOf(property), uncorrelated: at.uncorrelated })
      if (tree !== undefined) properties.set(name, tree)
    }
    const { additionalProperties, items: itemSchema } = schema
    const additional =
      typeof additionalProperties === 'object'
        ? this.node(additionalProperties, {
            ...below,
            path: childPath(at.path, 'additionalProperties'),
            place: placeOf(additionalProperties),
            uncorrelated: at.uncorrelated,
          })
        : undefined
    const isMapList = schema['x-kubernetes-list-type'] === 'map'
    const items =
      itemSchema === undefined
        ? undefined
        : this.node(itemSchema, {
            ...below,
            path: childPath(at.path, 'items'),
            place: placeOf(itemSchema),
            uncorrelated: at.uncorrelated ?? (isMapList ? undefined : at.path),
          })
    const rules = this.#rules(schema, at, before)
    const allOf = (schema.allOf ?? []).flatMap((s) => silentTree(s, schema, at.place, this.#effort))
    if (rules.length + properties.size + allOf.length === 0 && additional === undefined && items === undefined)
      return undefined
    return { schema, rules, properties, additional, items, allOf, isRoot: at.isRoot }
  }

  #rules(schema: Schema, at: Place, before: number): CompiledRule[] {
    const rules = schema['x-kubernetes-validations'] ?? []
    if (rules.length === 0) return []
    const base = childPath(at.path, 'x-kubernetes-validations')
    rules.forEach((rule, i) => {
      const found = malformed(rule, schema, keyPath(base, i))
      this.#malformed += found.length
      this.problems.push(...found)
    })
    if (this.#malformed > before) return []
    const type = celTypeOf(schema, at.place)
    if (type === undefined) {
      const why = 'failed to retrieve type information for x-kubernetes-validations'
      this.problems.push({ type: 'InternalError', field: base, detail: `internal error: ${why}` })
      return []
    }
    return rules.map((rule, i) => {
      const compiled = compileRule(rule, schema, type, this.#effort)
      this.problems.push(...this.#costs(compiled.rule, schema, at, keyPath(base, i)))
      this.problems.push(...compileProblems(rule, compiled, keyPath(base, i), at.uncorrelated))
      return compiled.rule
    })
  }

  #costs({ program, message }: CompiledRule, schema: Schema, at: Place, path: string): FieldError[] {
    const sized = sizedOf(schema, at.place)
    if (program === undefined || sized === undefined) return []
    const cost = estimateCost(program.node, sized) * occurrences(at.often, sized)
    const problems = this.total.add(childPath(path, 'rule'), 'rule', cost)
    if (message === undefined) return problems
    // How often a message is made is not counted: one object is refused once.
    const messageCost = estimateCost(message.node, sized)
    return [...problems, ...this.total.add(childPath(path, 'messageExpression'), 'messageExpression', messageCost)]
  }
}

/** Rules inside allOf see the type of the schema around them; the server reports their problems only when they run. */
function silentTree(part: Schema, around: Schema, place: SchemaPlace, effort: Effort | undefined): RuleTree[] {
  const merged: Schema = { ...around, 'x-kubernetes-validations': part['x-kubernetes-validations'] ?? [], allOf: [] }
  const tree = new Walk(effort).node(withoutRulesBelow(merged, part), {
    isRoot: false,
    often: 0,
    path: '',
    place,
    uncorrelated: undefined,
  })
  return tree === undefined ? [] : [tree]
}

/** The spine of `around` with the rules of `part`. */
function withoutRulesBelow(around: Schema, part: Schema): Schema {
  const { properties, items, additionalProperties: additional, ...rest } = around
  const children = Object.entries(properties ?? {}).map(([name, p]): [string, Schema] => [
    name,
    ruled(p, part.properties?.[name]),
  ])
  const partAdditional = typeof part.additionalProperties === 'object' ? part.additionalProperties : undefined
  return {
    ...rest,
    ...(properties === undefined ? {} : { properties: Object.fromEntries(children) }),
    ...(items === undefined ? {} : { items: ruled(items, part.items) }),
    ...(additional === undefined
      ? {}
      : { additionalProperties: typeof additional === 'object' ? ruled(additional, partAdditional) : additional }),
  }
}

const ruled = (around: Schema, part: Schema = {}): Schema =>
  withoutRulesBelow({ ...around, 'x-kubernetes-validations': part['x-kubernetes-validations'] ?? [], allOf: [] }, part)

interface Compiled {
  readonly rule: CompiledRule
  readonly messageProblem: string
}

function compileRule(rule: CelRule, schema: Schema, self: CelType, effort: Effort | undefined): Compiled {
  const variables = { self, oldSelf: rule.optionalOldSelf === true ? optionalOf(self) : self }
  const env: CelEnv = { variables, ...(effort !== undefined && { effort }) }
  const [program, problem] = compileAs(rule.rule, env, 'bool', 'compilation failed', 'cel expression', 'a bool')
  const expression = program === undefined ? undefined : rule.messageExpression
  const [message, messageProblem] =
    expression === undefined || expression === ''
      ? [undefined, '']
      : compileAs(expression, env, 'string', 'messageExpression compilation failed', 'messageExpression', 'a string')
  const fieldPath = rule.fieldPath === undefined ? '' : (rulePath(rule.fieldPath, schema) ?? '')
  const usesOldSelf = program?.uses.has('oldSelf') ?? false
  return { rule: { rule, program, problem, usesOldSelf, message, fieldPath }, messageProblem }
}

function compileAs(
  expression: string,
  env: CelEnv,
  kind: CelType['kind'],
  failed: string,
  what: string,
  wanted: string,
): [CelProgram | undefined, string] {
  const compiled = compileCel(expression, env)
  if (!compiled.ok) return [undefined, `${failed}: ${compiled.problems}`]
  if (compiled.program.type.kind !== kind) return [undefined, `${what} must evaluate to ${wanted}`]
  return [compiled.program, '']
}

function compileProblems(
  rule: CelRule,
  { rule: compiled, messageProblem }: Compiled,
  path: string,
  uncorrelated: string | undefined,
): FieldError[] {
  const problems: FieldError[] = []
  if (compiled.problem !== '') problems.push(invalid(childPath(path, 'rule'), ruleValue(rule), compiled.problem))
  if (messageProblem !== '')
    problems.push(invalid(childPath(path, 'messageExpression'), ruleValue(rule), messageProblem))
  if (compiled.usesOldSelf && uncorrelated !== undefined) {
    const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`
    problems.push(invalid(childPath(path, 'rule'), rule.rule, why))
  }
  if (!compiled.usesOldSelf && rule.optionalOldSelf !== undefined) {
    const why = 'may not be set if oldSelf is not used in rule'
    problems.push(invalid(childPath(path, 'optionalOldSelf'), rule.optionalOldSelf, why))
  }
  return problems
}

/** As the server prints a whole rule. */
const ruleValue = (r: CelRule): StructValue =>
  new StructValue({
    Rule: r.rule,
    Message: r.message ?? '',
    MessageExpression: r.messageExpression ?? '',
    Reason: r.reason ?? null,
    FieldPath: r.fieldPath ?? '',
    OptionalOldSelf: r.optionalOldSelf ?? null,
  })

const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired']
const LINE_BREAK = /[\n\r]/

/** What is wrong with a rule before its expressions are read. */
function malformed(rule: CelRule, schema: Schema, path: string): FieldError[] {
  const { message = '', messageExpression = '', reason, fieldPath = '' } = rule
  const problems: FieldError[] = []
  const text = rule.rule.trim()
  if (text === '') problems.push(required(childPath(path, 'rule'), 'rule is not specified'))
  else if (message !== '' && message.trim() === '')
    problems.push(invalid(childPath(path, 'message'), message, 'must be non-empty if specified'))
  else if (LINE_BREAK.test(message.trim()))
    problems.push(invalid(childPath(path, 'message'), message, 'must not contain line breaks'))
  else if (LINE_BREAK.test(text) && message.trim() === '')
    problems.push(required(childPath(path, 'message'), 'message must be specified if rule contains line breaks'))
  if (messageExpression !== '' && messageExpression.trim() === '')
    problems.push(required(childPath(path, 'messageExpression'), 'messageExpression must be non-empty if specified'))
  if (reason !== undefined && !REASONS.includes(reason))
    problems.push(notSupported(childPath(path, 'reason'), reason, REASONS))
  if (fieldPath === '') return problems
  const at = childPath(path, 'fieldPath')
  if (fieldPath.trim() === '') problems.push(invalid(at, fieldPath, 'must be non-empty if specified'))
  if (LINE_BREAK.test(fieldPath)) problems.push(invalid(at, fieldPath, 'must not contain line breaks'))
  if (rulePath(fieldPath, schema) === undefined) problems.push(invalid(at, fieldPath, 'must be a valid path'))
  return problems
}

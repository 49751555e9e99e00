// Runs the rules of a schema over a value and returns their findings, within one budget for the whole object. Rules that compare with
// oldSelf run on updates only, where the value has a counterpart; other findings about an unchanged value are dropped.
import { Effort } from '#lib/effort.ts'
import { isObject } from '#lib/json.ts'
import {
  childPath,
  duplicate,
  type FieldError,
  fieldOf,
  forbidden,
  invalid,
  keyPath,
  required,
} from '../field-error.ts'
import { VALIDATION_EFFORT } from '../validation-effort.ts'
import { type CelProgram, evaluateCel, PER_CALL_LIMIT, RUNTIME_BUDGET } from './cel.ts'
import { correlateElement, correlateField, type Correlation, isUnchanged, oldElements } from './correlate.ts'
import { toCel } from './convert.ts'
import type { CompiledRule, RuleTree } from './rules.ts'
import { CelOptional, type CelValue } from './values.ts'

export interface RuleLimits {
  /** For all rules together. */
  readonly budget?: number
  /** For one evaluation of one rule. */
  readonly costLimit?: number
  /** The path of the value in its object. */
  readonly path?: string
  /** What is left for the object; its own when left out. */
  readonly effort?: Effort
}

export interface RuleFindings {
  readonly errors: readonly FieldError[]
  /** What was found about values that did not change: a warning at most. */
  readonly ratcheted: readonly FieldError[]
  readonly cost: number
}

const NOTHING: RuleFindings = { errors: [], ratcheted: [], cost: 0 }

/** `old` is undefined on creation. */
export function validateRules(
  tree: RuleTree | undefined,
  value: unknown,
  old: unknown,
  limits: RuleLimits = {},
): RuleFindings {
  if (tree === undefined) return NOTHING
  const run = new RuleRun(limits)
  const current = old === undefined ? undefined : { schema: tree.schema, value, old }
  run.node(tree, value, old, { path: limits.path ?? '', current, parent: undefined })
  return { errors: run.errors, ratcheted: run.ratcheted, cost: run.cost }
}

interface At {
  readonly path: string
  readonly current: Correlation | undefined
  /** The nearest part above that has a counterpart. */
  readonly parent: Correlation | undefined
}

/** The longest message that an expression may make. */
const MAX_MESSAGE_BYTES = 5 * 1024

class RuleRun {
  readonly errors: FieldError[] = []
  readonly ratcheted: FieldError[] = []
  cost = 0
  readonly #budget: number
  readonly #costLimit: number
  readonly #effort: Effort
  #over = false

  constructor({
    budget = RUNTIME_BUDGET,
    costLimit = PER_CALL_LIMIT,
    effort = new Effort(VALIDATION_EFFORT),
  }: RuleLimits) {
    this.#effort = effort
    this.#budget = budget
    this.#costLimit = costLimit
  }

  node(tree: RuleTree, value: unknown, old: unknown, at: At): void {
    if (value === null || value === undefined || this.#over) return
    this.#rules(tree, value, old, at)
    for (const part of tree.allOf) this.node(part, value, old, { path: at.path, current: undefined, parent: at.parent })
    if (Array.isArray(value)) this.#elements(tree, value, old, at)
    else if (isObject(value)) this.#fields(tree, value, old, at)
  }

  #fields(tree: RuleTree, value: Readonly<Record<string, unknown>>, old: unknown, at: At): void {
    if (tree.additional === undefined && tree.properties.size === 0) return
    for (const name of Object.keys(value)) {
      const property = tree.properties.get(name)
      const child = property ?? tree.additional
      if (child === undefined) continue
      const before = isObject(old) && Object.hasOwn(old, name) ? old[name] : undefined
      const path = property === undefined ? keyPath(at.path, name) : childPath(at.path, name)
      this.node(child, value[name], before, fieldPlace(at, path, name))
    }
  }

  #elements(tree: RuleTree, value: readonly unknown[], old: unknown, at: At): void {
    const { items } = tree
    if (items === undefined) return
    const find = oldElements(tree.schema, old)
    value.forEach((element, i) => {
      const path = keyPath(at.path, i)
      const { current } = at
      const place = current === undefined ? { ...at, path } : elementPlace(current, path, find, element)
      this.node(items, element, find(element), place)
    })
  }

  #rules(tree: RuleTree, value: unknown, old: unknown, at: At): void {
    const before = old === null || old === undefined ? undefined : old
    for (const rule of tree.rules) {
      if (this.#over) return
      this.#rule(tree, rule, value, before, at)
    }
  }

  #rule(tree: RuleTree, rule: CompiledRule, value: unknown, old: unknown, at: At): void {
    const { program } = rule
    const type = tree.schema.type ?? ''
    const field = fieldOf(at.path)
    const add = (detail: string): void => void this.errors.push(invalid(field, type, detail))
    if (this.cost >= this.#budget) {
      add(OUT_OF_BUDGET)
      this.#over = true
      return
    }
    if (program === undefined) {
      add(`rule compile error: ${rule.problem}`)
      return
    }
    if (rule.usesOldSelf && old === undefined && rule.rule.optionalOldSelf !== true) return
    const variables = this.#variables(rule, program, value, old)
    const outcome = evaluateCel(program, variables, { costLimit: this.#costLimit, effort: this.#effort })
    if (!this.#pay(outcome.cost)) add(OUT_OF_BUDGET)
    else if (outcome.ok) {
      if (outcome.value !== true) this.#failed(tree, rule, value, variables, at)
    } else if (outcome.exceeded) {
      add(
        `'${outcome.error}': no further validation rules will be run due to call cost exceeds limit for rule: ${name(rule)}`,
      )
      this.#over = true
    } else if (outcome.error.startsWith('no such overload')) {
      const why = 'call arguments did not match a supported operator, function or macro signature for rule'
      add(`'${outcome.error}': ${why}: ${name(rule)}`)
    } else add(`${outcome.error} evaluating rule: ${name(rule)}`)
  }

  #variables(rule: CompiledRule, program: CelProgram, self: unknown, old: unknown): Record<string, unknown> {
    const variables: Record<string, unknown> = { self }
    if (!rule.usesOldSelf) return variables
    const type = program.variables.find(([n]) => n === 'self')?.[1] ?? program.type
    if (rule.rule.optionalOldSelf !== true) variables['oldSelf'] = old
    else variables['oldSelf'] = old === undefined ? CelOptional.none : new CelOptional(toCel(old, type))
    return variables
  }

  /** False when that was more than is left. */
  #pay(cost: number): boolean {
    this.cost += cost
    if (this.cost > this.#budget) this.#over = true
    return !this.#over
  }

  #failed(tree: RuleTree, rule: CompiledRule, value: unknown, variables: Record<string, unknown>, at: At): void {
    const path = rule.fieldPath === '' ? at.path : childPath(at.path, rule.fieldPath)
    const add = (e: FieldError): void => {
      const unchanged = at.current ?? at.parent
      const list = !rule.usesOldSelf && unchanged !== undefined && isUnchanged(unchanged) ? this.ratcheted : this.errors
      list.push(e)
    }
    const message = rule.message === undefined ? undefined : this.#message(rule.message, variables)
    if (message !== undefined && !message.ok) {
      add(invalid(fieldOf(path), tree.schema.type ?? '', message.stop))
      this.#over = true
      return
    }
    const isTree = tree.schema.type === 'object' || tree.schema.type === 'array'
    const detail = message?.text ?? (rule.rule.message === undefined ? `failed rule: ${name(rule)}` : name(rule))
    add(errorFor(rule.rule.reason, fieldOf(path), isTree ? undefined : value, detail))
  }

  /** The text of a message expression; without a text the plain message is used, and the budget may end everything. */
  #message(program: CelProgram, variables: Record<string, unknown>): Message {
    const outcome = evaluateCel(program, variables, { costLimit: this.#costLimit, effort: this.#effort })
    if (!this.#pay(outcome.cost))
      return {
        ok: false,
        stop: 'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run',
      }
    if (outcome.ok) return { ok: true, text: usableMessage(outcome.value) }
    if (!outcome.exceeded) return { ok: true, text: undefined }
    const what = JSON.stringify(program.expression)
    return {
      ok: false,
      stop: `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${what}`,
    }
  }
}

type Message = { readonly ok: true; readonly text: string | undefined } | { readonly ok: false; readonly stop: string }

const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run'

/** How a rule is called in messages. */
const name = ({ rule }: CompiledRule): string =>
  (rule.message === undefined || rule.message === '' ? rule.rule : rule.message).trim()

function usableMessage(value: CelValue): string | undefined {
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  return text === '' || text.includes('\n') || Buffer.byteLength(text) > MAX_MESSAGE_BYTES ? undefined : text
}

function errorFor(reason: string | undefined, field: string, value: unknown, detail: string): FieldError {
  if (reason === 'FieldValueForbidden') return forbidden(field, detail)
  if (reason === 'FieldValueRequired') return required(field, detail)
  return reason === 'FieldValueDuplicate' ? duplicate(field, value) : invalid(field, value, detail)
}

function fieldPlace(at: At, path: string, name: string): At {
  const { current, parent } = at
  if (current === undefined) return { ...at, path }
  // Old and new have the same version here, so changes of these two are invisible.
  if (parent === undefined && (name === 'apiVersion' || name === 'kind'))
    return { path, current: undefined, parent: undefined }
  return { path, current: correlateField(current, name), parent: current }
}

function elementPlace(current: Correlation, path: string, find: (e: unknown) => unknown, element: unknown): At {
  return { path, current: correlateElement(current, find, element), parent: current }
}

// Types an expression and resolves its names. Whatever is not declared, or does not fit, is an issue with the words of the real
// compiler; nothing is left to be guessed at run time except values that are declared dyn.
import type { Effort } from '#lib/effort.ts'
import { assertNever } from '#lib/errors.ts'
import { formatLiteralIssue } from './literals.ts'
import type { Overload } from './functions.ts'
import { checkMacro, type Checker as MacroChecker, type Scope } from './macros.ts'
import type { Node } from './node.ts'
import type { Expr, Issue } from './syntax.ts'
import { BOOL, type CelType, DYN, ERROR, formatType, isDyn, listOf, mapOf, optionalOf, optionalParam } from './types.ts'
import { type ObjectType, typeName, typeOf } from './types.ts'
import { assignAll, type Bindings, sameType, substitute, widest } from './unify.ts'
import { CelTypeValue } from './values.ts'

/** Types that an expression may make values of, by name. */
export type MessageTypes = (name: string) => ObjectType | undefined

/** All overloads of a name, also those of operators (`_+_`) and namespaced ones (`optional.of`). */
export type FunctionTable = ReadonlyMap<string, readonly Overload[]>

export class Checker implements MacroChecker {
  readonly issues: Issue[] = []
  /** Names of the declared variables that the expression reads. */
  readonly used = new Set<string>()
  readonly #functions: FunctionTable
  readonly #typeNames: ReadonlyMap<string, CelType>
  readonly #messageTypes: MessageTypes | undefined
  readonly #effort: Effort | undefined
  #bindings: Bindings = new Map()
  #freshVars = 0
  #slots: number
  /** Above zero inside calls of format, whose list may hold values of any types. */
  #mixedLiterals = 0

  constructor(
    functions: FunctionTable,
    typeNames: ReadonlyMap<string, CelType>,
    messageTypes: MessageTypes | undefined,
    slots: number,
    effort?: Effort,
  ) {
    this.#effort = effort
    this.#messageTypes = messageTypes
    this.#functions = functions
    this.#typeNames = typeNames
    this.#slots = slots
  }

  newSlot(): number {
    return this.#slots++
  }

  issue(pos: number, message: string): void {
    this.issues.push({ pos, message })
  }

  /** The type as it is known by now. */
  resolve(type: CelType): CelType {
    return substitute(this.#bindings, type, false)
  }

  freshVar(): CelType {
    return { kind: 'var', name: `_var${this.#freshVars++}` }
  }

  assign(from: CelType, to: CelType): boolean {
    const next = assignAll(this.#bindings, [from], [to])
    if (next !== undefined) this.#bindings = next
    return next !== undefined
  }

  expect(node: Node, pos: number, type: CelType): void {
    if (!this.assign(node.type, type))
      this.issue(pos, `expected type '${formatType(type)}' but found '${formatType(this.resolve(node.type))}'`)
  }

  check(e: Expr, scope: Scope): Node {
    switch (e.op) {
      case 'const':
        return { op: 'const', type: e.type, value: e.value }
      case 'ident':
        return this.#ident(e.name, e.pos, scope)
      case 'select':
        return this.#select(e, scope)
      case 'call':
        return this.#call(e, scope)
      case 'and':
      case 'or': {
        const terms = e.terms.map((t) => this.check(t, scope))
        terms.forEach((t, i) => this.expect(t, e.terms[i]?.pos ?? e.pos, BOOL))
        return { op: e.op, type: BOOL, terms }
      }
      case 'ternary':
        return this.#ternary(e, scope)
      case 'list': {
        const items = e.items.map((i) => this.check(i, scope))
        return { op: 'list', type: listOf(this.#join(items, e.items)), items }
      }
      case 'map': {
        const entries = e.entries.map(([k, v]) => [this.check(k, scope), this.check(v, scope)] as const)
        const key = this.#join(
          entries.map(([k]) => k),
          e.entries.map(([k]) => k),
        )
        const value = this.#join(
          entries.map(([, v]) => v),
          e.entries.map(([, v]) => v),
        )
        return { op: 'map', type: mapOf(key, value), entries }
      }
      case 'message':
        return this.#message(e, scope)
      case 'entry': {
        const value = this.check(e.value, scope)
        const inside = optionalParam(this.resolve(value.type))
        if (inside === undefined && !isDyn(this.resolve(value.type)))
          this.issue(e.pos, `expected type 'optional_type(dyn)' but found '${formatType(this.resolve(value.type))}'`)
        return { op: 'entry', type: inside ?? DYN, value }
      }
      default:
        return assertNever(e)
    }
  }

  #message(e: Expr & { readonly op: 'message' }, scope: Scope): Node {
    const type = this.#messageTypes?.(e.type)
    const fields = e.fields.map(({ name, pos, value }): readonly [string, Node] => {
      const node = this.check(value, scope)
      const declared = type?.fields.get(name)
      if (type !== undefined && declared === undefined) this.issue(pos, `undefined field '${name}'`)
      if (declared !== undefined && !this.assign(node.type, declared.type)) {
        const [want, got] = [formatType(declared.type), formatType(this.resolve(node.type))]
        this.issue(pos, `expected type of field '${name}' is '${want}' but provided type is '${got}'`)
      }
      return [declared?.name ?? name, node]
    })
    return type === undefined ? this.#undeclared(e.type, e.pos) : { op: 'message', type, fields }
  }

  /** The common type of elements; they must agree. */
  #join(nodes: readonly Node[], exprs: readonly Expr[]): CelType {
    let joined: CelType | undefined
    nodes.forEach((node, i) => {
      if (joined === undefined) joined = node.type
      else if (this.assign(joined, node.type)) joined = widest(joined, node.type)
      else if (this.#mixedLiterals > 0) joined = DYN
      else {
        const [want, got] = [formatType(this.resolve(joined)), formatType(this.resolve(node.type))]
        this.issue(exprs[i]?.pos ?? 0, `expected type '${want}' but found '${got}'`)
        joined = ERROR
      }
    })
    return joined ?? this.freshVar()
  }

  #ident(name: string, pos: number, scope: Scope): Node {
    const variable = scope.variables.get(name)
    if (variable !== undefined) {
      this.used.add(name)
      return { op: 'slot', type: variable.type, slot: variable.slot, name }
    }
    return this.#typeIdent(name) ?? this.#undeclared(name, pos)
  }

  #typeIdent(name: string): Node | undefined {
    const type = this.#typeNames.get(name)
    return type === undefined ? undefined : { op: 'const', type: typeOf(type), value: new CelTypeValue(typeName(type)) }
  }

  #undeclared(name: string, pos: number): Node {
    this.issue(pos, `undeclared reference to '${name}' (in container '')`)
    return ERROR_NODE
  }

  #select(e: Expr & { readonly op: 'select' }, scope: Scope): Node {
    const qualified = e.optional ? undefined : qualifiedName(e)
    if (qualified !== undefined && !scope.variables.has(qualified.split('.', 1)[0] ?? '')) {
      const type = this.#typeIdent(qualified)
      if (type !== undefined) return type
    }
    const operand = this.check(e.operand, scope)
    const type = this.fieldType(operand, e.field, e.pos, e.optional)
    return { op: 'select', type, operand, field: e.field, optional: e.optional }
  }

  /** The type of a field; optional when asked for as such or when read through an optional. */
  fieldType(operand: Node, field: string, pos: number, optional: boolean): CelType {
    const resolved = this.resolve(operand.type)
    const inside = optionalParam(resolved)
    const target = inside === undefined ? resolved : this.resolve(inside)
    const type = this.#plainFieldType(target, field, pos)
    return optional || inside !== undefined ? optionalOf(type) : type
  }

  #plainFieldType(target: CelType, field: string, pos: number): CelType {
    if (target.kind === 'map') return target.value
    if (target.kind === 'object') {
      const found = target.fields.get(field)
      if (found === undefined) this.issue(pos, `undefined field '${field}'`)
      return found?.type ?? ERROR
    }
    if (target.kind === 'var') this.assign(DYN, target)
    else if (!isDyn(target)) this.issue(pos, `type '${formatType(target)}' does not support field selection`)
    return DYN
  }

  #ternary(e: Expr & { readonly op: 'ternary' }, scope: Scope): Node {
    const cond = this.check(e.cond, scope)
    const yes = this.check(e.yes, scope)
    const no = this.check(e.no, scope)
    const result = this.freshVar()
    const types = [cond.type, yes.type, no.type]
    const next = assignAll(this.#bindings, types, [BOOL, result, result])
    if (next === undefined) this.#noOverload('_?_:_', types, e.pos, false)
    else this.#bindings = next
    return { op: 'ternary', type: next === undefined ? ERROR : this.resolve(result), cond, yes, no }
  }

  #call(e: Expr & { readonly op: 'call' }, scope: Scope): Node {
    const macro = checkMacro(this, e, scope)
    if (macro !== undefined) return macro
    const isFormat = e.target !== undefined && e.name === 'format'
    if (isFormat) this.#mixedLiterals++
    const call = this.#plainCall(e, scope)
    if (isFormat) this.#mixedLiterals--
    return call
  }

  #plainCall(e: Expr & { readonly op: 'call' }, scope: Scope): Node {
    const args = e.args.map((a) => this.check(a, scope))
    const namespace = e.target === undefined ? undefined : qualifiedName(e.target)
    if (namespace !== undefined) {
      const overloads = this.#functions.get(`${namespace}.${e.name}`)
      if (overloads !== undefined) return this.#overload(e, `${namespace}.${e.name}`, overloads, args, false)
    }
    const target = e.target === undefined ? undefined : this.check(e.target, scope)
    const overloads = this.#functions.get(e.name)
    if (overloads === undefined) return this.#undeclared(e.name, e.pos)
    return this.#overload(e, e.name, overloads, target === undefined ? args : [target, ...args], target !== undefined)
  }

  #overload(
    e: Expr & { readonly op: 'call' },
    name: string,
    all: readonly Overload[],
    args: readonly Node[],
    member: boolean,
  ): Node {
    const types = args.map((a) => a.type)
    const fitting: Overload[] = []
    let result: CelType | undefined
    for (const overload of all) {
      if (overload.member !== member) continue
      const [params, returns] = this.#instantiate(overload)
      const next = assignAll(this.#bindings, types, params)
      if (next === undefined) continue
      this.#bindings = next
      fitting.push(overload)
      const type = this.resolve(returns)
      if (result === undefined) result = type
      else if (!isDyn(result) && !sameType(result, type)) result = DYN
    }
    if (result === undefined) return this.#noOverload(name, types, e.pos, member)
    const literalIssue = formatLiteralIssue(name, e, this.#effort)
    if (literalIssue !== undefined) this.issue(literalIssue.pos, literalIssue.message)
    return { op: 'call', type: result, name, overloads: fitting, args }
  }

  #noOverload(name: string, types: readonly CelType[], pos: number, member: boolean): Node {
    const [first = '', ...rest] = types.map((t) => formatType(substitute(this.#bindings, t, true)))
    const signature = member ? `${first}.(${rest.join(', ')})` : `(${[first, ...rest].join(', ')})`
    this.issue(pos, `found no matching overload for '${name}' applied to '${signature}'`)
    return ERROR_NODE
  }

  /** The types of an overload with parameters of its own. */
  #instantiate(overload: Overload): [readonly CelType[], CelType] {
    const own = new Map<string, CelType>()
    for (const name of ['A', 'B']) own.set(name, this.freshVar())
    return [overload.params.map((p) => substitute(own, p, false)), substitute(own, overload.result, false)]
  }
}

const ERROR_NODE: Node = { op: 'const', type: ERROR, value: null }

/** `a.b.c` as one name, or undefined for anything else. */
function qualifiedName(e: Expr): string | undefined {
  if (e.op === 'ident') return e.name
  if (e.op !== 'select' || e.optional) return undefined
  const prefix = qualifiedName(e.operand)
  return prefix === undefined ? undefined : `${prefix}.${e.field}`
}

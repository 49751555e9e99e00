// Turns a checked expression into closures, once; running them is the evaluation. An error is a value that travels up until an
// operator absorbs it. Each step costs what it costs on the real server, so that the same expressions are cut off.
import { assertNever } from '#lib/errors.ts'
import { setOwn } from '#lib/json.ts'
import { accepts, type Eval, type Overload } from './functions.ts'
import type { Node } from './node.ts'
import { planFold } from './plan-fold.ts'
import { noSuchKey } from './operators.ts'
import { DYN, objectOf } from './types.ts'
import { BuiltMap, CelError, CelList, CelMap, CelObject, CelOptional, type CelValue, type Convert } from './values.ts'

const LIST_COST = 10
const MAP_COST = 30
const MESSAGE_COST = 40

export function plan(node: Node): Eval {
  switch (node.op) {
    case 'const': {
      const { value } = node
      return () => value
    }
    case 'slot': {
      const { slot, name } = node
      return (run) => {
        run.spend(1)
        const value = run.slots[slot]
        return value === undefined ? new CelError(`no such attribute(s): ${name}`) : value
      }
    }
    case 'select':
      return planSelect(plan(node.operand), node.field, node.optional)
    case 'test':
      return planTest(plan(node.operand), node.field)
    case 'call':
      return planCall(node.name, node.overloads, node.args.map(plan))
    case 'and':
      return planLogic(node.terms.map(plan), false)
    case 'or':
      return planLogic(node.terms.map(plan), true)
    case 'ternary':
      return planTernary(plan(node.cond), plan(node.yes), plan(node.no))
    case 'list':
      return planList(node.items.map(plan))
    case 'map':
      return planMap(node.entries.map(([k, v]) => [plan(k), plan(v)] as const))
    case 'message':
      return planMessage(
        node.type.name,
        node.fields.map(([name, v]) => [name, plan(v)] as const),
      )
    case 'entry':
      return planEntry(plan(node.value))
    case 'fold':
      return planFold(node, plan)
    case 'optMap':
      return planOptMap(plan(node.operand), node.slot, plan(node.body), node.flat)
    default:
      return assertNever(node)
  }
}

/** The field of an object or the entry of a map; undefined when absent. */
function fieldOf(value: CelValue, field: string): CelValue | undefined {
  if (value instanceof CelObject || value instanceof CelMap) return value.get(field)
  return new CelError('no such overload')
}

function planSelect(operand: Eval, field: string, optional: boolean): Eval {
  return (run) => {
    const value = operand(run)
    run.spend(1)
    if (value instanceof CelError) return value
    if (value instanceof CelOptional) return optionalField(value.value, field)
    if (optional) return optionalField(value, field)
    const found = fieldOf(value, field)
    return found === undefined ? noSuchKey(field) : found
  }
}

function optionalField(value: CelValue | undefined, field: string): CelValue {
  const found = value === undefined ? undefined : fieldOf(value, field)
  if (found === undefined) return CelOptional.none
  return found instanceof CelError ? found : new CelOptional(found)
}

function planTest(operand: Eval, field: string): Eval {
  return (run) => {
    const value = operand(run)
    if (value instanceof CelError) return value
    const inside = value instanceof CelOptional ? value.value : value
    if (inside === undefined) return false
    const found = fieldOf(inside, field)
    // An existing value counts as present, even if it does not match its declaration.
    return found instanceof CelError && !(inside instanceof CelObject || inside instanceof CelMap)
      ? found
      : found !== undefined
  }
}

type Apply = (...args: CelValue[]) => CelValue

function planCall(name: string, overloads: readonly Overload[], args: readonly Eval[]): Eval {
  const [first, second] = args
  const [only] = overloads
  if (only !== undefined && overloads.length === 1 && only.cost === undefined) {
    if (first !== undefined && args.length === 1) return planUnary(name, only, first)
    if (first !== undefined && second !== undefined && args.length === 2) return planBinary(name, only, first, second)
  }
  return (run) => {
    const values: CelValue[] = []
    for (const arg of args) {
      const value = arg(run)
      if (value instanceof CelError) return value
      values.push(value)
    }
    const overload = overloads.find((o) => o.params.every((p, i) => accepts(p, values[i] as CelValue)))
    if (overload === undefined) return noOverload(name)
    run.spend(overload.cost?.(values) ?? 1)
    return (overload.impl as unknown as (...all: readonly unknown[]) => CelValue)(...values, run)
  }
}

const noOverload = (name: string): CelError =>
  new CelError(name.startsWith('_') || name.startsWith('@') ? 'no such overload' : `no such overload: ${name}`)

function planUnary(name: string, { params, impl }: Overload, arg: Eval): Eval {
  const apply = impl as unknown as Apply
  const [param] = params
  return (run) => {
    const value = arg(run)
    if (value instanceof CelError) return value
    if (param === undefined || !accepts(param, value)) return noOverload(name)
    run.spend(1)
    return apply(value, run as unknown as CelValue)
  }
}

function planBinary(name: string, { params, impl }: Overload, left: Eval, right: Eval): Eval {
  const apply = impl as unknown as Apply
  const [p, q] = params
  return (run) => {
    const a = left(run)
    if (a instanceof CelError) return a
    const b = right(run)
    if (b instanceof CelError) return b
    if (p === undefined || q === undefined || !accepts(p, a) || !accepts(q, b)) return noOverload(name)
    run.spend(1)
    return apply(a, b, run as unknown as CelValue)
  }
}

/** One term that decides is enough, whatever failed before or would fail after it. */
function planLogic(terms: readonly Eval[], decisive: boolean): Eval {
  return (run) => {
    let error: CelError | undefined
    for (const term of terms) {
      const value = term(run)
      if (value === decisive) return decisive
      if (typeof value !== 'boolean') error ??= value instanceof CelError ? value : new CelError('no such overload')
    }
    return error ?? !decisive
  }
}

function planTernary(cond: Eval, yes: Eval, no: Eval): Eval {
  return (run) => {
    const value = cond(run)
    if (value === true) return yes(run)
    if (value === false) return no(run)
    return value instanceof CelError ? value : new CelError('no such overload')
  }
}

/** What an optional entry without a value evaluates to: only lists and maps meet it, and leave it out. */
const LEFT_OUT = new CelOptional(undefined)

function planEntry(value: Eval): Eval {
  return (run) => {
    const optional = value(run)
    if (optional instanceof CelError) return optional
    if (!(optional instanceof CelOptional)) return new CelError('no such overload')
    return optional.value === undefined ? LEFT_OUT : optional.value
  }
}

function planList(items: readonly Eval[]): Eval {
  return (run) => {
    const values: CelValue[] = []
    for (const item of items) {
      const value = item(run)
      if (value instanceof CelError) return value
      if (value !== LEFT_OUT) values.push(value)
    }
    run.spend(LIST_COST)
    return CelList.of(values)
  }
}

function planMap(entries: readonly (readonly [Eval, Eval])[]): Eval {
  return (run) => {
    const map = new BuiltMap()
    for (const [k, v] of entries) {
      const key = k(run)
      if (key instanceof CelError) return key
      const value = v(run)
      if (value instanceof CelError) return value
      if (value !== LEFT_OUT && !map.add(key, value)) return new CelError('Failed with repeated key')
    }
    run.spend(MAP_COST)
    return map
  }
}

/** What was made has the fields that it was made with. */
function planMessage(name: string, fields: readonly (readonly [string, Eval])[]): Eval {
  const type = objectOf(name, new Map(fields.map(([field]) => [field, { name: field, type: DYN }])))
  return (run) => {
    const data: Record<string, CelValue> = {}
    for (const [field, v] of fields) {
      const value = v(run)
      if (value instanceof CelError) return value
      if (value !== LEFT_OUT) setOwn(data, field, value)
    }
    run.spend(MESSAGE_COST)
    return new CelObject(data, type, asItIs)
  }
}

const asItIs: Convert = (value) => value as CelValue

function planOptMap(operand: Eval, slot: number, body: Eval, flat: boolean): Eval {
  return (run) => {
    const value = operand(run)
    if (value instanceof CelError) return value
    if (!(value instanceof CelOptional)) return new CelError('no such overload')
    if (value.value === undefined) return CelOptional.none
    run.slots[slot] = value.value
    const result = body(run)
    return flat || result instanceof CelError ? result : new CelOptional(result)
  }
}

// The most that an expression can cost over all values of a schema, estimated as the real server estimates it when a rule is
// written: what it refuses as too expensive is refused here, and only that.
import { assertNever } from '#lib/errors.ts'
import { estimateCall } from './cost-calls.ts'
import type { Sized } from './cost-size.ts'
import { type Estimate, exactly, type Size, sizeOrUnknown, times } from './cost-units.ts'
import type { Fold, Node } from './node.ts'
import { codePointCount } from './values.ts'

/** What `self` and `oldSelf` can be. */
export function estimateCost(node: Node, self: Sized): number {
  return new Estimator(self).estimate(node).cost
}

const SCALARS: ReadonlySet<string> = new Set(['bool', 'int', 'uint', 'double', 'duration', 'timestamp'])

/** A place that the schema does not describe. */
const LOST: Sized = {
  max: Number.POSITIVE_INFINITY,
  minBytes: 0,
  fields: new Map(),
  elem: undefined,
  key: undefined,
}

class Estimator {
  readonly #self: Sized
  /** The loop variables by slot. */
  readonly #slots = new Map<number, Sized | undefined>()

  constructor(self: Sized) {
    this.#self = self
  }

  estimate(n: Node): Estimate {
    switch (n.op) {
      case 'const':
        return this.#of(n, 0, undefined, constSize(n.value))
      case 'slot':
        return this.#of(n, 1, this.#slots.has(n.slot) ? this.#slots.get(n.slot) : this.#self)
      case 'select':
        return this.#select(n)
      case 'test':
        return this.#of(n, this.estimate(n.operand).cost)
      case 'and':
      case 'or':
        return this.#of(n, this.#sum(n.terms))
      case 'ternary':
        return this.#ternary(n)
      case 'list':
        return this.#of(n, this.#sum(n.items) + 10, undefined, exactly(n.items.length))
      case 'map':
        return this.#of(n, this.#sum(n.entries.flat()) + 30, undefined, exactly(n.entries.length))
      case 'message':
        return this.#of(n, this.#sum(n.fields.map(([, v]) => v)) + 40, undefined, exactly(1))
      case 'entry':
        return this.#of(n, this.estimate(n.value).cost)
      case 'call':
        return this.#call(n)
      case 'fold':
        return this.#fold(n)
      case 'optMap': {
        const { cost } = this.estimate(n.operand)
        // hasValue() ? optional.of(bind(value(), body)) : none, as the macro is written out.
        return this.#of(n, 2 * cost + this.estimate(n.body).cost + 13)
      }
      default:
        return assertNever(n)
    }
  }

  #of(n: Node, cost: number, sized?: Sized, size?: Size): Estimate {
    const bySchema = sized === undefined ? undefined : { min: 0, max: sized.max }
    const byType = SCALARS.has(n.type.kind) ? exactly(1) : undefined
    return { cost, sized, size: size ?? bySchema ?? byType, type: n.type }
  }

  #sum(nodes: readonly Node[]): number {
    return nodes.reduce((sum, n) => sum + this.estimate(n).cost, 0)
  }

  #select(n: Node & { readonly op: 'select' }): Estimate {
    const operand = this.estimate(n.operand)
    const { kind } = n.operand.type
    const step = n.optional || kind === 'map' || kind === 'object' || kind === 'var' ? 1 : 0
    const sized = n.optional ? undefined : this.#part(operand, (s) => s.fields.get(n.field))
    return this.#of(n, operand.cost + step, sized)
  }

  #ternary(n: Node & { readonly op: 'ternary' }): Estimate {
    const [cond, yes, no] = [this.estimate(n.cond), this.estimate(n.yes), this.estimate(n.no)]
    const [a, b] = [sizeOrUnknown(yes), sizeOrUnknown(no)]
    const size = { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) }
    return this.#of(n, cond.cost + Math.max(yes.cost, no.cost), undefined, size)
  }

  #call(n: Node & { readonly op: 'call' }): Estimate {
    const args = n.args.map((a) => this.estimate(a))
    const own = n.overloads.map((o) => estimateCall(o, args))
    const cost = args.reduce((sum, a) => sum + a.cost, 0) + Math.max(0, ...own.map((o) => o.cost))
    const sizes = own.flatMap((o) => (o.size === undefined ? [] : [o.size]))
    const size =
      sizes.length === 0
        ? undefined
        : { min: Math.min(...sizes.map((s) => s.min)), max: Math.max(...sizes.map((s) => s.max)) }
    const [container] = args
    const element = n.name === '_[_]' && container !== undefined ? this.#part(container, (s) => s.elem) : undefined
    return this.#of(n, cost, element, size)
  }

  #fold(n: Fold): Estimate {
    const range = this.estimate(n.range)
    this.#bind(n, range)
    const predicate = n.predicate === undefined ? 0 : this.estimate(n.predicate).cost
    const transform = n.transform === undefined ? 0 : this.estimate(n.transform).cost
    const count = sizeOrUnknown(range)
    const { once, round } = foldCost(n, predicate, transform)
    const collects = n.kind !== 'all' && n.kind !== 'exists' && n.kind !== 'existsOne'
    return this.#of(n, range.cost + once + times(count.max, round), undefined, collects ? count : exactly(1))
  }

  /** Parts of a computed value count as the root, as in the real estimate. */
  #part({ sized }: Estimate, of: (s: Sized) => Sized | undefined): Sized {
    return sized === undefined ? this.#self : (of(sized) ?? LOST)
  }

  #bind(n: Fold, range: Estimate): void {
    const isList = range.type.kind === 'list'
    const key = this.#part(range, (s) => (isList ? undefined : s.key))
    const value = this.#part(range, (s) => s.elem)
    this.#slots.set(n.slot, n.slot2 === undefined && isList ? value : key)
    if (n.slot2 !== undefined) this.#slots.set(n.slot2, value)
  }
}

function constSize(value: unknown): Size | undefined {
  if (typeof value === 'string') return exactly(codePointCount(value))
  return value instanceof Uint8Array ? exactly(value.length) : exactly(1)
}

/** What the loops cost as the macros are written out. */
function foldCost(n: Fold, predicate: number, transform: number): { once: number; round: number } {
  switch (n.kind) {
    case 'all':
      return { once: 1, round: 3 + predicate }
    case 'exists':
      return { once: 1, round: 4 + predicate }
    case 'existsOne':
      return { once: 2, round: 2 + predicate }
    case 'filter':
      return { once: 11, round: 13 + predicate }
    case 'map':
    case 'transformList':
      return { once: 11, round: 12 + predicate + transform }
    case 'transformMap':
      return { once: 31, round: 3 + predicate + transform }
    case 'transformMapEntry':
      return { once: 31, round: 2 + predicate + transform }
    default:
      return assertNever(n.kind)
  }
}

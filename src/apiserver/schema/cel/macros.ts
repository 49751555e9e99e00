// The macros: has, the loops over lists and maps with one and two variables, optMap and optFlatMap. There are no others.
import { assertNever } from '#lib/errors.ts'
import type { FoldKind, Node } from './node.ts'
import type { Expr } from './syntax.ts'
import {
  BOOL,
  type CelType,
  DYN,
  ERROR,
  formatType,
  INT,
  isDyn,
  listOf,
  mapOf,
  optionalOf,
  optionalParam,
} from './types.ts'
import { STRING } from './types.ts'

export interface Variable {
  readonly type: CelType
  readonly slot: number
}

export interface Scope {
  readonly variables: ReadonlyMap<string, Variable>
}

/** What macros need of the checker that meets them. */
export interface Checker {
  check(e: Expr, scope: Scope): Node
  issue(pos: number, message: string): void
  expect(node: Node, pos: number, type: CelType): void
  assign(from: CelType, to: CelType): boolean
  resolve(type: CelType): CelType
  freshVar(): CelType
  newSlot(): number
  fieldType(operand: Node, field: string, pos: number, optional: boolean): CelType
}

type Call = Expr & { readonly op: 'call' }

interface Loop {
  readonly kind: FoldKind
  readonly vars: 1 | 2
  /** Arguments after the variables: with a transforming loop the last one is the transform. */
  readonly rest: readonly number[]
}

const LOOPS: Readonly<Record<string, readonly Loop[]>> = {
  all: [
    { kind: 'all', vars: 1, rest: [1] },
    { kind: 'all', vars: 2, rest: [1] },
  ],
  exists: [
    { kind: 'exists', vars: 1, rest: [1] },
    { kind: 'exists', vars: 2, rest: [1] },
  ],
  exists_one: [{ kind: 'existsOne', vars: 1, rest: [1] }],
  existsOne: [
    { kind: 'existsOne', vars: 1, rest: [1] },
    { kind: 'existsOne', vars: 2, rest: [1] },
  ],
  map: [{ kind: 'map', vars: 1, rest: [1, 2] }],
  filter: [{ kind: 'filter', vars: 1, rest: [1] }],
  transformList: [{ kind: 'transformList', vars: 2, rest: [1, 2] }],
  transformMap: [{ kind: 'transformMap', vars: 2, rest: [1, 2] }],
  transformMapEntry: [{ kind: 'transformMapEntry', vars: 2, rest: [1, 2] }],
}

/** The loop or test for the call; undefined when it is a plain call. */
export function checkMacro(c: Checker, e: Call, scope: Scope): Node | undefined {
  const [first, second] = e.args
  if (e.target === undefined)
    return e.name === 'has' && first !== undefined && e.args.length === 1 ? checkHas(c, e, first, scope) : undefined
  if ((e.name === 'optMap' || e.name === 'optFlatMap') && first !== undefined && second !== undefined)
    return e.args.length === 2 ? checkOptMap(c, e, e.target, scope) : undefined
  if (!Object.hasOwn(LOOPS, e.name)) return undefined
  const loop = LOOPS[e.name]?.find((l) => l.rest.includes(e.args.length - l.vars))
  return loop === undefined ? undefined : checkLoop(c, e, e.target, loop, scope)
}

function checkHas(c: Checker, e: Call, arg: Expr, scope: Scope): Node {
  if (arg.op !== 'select' || arg.optional) {
    c.issue(e.pos, 'invalid argument to has() macro')
    return { op: 'const', type: ERROR, value: null }
  }
  const operand = c.check(arg.operand, scope)
  c.fieldType(operand, arg.field, arg.pos, false)
  return { op: 'test', type: BOOL, operand, field: arg.field }
}

function simpleName(c: Checker, e: Expr | undefined): string {
  if (e?.op === 'ident') return e.name
  c.issue(e?.pos ?? 0, 'argument must be a simple name')
  return ''
}

function checkOptMap(c: Checker, e: Call, target: Expr, scope: Scope): Node {
  const operand = c.check(target, scope)
  const inside = c.freshVar()
  c.expect(operand, target.pos, optionalOf(inside))
  const slot = c.newSlot()
  const name = simpleName(c, e.args[0])
  const inner: Scope = { variables: new Map(scope.variables).set(name, { type: c.resolve(inside), slot }) }
  const body = c.check(e.args[1] ?? e, inner)
  const flat = e.name === 'optFlatMap'
  if (flat && optionalParam(c.resolve(body.type)) === undefined)
    c.expect(body, e.args[1]?.pos ?? e.pos, optionalOf(c.freshVar()))
  return { op: 'optMap', type: flat ? c.resolve(body.type) : optionalOf(body.type), operand, slot, body, flat }
}

function checkLoop(c: Checker, e: Call, target: Expr, loop: Loop, scope: Scope): Node {
  const range = c.check(target, scope)
  const [key, value] = elementTypes(c, range, target.pos, loop.vars)
  const variables = new Map(scope.variables)
  const slot = c.newSlot()
  variables.set(simpleName(c, e.args[0]), { type: key, slot })
  const slot2 = loop.vars === 2 ? c.newSlot() : undefined
  if (slot2 !== undefined) variables.set(simpleName(c, e.args[1]), { type: value, slot: slot2 })
  const inner: Scope = { variables }
  const rest = e.args.slice(loop.vars)
  const nodes = rest.map((a) => c.check(a, inner))
  const transforms = loop.kind === 'map' || loop.kind.startsWith('transform')
  const transform = transforms ? nodes.at(-1) : undefined
  const predicate = transforms && nodes.length === 1 ? undefined : nodes[0]
  if (predicate !== undefined) c.expect(predicate, rest[0]?.pos ?? e.pos, BOOL)
  const type = resultType(c, loop.kind, key, transform, c.resolve(range.type))
  return { op: 'fold', kind: loop.kind, type, range, slot, slot2, predicate, transform }
}

function elementTypes(c: Checker, range: Node, pos: number, vars: 1 | 2): readonly [CelType, CelType] {
  const type = c.resolve(range.type)
  if (type.kind === 'list') return vars === 2 ? [INT, type.elem] : [type.elem, type.elem]
  if (type.kind === 'map') return [type.key, type.value]
  if (type.kind === 'var') c.assign(DYN, type)
  if (type.kind === 'var' || isDyn(type)) return [DYN, DYN]
  const name = formatType(type)
  c.issue(pos, `expression of type '${name}' cannot be range of a comprehension (must be list, map, or dynamic)`)
  return [ERROR, ERROR]
}

function resultType(c: Checker, kind: FoldKind, key: CelType, transform: Node | undefined, range: CelType): CelType {
  switch (kind) {
    case 'all':
    case 'exists':
    case 'existsOne':
      return BOOL
    case 'filter':
      return listOf(key)
    case 'map':
    case 'transformList':
      return listOf(transform?.type ?? DYN)
    case 'transformMap':
      return mapOf(range.kind === 'map' ? range.key : range.kind === 'list' ? INT : DYN, transform?.type ?? DYN)
    case 'transformMapEntry': {
      const entry = c.resolve(transform?.type ?? DYN)
      return entry.kind === 'map' ? entry : mapOf(STRING, DYN)
    }
    default:
      return assertNever(kind)
  }
}

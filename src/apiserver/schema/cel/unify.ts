// Unification of types with parameters: whether a value of one type may be used where another is asked for, and what the
// parameters then are. Bindings are tried on a copy, so that a failed overload leaves no trace.
import { type CelType, DYN, isDyn, listOf, mapOf, opaque, typeOf } from './types.ts'

export type Bindings = ReadonlyMap<string, CelType>

/** The bindings after `from[i]` was assigned to `to[i]`, or undefined when that is impossible. */
export function assignAll(bindings: Bindings, from: readonly CelType[], to: readonly CelType[]): Bindings | undefined {
  const trial = new Map(bindings)
  return assignList(trial, from, to) ? trial : undefined
}

function assignList(b: Map<string, CelType>, from: readonly CelType[], to: readonly CelType[]): boolean {
  return from.length === to.length && from.every((f, i) => assign(b, f, to[i] ?? DYN))
}

function assign(b: Map<string, CelType>, from: CelType, to: CelType): boolean {
  if (to.kind === 'var') {
    const bound = b.get(to.name)
    if (bind(b, from, to)) return true
    if (bound !== undefined) return false
  }
  if (from.kind === 'var') return bind(b, to, from)
  if (isDyn(from) || isDyn(to)) return true
  if (from.kind === 'null') return to.kind === 'null' || isNullable(to)
  if (to.kind === 'null') return isNullable(from)
  if (from.kind === 'list') return to.kind === 'list' && assign(b, from.elem, to.elem)
  if (from.kind === 'map') return to.kind === 'map' && assign(b, from.key, to.key) && assign(b, from.value, to.value)
  if (from.kind === 'opaque')
    return to.kind === 'opaque' && to.name === from.name && assignList(b, from.params, to.params)
  if (from.kind === 'object') return to.kind === 'object' && to.name === from.name
  return to.kind === from.kind
}

/** Objects, times and library values may be compared with null. */
const isNullable = (t: CelType): boolean =>
  t.kind === 'opaque' || t.kind === 'object' || t.kind === 'duration' || t.kind === 'timestamp'

function bind(b: Map<string, CelType>, type: CelType, variable: CelType & { kind: 'var' }): boolean {
  if (type.kind === 'var' && type.name === variable.name) return true
  const bound = b.get(variable.name)
  if (bound === undefined) {
    if (occurs(b, variable.name, type)) return false
    b.set(variable.name, type)
    return true
  }
  if (bound.kind === 'var' && type.kind === 'var' && bound.name === type.name) return true
  if (!assign(b, type, bound)) return false
  const wider = isWiderOrEqual(type, bound) ? type : bound
  if (!occurs(b, variable.name, wider)) b.set(variable.name, wider)
  return true
}

function occurs(b: Bindings, name: string, type: CelType): boolean {
  if (type.kind === 'var') {
    if (type.name === name) return true
    const bound = b.get(type.name)
    return bound !== undefined && occurs(b, name, bound)
  }
  if (type.kind === 'list') return occurs(b, name, type.elem)
  if (type.kind === 'map') return occurs(b, name, type.key) || occurs(b, name, type.value)
  if (type.kind === 'opaque') return type.params.some((p) => occurs(b, name, p))
  return type.kind === 'type' && type.of !== undefined && occurs(b, name, type.of)
}

/** The wider of two types that unify. */
export const widest = (a: CelType, b: CelType): CelType => (isWiderOrEqual(a, b) ? a : b)

function isWiderOrEqual(a: CelType, b: CelType): boolean {
  if (isDyn(a) || a.kind === 'var') return true
  if (isDyn(b) || b.kind === 'var') return false
  if (a.kind === 'list' && b.kind === 'list') return isWiderOrEqual(a.elem, b.elem)
  if (a.kind === 'map' && b.kind === 'map') return isWiderOrEqual(a.key, b.key) && isWiderOrEqual(a.value, b.value)
  if (a.kind === 'opaque' && b.kind === 'opaque')
    return a.name === b.name && a.params.every((p, i) => isWiderOrEqual(p, b.params[i] ?? DYN))
  return a.kind === b.kind
}

/** The type with its bound parameters filled in; the unbound become dyn when `openToDyn` says so. */
export function substitute(b: Bindings, type: CelType, openToDyn: boolean): CelType {
  if (type.kind === 'var') {
    const bound = b.get(type.name)
    if (bound !== undefined) return substitute(b, bound, openToDyn)
    return openToDyn ? DYN : type
  }
  const sub = (t: CelType): CelType => substitute(b, t, openToDyn)
  if (type.kind === 'list') return listOf(sub(type.elem), type.listKind)
  if (type.kind === 'map') return mapOf(sub(type.key), sub(type.value))
  if (type.kind === 'opaque') return type.params.length === 0 ? type : opaque(type.name, ...type.params.map(sub))
  return type.kind === 'type' && type.of !== undefined ? typeOf(sub(type.of)) : type
}

/** Exactly the same type; the names of objects identify their fields. */
export function sameType(a: CelType, b: CelType): boolean {
  return isWiderOrEqual(a, b) && isWiderOrEqual(b, a)
}

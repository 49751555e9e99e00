// Runs the checks attached to a schema on a value, outermost last, and never on a value whose shape is already wrong.
import { defined } from '#lib/defined.ts'
import { canonicalJson, isObject, jsonEqual } from '#lib/json.ts'
import { extrasOf, type ApiSchema, type Finding } from './extras.ts'
import { PROBLEM_CODES, pointerTo, shown, type Problem } from './problem.ts'

interface Visitor {
  /** Whether a schema needs a visit; parts without any at any depth are skipped. */
  readonly wants: (schema: ApiSchema) => boolean
  readonly visit: (schema: ApiSchema, value: unknown, pointer: string) => void
}

/** Calls `visit` for the parts of the value that the schema describes and the visitor wants, innermost first. */
function walk(schema: ApiSchema, value: unknown, pointer: string, visitor: Visitor): void {
  if (value === undefined || value === null || !visitor.wants(schema)) return
  if (Array.isArray(value) && schema.items !== undefined) {
    const { items } = schema
    if (visitor.wants(items)) value.forEach((v, i) => walk(items, v, pointerTo(pointer, i), visitor))
  } else if (isObject(value)) {
    for (const k of Object.keys(value)) {
      const below = propertySchema(schema, k)
      if (below !== undefined && visitor.wants(below)) walk(below, value[k], pointerTo(pointer, k), visitor)
    }
  }
  visitor.visit(schema, value, pointer)
}

/** True for a schema or any part of it; cached, because schemas never change. */
function anywhere(has: (schema: ApiSchema) => boolean): (schema: ApiSchema) => boolean {
  const known = new WeakMap<ApiSchema, boolean>()
  const found = (schema: ApiSchema): boolean => {
    let answer = known.get(schema)
    if (answer === undefined) {
      const { properties = {}, additionalProperties, items } = schema
      const parts = [...Object.values(properties), additionalProperties, items]
      answer = has(schema) || parts.some((part) => typeof part === 'object' && found(part))
      known.set(schema, answer)
    }
    return answer
  }
  return found
}

const hasChecks = anywhere((schema) => (extrasOf(schema).checks ?? []).length > 0)
const hasImmutables = anywhere((schema) => extrasOf(schema).immutable !== undefined)

function propertySchema(schema: ApiSchema, name: string): ApiSchema | undefined {
  const { properties, additionalProperties } = schema
  if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name]
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}

const isAtOrBelow = (pointer: string, place: string): boolean => place === pointer || place.startsWith(`${pointer}/`)

export function checkProblems(schema: ApiSchema, value: unknown, before: readonly Problem[]): readonly Problem[] {
  const found: Problem[] = []
  const misshapen = before.filter((p) => p.code !== PROBLEM_CODES.unknownField)
  const visit = (s: ApiSchema, v: unknown, pointer: string) => {
    const { checks = [], expects } = extrasOf(s)
    if (checks.length === 0 || misshapen.some((p) => isAtOrBelow(pointer, p.pointer))) return
    for (const c of checks) found.push(...findings(c.findings(v), v, pointer, expects))
  }
  walk(schema, value, '', { wants: hasChecks, visit })
  return found
}

export function findings(
  found: readonly Finding[],
  value: unknown,
  pointer: string,
  expects?: string,
): readonly Problem[] {
  return found.map((f) => {
    const allowed = f.allowed ?? expects
    return {
      code: f.code ?? PROBLEM_CODES.rule,
      pointer: f.pointer === '' ? pointer : `${pointer}${f.pointer.startsWith('/') ? '' : '/'}${f.pointer}`,
      message: f.message,
      ...(f.pointer === '' && typeof value !== 'object' ? { seen: shown(value) } : {}),
      ...defined({ allowed }),
    }
  })
}

/** Immutable fields that an update changes. */
export function changedImmutables(schema: ApiSchema, before: unknown, after: unknown): readonly Problem[] {
  const found: Problem[] = []
  const old = new Map<string, unknown>()
  const remember = (s: ApiSchema, v: unknown, pointer: string) => {
    if (extrasOf(s).immutable !== undefined) old.set(pointer, v)
  }
  const compare = (s: ApiSchema, v: unknown, pointer: string) => {
    const message = extrasOf(s).immutable
    if (message !== undefined && old.has(pointer) && !jsonEqual(comparable(s, old.get(pointer)), comparable(s, v)))
      found.push({ code: PROBLEM_CODES.immutable, pointer, message })
  }
  walk(schema, before, '', { wants: hasImmutables, visit: remember })
  walk(schema, after, '', { wants: hasImmutables, visit: compare })
  return found
}

/** The order of a set or list map has no meaning, as on the server. */
function comparable(schema: ApiSchema, value: unknown): unknown {
  const { mutable } = extrasOf(schema)
  if (mutable !== undefined && isObject(value))
    return Object.fromEntries(Object.entries(value).filter(([name]) => !mutable.includes(name)))
  const type = schema['x-kubernetes-list-type']
  if (!Array.isArray(value) || (type !== 'set' && type !== 'map')) return value
  return value.map((v) => canonicalJson(v)).toSorted()
}

// Applies a strategic merge patch: a merge patch in which marked lists merge by key, with directives ($patch, $retainKeys, …). Unchanged parts are shared.
import { goJsonKind } from '#lib/go-text.ts'
import { isObject, jsonEqual, setOwn } from '#lib/json.ts'
import type { Schema } from '#api/schema/schema.ts'
import { withoutNulls } from './merge-patch.ts'
import { PatchError, unknownDirective } from './patch-error.ts'
import { mergeLists, orderLists, withoutItems } from './strategic-list.ts'

const DIRECTIVE = '$patch'
const RETAIN_KEYS = '$retainKeys'
const DELETE_FROM_LIST = '$deleteFromPrimitiveList'
const SET_ORDER = '$setElementOrder'

type JsonMap = Record<string, unknown>

/** Throws PatchError. A field without schema merges as a map or is replaced as a list. */
export function strategicMerge(schema: Schema | undefined, target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) {
    const reason = `json: cannot unmarshal ${goJsonKind(patch)} into Go value of type map[string]interface {}`
    throw new PatchError('NotAPatch', reason)
  }
  return mergeMaps(schema, isObject(target) ? target : {}, patch)
}

function mergeMaps(schema: Schema | undefined, original: JsonMap, patch: JsonMap): JsonMap {
  if (Object.hasOwn(patch, DIRECTIVE)) return directed(patch)
  const target = new Draft(retained(original, patch))
  const ordered = applyElementOrders(schema, target, patch)
  for (const key of Object.keys(patch)) {
    if (key === RETAIN_KEYS || key.startsWith(`${SET_ORDER}/`) || ordered.has(key)) continue
    if (key.startsWith(DELETE_FROM_LIST)) deleteFromList(target, key, patch[key])
    else mergeField(schema, target, key, patch[key])
  }
  return target.value
}

/** A map that is copied at its first change. */
class Draft {
  value: JsonMap
  #copied = false

  constructor(value: JsonMap) {
    this.value = value
  }

  get(key: string): unknown {
    return Object.hasOwn(this.value, key) ? this.value[key] : undefined
  }

  set(key: string, value: unknown): void {
    const before = this.get(key)
    if (before === value || (before !== undefined && jsonEqual(before, value))) return
    setOwn(this.#copy(), key, value)
  }

  delete(key: string): void {
    if (Object.hasOwn(this.value, key)) delete this.#copy()[key]
  }

  #copy(): JsonMap {
    if (!this.#copied) this.value = { ...this.value }
    this.#copied = true
    return this.value
  }
}

function directed(patch: JsonMap): JsonMap {
  const directive = patch[DIRECTIVE]
  if (directive === 'delete') return {}
  if (directive !== 'replace') throw unknownDirective(directive, patch)
  const out: JsonMap = {}
  for (const key of Object.keys(patch)) if (key !== DIRECTIVE) setOwn(out, key, patch[key])
  return out
}

/** $retainKeys names all keys that may stay; the patch itself may set no other. */
function retained(original: JsonMap, patch: JsonMap): JsonMap {
  if (!Object.hasOwn(patch, RETAIN_KEYS)) return original
  const bad = new PatchError('NotAPatch', 'invalid patch format of retainKeys')
  const listed = patch[RETAIN_KEYS]
  if (!Array.isArray(listed)) throw bad
  const names = new Set<unknown>(listed)
  for (const key of Object.keys(patch)) {
    const isDirective = key === RETAIN_KEYS || key.startsWith(DELETE_FROM_LIST) || key.startsWith(SET_ORDER)
    if (!isDirective && patch[key] !== null && !names.has(key)) throw bad
  }
  const keys = Object.keys(original)
  if (keys.every((k) => names.has(k))) return original
  const out: JsonMap = {}
  for (const key of keys) if (names.has(key)) setOwn(out, key, original[key])
  return out
}

/** $setElementOrder/x gives the wanted order of list x. Returns the lists that are done with it. */
function applyElementOrders(schema: Schema | undefined, target: Draft, patch: JsonMap): ReadonlySet<string> {
  const done = new Set<string>()
  for (const directive of Object.keys(patch)) {
    if (!directive.startsWith(SET_ORDER)) continue
    const key = directive.slice(SET_ORDER.length + 1)
    const order = listOf(patch[directive])
    const wanted = Object.hasOwn(patch, key) ? listOf(patch[key]) : undefined
    const live = target.get(key) === undefined ? undefined : listOf(target.get(key))
    const field = fieldOf(schema, key)
    const merged = orderLists({
      field,
      live,
      wanted: wanted && cleaned(wanted, live),
      patch: wanted ?? [],
      order,
      mergeItem: mergeMaps,
    })
    if (merged === undefined) continue
    target.set(key, merged)
    done.add(key)
  }
  return done
}

/** A list that is new to the object carries no directives into it. */
const cleaned = (wanted: readonly unknown[], live: readonly unknown[] | undefined): readonly unknown[] =>
  live === undefined ? (withoutDirectives(wanted) as readonly unknown[]) : wanted

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new PatchError('Internal', `expected a []interface {}, but received a ${goJsonKind(value)}`)
}

function deleteFromList(target: Draft, directive: string, items: unknown): void {
  if (!directive.startsWith(`${DELETE_FROM_LIST}/`))
    throw new PatchError('NotAPatch', 'invalid patch format of primitive list')
  const key = directive.slice(DELETE_FROM_LIST.length + 1)
  if (items === null) return target.delete(key)
  const live = target.get(key)
  if (Array.isArray(live) && Array.isArray(items)) target.set(key, withoutItems(live, items))
}

function mergeField(schema: Schema | undefined, target: Draft, key: string, wanted: unknown): void {
  if (wanted === null || wanted === undefined) return target.delete(key)
  const live = target.get(key)
  const field = fieldOf(schema, key)
  if (isObject(live) && isObject(wanted))
    return target.set(key, strategyOf(field) === 'replace' ? withoutNulls(wanted) : mergeMaps(field, live, wanted))
  if (Array.isArray(live) && Array.isArray(wanted))
    return target.set(
      key,
      strategyOf(field) === 'merge' ? mergeLists(field, live, wanted, mergeMaps) : withoutNulls(wanted),
    )
  const fresh = withoutDirectives(withoutNulls(wanted))
  if (fresh === undefined) target.delete(key)
  else target.set(key, fresh)
}

function fieldOf(schema: Schema | undefined, key: string): Schema | undefined {
  const { properties, additionalProperties } = schema ?? {}
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key]
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}

/** retainKeys is carried out by the client's $retainKeys; merge and replace are the server's. */
function strategyOf(schema: Schema | undefined): string | undefined {
  return schema?.['x-kubernetes-patch-strategy']?.split(',').find((s) => s !== 'retainKeys')
}

/** What a directive marks is not part of new content. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined)
  if (!isObject(value)) return value
  if (Object.hasOwn(value, DIRECTIVE)) return undefined
  const out = {}
  for (const key of Object.keys(value)) {
    const inner = withoutDirectives(value[key])
    if (inner !== undefined) setOwn(out, key, inner)
  }
  return out
}

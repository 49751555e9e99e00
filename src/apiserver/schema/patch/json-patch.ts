// Applies a JSON patch (RFC 6902) with the tolerances and limits of kube-apiserver; the target and the operations stay unchanged.
import { goJsonKind } from '#lib/go-text.ts'
import { isObject, jsonEqual, setOwn } from '#lib/json.ts'
import { FailedTest, PatchError } from './patch-error.ts'

/** As in kube-apiserver: one request must not block a core. */
export const MAX_JSON_PATCH_OPERATIONS = 10_000
/** As in kube-apiserver: `copy` doubles what it copies, so a few hundred bytes could ask for gigabytes. */
export const MAX_COPIED_BYTES = 3 * 1024 * 1024

type Container = unknown[] | Record<string, unknown>

interface Place {
  readonly container: Container
  readonly key: string
}

interface Draft {
  root: unknown
  /** Containers made by this patch: they may be changed in place, all others are copied first. */
  readonly own: Set<object>
  copiedBytes: number
}

const fail = (reason: string): never => {
  throw new PatchError('DoesNotApply', reason)
}

/** Throws PatchError; NotAPatch and TooMany before anything is done. */
export function applyJsonPatch(target: unknown, operations: unknown): unknown {
  const draft: Draft = { root: target, own: new Set(), copiedBytes: 0 }
  for (const operation of operationsOf(operations)) applyOperation(draft, operation)
  return draft.root
}

const decodeError = (kind: string, wanted: string): PatchError =>
  new PatchError('NotAPatch', `error decoding patch: json: cannot unmarshal ${kind} into Go ${wanted}`)

function operationsOf(operations: unknown): readonly Record<string, unknown>[] {
  if (operations === null) return []
  if (!Array.isArray(operations)) throw decodeError(goJsonKind(operations), 'value of type []handlers.jsonPatchOp')
  const found: Record<string, unknown>[] = []
  for (const operation of operations) {
    if (!isObject(operation) && operation !== null)
      throw decodeError(goJsonKind(operation), 'value of type handlers.jsonPatchOp')
    for (const field of ['op', 'path', 'from']) {
      const value = own(operation ?? {}, field)
      if (value !== undefined && value !== null && typeof value !== 'string')
        throw decodeError(goJsonKind(value), `struct field jsonPatchOp.${field} of type string`)
    }
    found.push(operation ?? {})
  }
  if (found.length > MAX_JSON_PATCH_OPERATIONS) {
    const reason = `The allowed maximum operations in a JSON patch is ${MAX_JSON_PATCH_OPERATIONS}, got ${found.length}`
    throw new PatchError('TooMany', reason, `Request entity too large: ${reason}`)
  }
  return found
}

function applyOperation(draft: Draft, operation: Record<string, unknown>): void {
  const op = own(operation, 'op')
  const value = own(operation, 'value') ?? null
  switch (op) {
    case 'add':
      return add(placeOf(draft, operation, 'path', true), value)
    case 'replace':
      return replace(draft, operation, value)
    case 'remove':
      return void remove(placeOf(draft, operation, 'path', true))
    case 'test':
      return test(draft, operation, value)
    case 'move': {
      const moved = remove(placeOf(draft, operation, 'from', true))
      return add(placeOf(draft, operation, 'path', true), moved)
    }
    case 'copy':
      return copy(draft, operation)
    default:
      return fail(`unknown operation ${JSON.stringify(op)}`)
  }
}

function pathOf(operation: Record<string, unknown>, field: 'path' | 'from'): string {
  const path = own(operation, field)
  return typeof path === 'string' ? path : fail(`an operation has no ${field}`)
}

/** The container of the last step of a path. When it is to be written, the containers on the way become the draft's own. */
function placeOf(draft: Draft, operation: Record<string, unknown>, field: 'path' | 'from', write: boolean): Place {
  const path = pathOf(operation, field)
  const steps = path.split('/').slice(1).map(unescape)
  const key = steps.pop() ?? fail(`${JSON.stringify(path)} names no place`)
  let container = enter(draft, draft.root, path, write, (c) => (draft.root = c))
  for (const step of steps) {
    const parent = container
    container = enter(draft, readAt(parent, step), path, write, (c) => writeAt(parent, step, c))
  }
  return { container, key }
}

function enter(draft: Draft, value: unknown, path: string, write: boolean, put: (copy: Container) => void): Container {
  if (!Array.isArray(value) && !isObject(value)) return fail(`there is nothing at ${JSON.stringify(path)}`)
  if (!write || draft.own.has(value)) return value
  const copied: Container = Array.isArray(value) ? [...value] : { ...value }
  draft.own.add(copied)
  put(copied)
  return copied
}

const unescape = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~')

function own(object: object, key: string): unknown {
  return Object.hasOwn(object, key) ? (object as Record<string, unknown>)[key] : undefined
}

/** Negative indices count from the end, as the real server allows. */
function indexOf(key: string, length: number, limit: number): number {
  const index = /^[+-]?\d+$/.test(key) ? Number(key) : Number.NaN
  const place = index < 0 ? index + length : index
  return place >= 0 && place < limit ? place : fail(`no index ${JSON.stringify(key)} in a list of ${limit}`)
}

/** A missing key of a map reads as undefined; a missing index of a list is an error. */
function readAt(container: Container, key: string): unknown {
  if (Array.isArray(container)) return container[indexOf(key, container.length, container.length)]
  return own(container, key)
}

function writeAt(container: Container, key: string, value: unknown): void {
  if (Array.isArray(container)) container[indexOf(key, container.length, container.length)] = value
  else setOwn(container, key, value)
}

function add({ container, key }: Place, value: unknown): void {
  if (!Array.isArray(container)) return setOwn(container, key, value)
  const room = container.length + 1
  if (key === '-') container.push(value)
  else container.splice(indexOf(key, room, room), 0, value)
}

function remove({ container, key }: Place): unknown {
  const value = readAt(container, key)
  if (Array.isArray(container)) container.splice(indexOf(key, container.length, container.length), 1)
  else if (value === undefined) fail(`there is no key ${JSON.stringify(key)} to remove`)
  else delete container[key]
  return value
}

/** A missing key is added, as the real server does; a missing index is an error. */
function replace(draft: Draft, operation: Record<string, unknown>, value: unknown): void {
  if (pathOf(operation, 'path') !== '') {
    const { container, key } = placeOf(draft, operation, 'path', true)
    return writeAt(container, key, value)
  }
  if (!isObject(value) && !Array.isArray(value)) fail('the whole object can only be replaced by an object or a list')
  draft.root = value
}

/** A missing key equals null, as the real server holds. */
function test(draft: Draft, operation: Record<string, unknown>, value: unknown): void {
  const path = pathOf(operation, 'path')
  const place = path === '' ? undefined : placeOf(draft, operation, 'path', false)
  const seen = place === undefined ? draft.root : readAt(place.container, place.key)
  if (!jsonEqual(seen ?? null, value)) throw new FailedTest(`the test of ${JSON.stringify(path)} failed`)
}

/** The copy shares its content with the original, so neither may be changed in place any longer. */
function copy(draft: Draft, operation: Record<string, unknown>): void {
  const from = placeOf(draft, operation, 'from', false)
  const value = readAt(from.container, from.key) ?? null
  draft.copiedBytes += jsonSize(value, (shared) => draft.own.delete(shared), MAX_COPIED_BYTES)
  if (draft.copiedBytes > MAX_COPIED_BYTES) fail(`more than ${MAX_COPIED_BYTES} bytes would be copied`)
  add(placeOf(draft, operation, 'path', true), value)
}

/** Calls `visit` for each list and map that it counts. Strings count by UTF-16 unit, escapes not at all. */
function jsonSize(value: unknown, visit: (container: object) => void, limit: number): number {
  let bytes = 0
  const pending: unknown[] = [value]
  while (pending.length > 0 && bytes <= limit) {
    const next = pending.pop()
    if (Array.isArray(next)) {
      visit(next)
      bytes += 2 + next.length
      for (const item of next) pending.push(item)
    } else if (isObject(next)) {
      visit(next)
      bytes += 2
      for (const key of Object.keys(next)) {
        bytes += key.length + 4
        pending.push(next[key])
      }
    } else bytes += typeof next === 'string' ? next.length + 2 : String(next).length
  }
  return bytes
}

// structuredClone for a fleet, for data. Node's own version asks objects how to transfer them, and creates any class that they name.

export function clonePlain<T>(value: T): T {
  const seen = new Map<object, object>()
  const copy = (from: unknown): unknown => {
    if (typeof from === 'function' || typeof from === 'symbol')
      throw new TypeError(`${String(from).slice(0, 80)} cannot be cloned`)
    if (typeof from !== 'object' || from === null) return from
    const known = seen.get(from)
    if (known !== undefined) return known
    const made = shellOf(from, copy)
    seen.set(from, made)
    fill(from, made, copy)
    return made
  }
  return copy(value) as T
}

function shellOf(from: object, copy: (value: unknown) => unknown): object {
  if (from instanceof Date) return new Date(from.getTime())
  if (from instanceof RegExp) return new RegExp(from.source, from.flags)
  if (from instanceof ArrayBuffer) return from.slice(0)
  if (ArrayBuffer.isView(from)) return viewOf(from, copy(from.buffer) as ArrayBuffer)
  if (from instanceof Error) return Object.assign(new Error(from.message), { name: from.name, stack: from.stack })
  if (Array.isArray(from)) return []
  if (from instanceof Map) return new Map()
  if (from instanceof Set) return new Set()
  return {}
}

/** Same as Node: a Buffer becomes a plain Uint8Array. */
function viewOf(from: ArrayBufferView, buffer: ArrayBuffer): object {
  if (from instanceof DataView) return new DataView(buffer, from.byteOffset, from.byteLength)
  const { constructor, length } = from as Uint8Array
  const View = Buffer.isBuffer(from) ? Uint8Array : (constructor as Uint8ArrayConstructor)
  return new View(buffer, from.byteOffset, length)
}

function fill(from: object, made: object, copy: (value: unknown) => unknown): void {
  if (from instanceof Map) for (const [k, v] of from) (made as Map<unknown, unknown>).set(copy(k), copy(v))
  else if (from instanceof Set) for (const v of from) (made as Set<unknown>).add(copy(v))
  else if (Array.isArray(from) || isPlain(made))
    for (const key of Object.keys(from))
      Object.defineProperty(made, key, {
        value: copy((from as Record<string, unknown>)[key]),
        writable: true,
        enumerable: true,
        configurable: true,
      })
  if (Array.isArray(from)) (made as unknown[]).length = from.length
}

const isPlain = (value: object): boolean => Object.getPrototypeOf(value) === Object.prototype

// Drops fields without a value from an object, because exactOptionalPropertyTypes, JSON patches and applies treat undefined differently from a missing field.

type Optional<T> = { readonly [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  readonly [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** `{ name, ...defined({ zone, rack }) }` has `zone` and `rack` only if known. Other falsy values stay. */
export function defined<T extends object>(fields: T): Optional<T> {
  const out: Record<string, unknown> = {}
  for (const key of Object.keys(fields)) {
    const value = (fields as Record<string, unknown>)[key]
    if (value === undefined) continue
    if (key === '__proto__')
      Object.defineProperty(out, key, { value, configurable: true, enumerable: true, writable: true })
    else out[key] = value
  }
  return out as Optional<T>
}

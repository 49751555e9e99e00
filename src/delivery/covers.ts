// Whether a live object still has everything that was declared. Fields that others added are ignored. Pure.
import { isObject } from '#lib/json.ts'

/** In metadata, only fields that a fleet declares are compared. The rest is the server's. */
export function coversDeclared(declared: unknown, live: unknown): boolean {
  if (declared === undefined) return true
  if (declared === null) return live === null || live === undefined
  if (Array.isArray(declared)) return Array.isArray(live) && coversList(declared, live)
  if (isObject(declared)) {
    if (!isObject(live)) return Object.keys(declared).length === 0 && live === undefined
    return Object.keys(declared).every((key) =>
      coversDeclared(declared[key], Object.hasOwn(live, key) ? live[key] : undefined),
    )
  }
  return declared === live
}

/** List entries are matched by name or another key, since others may have inserted entries of their own. */
const KEYS = ['name', 'type', 'key', 'containerPort', 'port', 'ip'] as const

function coversList(declared: readonly unknown[], live: readonly unknown[]): boolean {
  const key = KEYS.find((k) => declared.length > 0 && declared.every((d) => isObject(d) && d[k] !== undefined))
  if (key === undefined) return declared.length === live.length && declared.every((d, i) => coversDeclared(d, live[i]))
  return declared.every((d) =>
    live.some((l) => isObject(l) && isObject(d) && l[key] === d[key] && coversDeclared(d, l)),
  )
}

// How many bytes a value takes as JSON, near enough for bounds, without writing it; stops counting once past a limit.
import { isObject } from '#lib/json.ts'

/** Calls `visit` for each list and map that it counts. Strings count by UTF-16 unit, escapes not at all. */
export function jsonSize(value: unknown, visit: (container: object) => void, limit: number): number {
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

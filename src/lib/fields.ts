// Reads unvalidated values: a value of an unexpected type counts as missing.
import { isObject } from './json.ts'

/** Empty if it is not a string. */
export const textOf = (v: unknown): string => (typeof v === 'string' ? v : '')

/** Undefined if it is not a string or is empty. */
export const textIn = (v: unknown): string | undefined => (typeof v === 'string' && v !== '' ? v : undefined)

export const textOr = (v: unknown, other: string): string => (typeof v === 'string' ? v : other)

export const numberOr = (v: unknown, other: number): number => (typeof v === 'number' ? v : other)

export const isText = (v: unknown): v is string => typeof v === 'string'

export const fieldsOf = (v: unknown): Record<string, unknown> => (isObject(v) ? v : {})

/** For JSON that users may write too: an unreadable value counts as empty. */
export function objectIn(json: string | undefined): Readonly<Record<string, unknown>> {
  try {
    return fieldsOf(JSON.parse(json ?? '{}'))
  } catch {
    return {}
  }
}

export const listOf = (v: unknown): readonly unknown[] => (Array.isArray(v) ? v : [])

/** The objects of a list; other items are dropped. */
export const objectsIn = (v: unknown): readonly Record<string, unknown>[] => listOf(v).filter(isObject)

/** Undefined if the path does not exist. */
export const fieldAt = (v: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((o, name) => (isObject(o) && Object.hasOwn(o, name) ? o[name] : undefined), v)

/** Ignores inherited keys, such as `constructor`. */
export const own = <T>(o: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(o, key) ? o[key] : undefined

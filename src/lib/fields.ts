// Reads values of which nothing is known: what is not of the expected type counts as absent.
import { isObject } from './json.ts'

/** Empty for what is no text. */
export const textOf = (v: unknown): string => (typeof v === 'string' ? v : '')

/** Undefined for what is no text, and for an empty one. */
export const textIn = (v: unknown): string | undefined => (typeof v === 'string' && v !== '' ? v : undefined)

export const textOr = (v: unknown, other: string): string => (typeof v === 'string' ? v : other)

export const numberOr = (v: unknown, other: number): number => (typeof v === 'number' ? v : other)

export const isText = (v: unknown): v is string => typeof v === 'string'

export const fieldsOf = (v: unknown): Record<string, unknown> => (isObject(v) ? v : {})

/** Of JSON that people can write too: what cannot be read says nothing. */
export function objectIn(json: string | undefined): Readonly<Record<string, unknown>> {
  try {
    return fieldsOf(JSON.parse(json ?? '{}'))
  } catch {
    return {}
  }
}

export const listOf = (v: unknown): readonly unknown[] => (Array.isArray(v) ? v : [])

/** The objects of a list; other items are left out. */
export const objectsIn = (v: unknown): readonly Record<string, unknown>[] => listOf(v).filter(isObject)

/** Undefined where the path leads nowhere. */
export const fieldAt = (v: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((o, name) => (isObject(o) && Object.hasOwn(o, name) ? o[name] : undefined), v)

/** A key that is not inherited, such as `constructor`. */
export const own = <T>(o: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(o, key) ? o[key] : undefined

// Reads answers without trusting them: a value of an unexpected type counts as absent.
import { isObject } from '#lib/json.ts'

const field = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((v, name) => (isObject(v) && Object.hasOwn(v, name) ? v[name] : undefined), value)

export const textIn = (value: unknown, ...path: readonly string[]): string | undefined => {
  const found = field(value, ...path)
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** Undefined if it is not a list, which differs from an empty list. */
export const listIn = (value: unknown, ...path: readonly string[]): readonly unknown[] | undefined => {
  const found = field(value, ...path)
  return Array.isArray(found) ? found : undefined
}

// Reads answers without trusting them: what is not of the expected type is absent.
import { isObject } from '#lib/json.ts'

const field = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((v, name) => (isObject(v) && Object.hasOwn(v, name) ? v[name] : undefined), value)

export const textIn = (value: unknown, ...path: readonly string[]): string | undefined => {
  const found = field(value, ...path)
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** Undefined when it is no list, which is not the same as an empty one. */
export const listIn = (value: unknown, ...path: readonly string[]): readonly unknown[] | undefined => {
  const found = field(value, ...path)
  return Array.isArray(found) ? found : undefined
}

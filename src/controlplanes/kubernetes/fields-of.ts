// Reads fields of unvalidated API objects. Pure.
import { isObject } from '#lib/json.ts'

export const recordAt = (value: unknown, key: string): Readonly<Record<string, unknown>> => {
  const found = isObject(value) ? value[key] : undefined
  return isObject(found) ? found : {}
}

export const listAt = (value: unknown, key: string): readonly Readonly<Record<string, unknown>>[] => {
  const found = isObject(value) ? value[key] : undefined
  return Array.isArray(found) ? found.filter(isObject) : []
}

export const numberAt = (value: unknown, key: string): number => {
  const found = isObject(value) ? value[key] : undefined
  return typeof found === 'number' ? found : 0
}

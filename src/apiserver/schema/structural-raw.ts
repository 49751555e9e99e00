// Reads an unchecked posted schema: a keyword of the wrong shape counts as absent, and so does one that Go drops as empty.
import { isObject } from '#lib/json.ts'

export type Raw = Readonly<Record<string, unknown>>

export const own = (s: Raw, key: string): unknown => (Object.hasOwn(s, key) ? s[key] : undefined)

export const text = (s: Raw, key: string): string => {
  const v = own(s, key)
  return typeof v === 'string' ? v : ''
}

export const flag = (s: Raw, key: string): boolean => own(s, key) === true

export const nested = (s: Raw, key: string): Raw | undefined => {
  const v = own(s, key)
  return isObject(v) ? v : undefined
}

export const nestedList = (s: Raw, key: string): readonly Raw[] => {
  const v = own(s, key)
  return Array.isArray(v) ? v.filter(isObject) : []
}

export const texts = (s: Raw, key: string): readonly string[] => {
  const v = own(s, key)
  return Array.isArray(v) ? v.filter((x) => typeof x === 'string') : []
}

/** Present and not null. */
export const isSet = (s: Raw, key: string): boolean => own(s, key) !== undefined && own(s, key) !== null

/** By name, in the order of names. */
export function properties(s: Raw): readonly (readonly [string, Raw])[] {
  const all = nested(s, 'properties')
  if (!all) return []
  return Object.keys(all)
    .toSorted()
    .flatMap((name) => {
      const v = all[name]
      return isObject(v) ? [[name, v] as const] : []
    })
}

export function property(s: Raw, name: string): Raw | undefined {
  const all = nested(s, 'properties')
  return all && nested(all, name)
}

export const X_PRESERVE = 'x-kubernetes-preserve-unknown-fields'
export const X_EMBEDDED = 'x-kubernetes-embedded-resource'
export const X_INT_OR_STRING = 'x-kubernetes-int-or-string'
export const X_LIST_TYPE = 'x-kubernetes-list-type'
export const X_LIST_MAP_KEYS = 'x-kubernetes-list-map-keys'
export const X_MAP_TYPE = 'x-kubernetes-map-type'
export const X_VALIDATIONS = 'x-kubernetes-validations'

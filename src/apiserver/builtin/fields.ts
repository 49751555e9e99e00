// Reads parts of objects whose shape a schema has checked already; a missing part reads as empty.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'

export type Fields = { readonly [field: string]: unknown }

const NONE: Fields = Object.freeze({})

export const fields = (v: unknown): Fields => (isObject(v) ? v : NONE)
export const specOf = (o: KubeObject): Fields => fields(o['spec'])
export const statusOf = (o: KubeObject): Fields => fields(o['status'])
export const text = (v: unknown): string => (typeof v === 'string' ? v : '')
export const number = (v: unknown): number => (typeof v === 'number' ? v : 0)
export const shown = (v: unknown): string => (typeof v === 'string' && v !== '' ? v : '<none>')

export const listAt = (o: Fields, field: string): readonly Fields[] => {
  const list = o[field]
  return Array.isArray(list) ? list.filter(isObject) : []
}

export const textsAt = (o: Fields, field: string): readonly string[] => {
  const list = o[field]
  return Array.isArray(list) ? list.filter((v) => typeof v === 'string') : []
}

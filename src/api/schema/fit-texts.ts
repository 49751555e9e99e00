// Cuts sentences to their field's maximum length and marks the cut: otherwise a status that is one word too long would be refused. Pure.
import { shortened } from '#lib/shortened.ts'
import type { Schema } from './schema.ts'

/** Texts for programs have a format or are list keys and stay unchanged: a cut name is another name. */
const isSentence = ({ type, pattern, format, enum: choices }: Schema): boolean =>
  type === 'string' && pattern === undefined && format === undefined && choices === undefined

/** Returns the same value if nothing is too long. */
export function fitTexts(schema: Schema, value: unknown): unknown {
  if (typeof value === 'string') return fitText(schema, value)
  if (Array.isArray(value)) return fitItems(schema, value)
  if (typeof value !== 'object' || value === null) return value
  const { properties = {}, additionalProperties: others } = schema
  return fitFields(value as Fields, (name) => properties[name] ?? (typeof others === 'object' ? others : undefined))
}

type Fields = Readonly<Record<string, unknown>>

function fitText(schema: Schema, text: string): string {
  const { maxLength = Infinity } = schema
  return isSentence(schema) ? shortened(text, maxLength) : text
}

function fitItems({ items, 'x-kubernetes-list-map-keys': keys = [] }: Schema, list: readonly unknown[]): unknown {
  if (items === undefined) return list
  const { properties, ...rest } = items
  const open = Object.fromEntries(Object.entries(properties ?? {}).filter(([name]) => !keys.includes(name)))
  const each: Schema = properties === undefined ? items : { ...rest, properties: open }
  const next = list.map((item) => fitTexts(each, item))
  return next.every((item, n) => item === list[n]) ? list : next
}

function fitFields(fields: Fields, schemaOf: (name: string) => Schema | undefined): Fields {
  let next: Record<string, unknown> | undefined
  for (const [name, value] of Object.entries(fields)) {
    const of = schemaOf(name)
    const fitted = of === undefined ? value : fitTexts(of, value)
    if (fitted !== value) (next ??= { ...fields })[name] = fitted
  }
  return next ?? fields
}

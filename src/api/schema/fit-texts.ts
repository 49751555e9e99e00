// Cuts sentences for people to the length that their field allows, and marks the cut. A status that is refused for one word too many says nothing at all. Pure.
import { shortened } from '#lib/shortened.ts'
import type { Schema } from './schema.ts'

/** What programs read has a form, or is a key of its list, and is left as it is: a name that is cut is another name. */
const isSentence = ({ type, pattern, format, enum: choices }: Schema): boolean =>
  type === 'string' && pattern === undefined && format === undefined && choices === undefined

/** The very same value when nothing is too long. */
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

// Messages that another server may send: with nothing but what their type demands, or with words that this page does not know.
import { isObject } from '#lib/json.ts'
import type { Snapshot } from '#console/protocol.ts'
import { problemsAs, schemaOf, topicType } from './messages.ts'
import type { Schema } from './type-schemas.ts'

/** A word that no page knows. */
const UNKNOWN_WORD = 'OfAnotherServer'

type Edit = 'Least' | 'OtherWords'

/** Without every field that may be absent. */
export const leastOf = <T extends Snapshot>(snapshot: T): T => edited(snapshot, 'Least')

/** Each word of a list of words is another one; what kind of row it is stays. */
export const withOtherWords = <T extends Snapshot>(snapshot: T): T => edited(snapshot, 'OtherWords')

const edited = <T extends Snapshot>(snapshot: T, edit: Edit): T =>
  walked({ $ref: `#/$defs/${topicType(snapshot.topic) ?? ''}` }, snapshot, edit) as T

function walked(schema: Schema | undefined, value: unknown, edit: Edit, key = ''): unknown {
  if (typeof schema !== 'object') return value
  const { $ref, anyOf, properties, required = [], items, additionalProperties, enum: words } = schema
  if (typeof $ref === 'string') return walked(schemaOf(nameIn($ref)), value, edit, key)
  if (Array.isArray(anyOf)) return walked(fitting(anyOf as readonly Schema[], value), value, edit, key)
  if (Array.isArray(words) && typeof value === 'string')
    return edit === 'OtherWords' && key !== 'row' ? UNKNOWN_WORD : value
  if (Array.isArray(value)) return value.map((v) => walked(items as Schema, v, edit))
  if (!isObject(value)) return value
  const own = (properties ?? {}) as Readonly<Record<string, Schema>>
  const kept = Object.entries(value).filter(
    ([name]) => edit !== 'Least' || !(name in own) || (required as readonly string[]).includes(name),
  )
  return Object.fromEntries(
    kept.map(([name, v]) => [name, walked(own[name] ?? (additionalProperties as Schema), v, edit, name)]),
  )
}

const nameIn = (ref: string): string => ref.slice('#/$defs/'.length)

/** Of a union of named types the one that the value is of. */
const fitting = (all: readonly Schema[], value: unknown): Schema | undefined =>
  all.find(
    (s) => typeof s === 'object' && typeof s['$ref'] === 'string' && problemsAs(nameIn(s['$ref']), value).length === 0,
  )

// The OpenAPI v2 document in the only form in which kubectl asks for it: the protobuf messages of the gnostic library. Written from
// the JSON document; what those messages have no field for is left out.
import { isObject } from '#lib/json.ts'

export const GNOSTIC_TYPE = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'

type Fields = Readonly<Record<string, unknown>>
const fields = (v: unknown): Fields => (isObject(v) ? v : {})
const listOf = (v: unknown): readonly unknown[] => (Array.isArray(v) ? v : [])

const LENGTH_DELIMITED = 2
const FIXED_64 = 1

function varint(n: number): Buffer {
  const bytes: number[] = []
  let left = n
  for (; left >= 0x80; left = Math.floor(left / 0x80)) bytes.push((left % 0x80) + 0x80)
  bytes.push(left)
  return Buffer.from(bytes)
}

const NOTHING = Buffer.alloc(0)
const tagged = (field: number, wire: number, ...rest: readonly Buffer[]): Buffer =>
  Buffer.concat([varint(field * 8 + wire), ...rest])

const message = (field: number, body: Buffer): Buffer => tagged(field, LENGTH_DELIMITED, varint(body.length), body)
const text = (field: number, v: unknown): Buffer =>
  typeof v === 'string' && v !== '' ? message(field, Buffer.from(v)) : NOTHING
const flag = (field: number, v: unknown): Buffer => (v === true ? tagged(field, 0, varint(1)) : NOTHING)
const count = (field: number, v: unknown): Buffer =>
  typeof v === 'number' && v > 0 ? tagged(field, 0, varint(v)) : NOTHING
function double(field: number, v: unknown): Buffer {
  if (typeof v !== 'number' || v === 0) return NOTHING
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(v)
  return tagged(field, FIXED_64, bytes)
}
/** JSON is YAML, and YAML is how values without a type travel. */
const any = (field: number, v: unknown): Buffer =>
  v === undefined ? NOTHING : message(field, text(2, JSON.stringify(v)))
const many = <T>(values: readonly T[], write: (v: T) => Buffer): Buffer => Buffer.concat(values.map(write))
const named = (field: number, all: Fields, write: (v: unknown) => Buffer): Buffer =>
  many(Object.entries(all), ([name, v]) => message(field, Buffer.concat([text(1, name), message(2, write(v))])))
const extensions = (field: number, all: Fields): Buffer =>
  many(
    Object.entries(all).filter(([name]) => name.startsWith('x-')),
    ([name, v]) => message(field, Buffer.concat([text(1, name), any(2, v)])),
  )

function schemaMessage(value: unknown): Buffer {
  const s = fields(value)
  const more = s['additionalProperties']
  // there is no "one of": a number or a string is a string with that format
  const type = s['type'] ?? (s['format'] === 'int-or-string' ? 'string' : undefined)
  return Buffer.concat([
    text(1, s['$ref']),
    text(2, s['format']),
    text(4, s['description']),
    any(5, s['default']),
    double(7, s['maximum']),
    flag(8, s['exclusiveMaximum']),
    double(9, s['minimum']),
    flag(10, s['exclusiveMinimum']),
    count(11, s['maxLength']),
    count(12, s['minLength']),
    text(13, s['pattern']),
    count(14, s['maxItems']),
    count(15, s['minItems']),
    flag(16, s['uniqueItems']),
    count(17, s['maxProperties']),
    count(18, s['minProperties']),
    many(listOf(s['required']), (v) => text(19, v)),
    many(listOf(s['enum']), (v) => any(20, v)),
    isObject(more) ? message(21, message(1, schemaMessage(more))) : NOTHING,
    more === true ? message(21, flag(2, true)) : NOTHING,
    typeof type === 'string' ? message(22, text(1, type)) : NOTHING,
    isObject(s['items']) ? message(23, message(1, schemaMessage(s['items']))) : NOTHING,
    many(listOf(s['allOf']), (v) => message(24, schemaMessage(v))),
    isObject(s['properties']) ? message(25, named(1, s['properties'], schemaMessage)) : NOTHING,
    extensions(31, s),
  ])
}

/** Query parameters, as far as they show clients that the server validates fields. */
const parameterMessage = (v: unknown): Buffer => {
  const p = fields(v)
  const query = Buffer.concat([text(2, p['in']), text(4, p['name']), text(6, p['type'])])
  return message(1, message(2, message(3, query)))
}

function responseMessage(v: unknown): Buffer {
  const { description, schema } = fields(v)
  const body = schema === undefined ? NOTHING : message(2, message(1, schemaMessage(schema)))
  return message(1, Buffer.concat([text(1, description), body]))
}

const operationMessage = (v: unknown): Buffer => {
  const operation = fields(v)
  return Buffer.concat([
    many(listOf(operation['parameters']), (p) => message(8, parameterMessage(p))),
    message(9, named(1, fields(operation['responses']), responseMessage)),
    extensions(13, operation),
  ])
}

const METHOD_FIELDS: Fields = { get: 2, put: 3, post: 4, delete: 5, patch: 8 }

const pathMessage = (v: unknown): Buffer =>
  many(Object.entries(fields(v)), ([method, operation]) => {
    const field = METHOD_FIELDS[method]
    return typeof field === 'number' ? message(field, operationMessage(operation)) : NOTHING
  })

export function gnosticDocument(document: unknown): Buffer {
  const { swagger, info, paths, definitions } = fields(document)
  return Buffer.concat([
    text(1, swagger),
    message(2, Buffer.concat([text(1, fields(info)['title']), text(2, fields(info)['version'])])),
    message(8, named(2, fields(paths), pathMessage)),
    message(9, named(1, fields(definitions), schemaMessage)),
  ])
}

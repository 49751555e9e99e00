// ConfigMaps and Secrets: data by keys, read-only when marked as immutable.
import { goSyntaxError } from '../codec/json-scan.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { ageColumn, nameColumn, text } from './core-columns.ts'
import { forbidden, immutable, invalid, required, tooLong, type FieldProblem } from './field-problem.ts'
import type { BuiltinKind, Draft } from './kind.ts'
import * as s from './shape.ts'

/** Of all keys and values. */
const MAX_BYTES = 1024 * 1024
const KEY = /^[-._a-zA-Z0-9]+$/
const KEY_TEXT =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"

const mapAt = (o: KubeObject, field: string): Readonly<Record<string, unknown>> => {
  const v = o[field]
  return isObject(v) ? v : {}
}

function keyProblems(key: string): readonly string[] {
  if (key.length > 253) return ['must be no more than 253 characters']
  if (!KEY.test(key)) return [KEY_TEXT]
  if (key === '.') return ["must not be '.'"]
  if (key === '..') return ["must not be '..'"]
  return key.startsWith('..') ? ["must not start with '..'"] : []
}

const dataProblems = (o: KubeObject, field: string): FieldProblem[] =>
  Object.keys(mapAt(o, field)).flatMap((k) => keyProblems(k).map((p) => invalid(`${field}[${k}]`, k, p)))

function frozenProblems(o: KubeObject, old: KubeObject | undefined, fields: readonly string[]): FieldProblem[] {
  if (old?.['immutable'] !== true) return []
  const text = 'field is immutable when `immutable` is set'
  const out: FieldProblem[] = o['immutable'] === true ? [] : [forbidden('immutable', text)]
  for (const f of fields) if (!jsonEqual(o[f] ?? {}, old[f] ?? {})) out.push(forbidden(f, text))
  return out
}

const size = (values: Readonly<Record<string, unknown>>): number =>
  Object.values(values).reduce<number>((n, v) => n + Buffer.byteLength(String(v)), 0)

const configMap: BuiltinKind = {
  type: { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true },
  shortNames: ['cm'],
  schema: s.struct('ConfigMap', { data: s.mapOf(s.str), binaryData: s.mapOf(s.bytes), immutable: s.pointer(s.bool) }),
  columns: [
    nameColumn,
    {
      name: 'Data',
      type: 'string',
      description:
        "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys in the BinaryData field, this is enforced during validation process.",
      cell: (o) => Object.keys(mapAt(o, 'data')).length + Object.keys(mapAt(o, 'binaryData')).length,
    },
    ageColumn,
  ],
  validate(o, old) {
    const data = mapAt(o, 'data')
    const binary = mapAt(o, 'binaryData')
    const twice = Object.keys(data).filter((k) => Object.hasOwn(binary, k))
    return [
      ...dataProblems(o, 'data'),
      ...twice.map((k) => invalid(`data[${k}]`, k, 'duplicate of key present in binaryData')),
      ...dataProblems(o, 'binaryData'),
      ...(size(data) + size(binary) > MAX_BYTES ? [tooLong('[]', MAX_BYTES)] : []),
      ...frozenProblems(o, old, ['data', 'binaryData']),
    ]
  },
}

/** Keys that a secret of a type must have. */
const NEEDED: Readonly<Record<string, readonly string[] | undefined>> = {
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
}

function typeProblems(o: KubeObject): FieldProblem[] {
  const data = mapAt(o, 'data')
  const type = String(o['type'])
  const missing = (NEEDED[type] ?? []).filter((k) => data[k] === undefined).map((k) => required(`data[${k}]`))
  if (type === 'kubernetes.io/basic-auth' && data['username'] === undefined && data['password'] === undefined)
    missing.push(required('data[username]'), required('data[password]'))
  if (
    type === 'kubernetes.io/service-account-token' &&
    (o.metadata.annotations?.['kubernetes.io/service-account.name'] ?? '') === ''
  )
    missing.push(required('metadata.annotations[kubernetes.io/service-account.name]'))
  return [...missing, ...credentialsProblems(data, NEEDED[type]?.[0] ?? '')]
}

/** A text that container runtimes read as JSON must be JSON; the error names the mistake but never quotes the content. */
function credentialsProblems(data: Readonly<Record<string, unknown>>, key: string): FieldProblem[] {
  if (!key.startsWith('.docker') || data[key] === undefined) return []
  const decoded = Buffer.from(String(data[key]), 'base64').toString('utf8')
  const wrong = goSyntaxError(decoded) ?? notAMap(decoded)
  return wrong === undefined ? [] : [invalid(`data[${key}]`, '<secret contents redacted>', wrong)]
}

function notAMap(text: string): string | undefined {
  const value: unknown = JSON.parse(text)
  if (value === null || isObject(value)) return undefined
  const kind = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value
  return `json: cannot unmarshal ${kind} into Go value of type map[string]interface {}`
}

/** stringData is written over data and is never read back. */
function withStringData(o: Draft): Draft {
  const given = o['stringData']
  if (!isObject(given)) return o
  const { stringData: _, ...rest } = o
  const encoded = Object.entries(given).map(([k, v]) => [k, Buffer.from(String(v)).toString('base64')])
  return { ...rest, data: { ...mapAt(o, 'data'), ...Object.fromEntries(encoded) } }
}

const secret: BuiltinKind = {
  type: { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true },
  schema: s.struct('Secret', {
    data: s.mapOf(s.bytes),
    stringData: s.mapOf(s.str),
    type: s.withDefault(s.str, 'Opaque'),
    immutable: s.pointer(s.bool),
  }),
  columns: [
    nameColumn,
    text('Type', (o) => String(o['type'] ?? '')),
    { name: 'Data', type: 'string', cell: (o) => Object.keys(mapAt(o, 'data')).length },
    ageColumn,
  ],
  selectableFields: { type: (o) => String(o['type'] ?? '') },
  applyDefaults: withStringData,
  validate(o, old) {
    const decoded = Object.values(mapAt(o, 'data')).reduce<number>(
      (n, v) => n + Math.floor((String(v).length * 3) / 4),
      0,
    )
    return [
      ...(old !== undefined && o['type'] !== old['type'] ? [immutable('type', o['type'])] : []),
      ...dataProblems(o, 'data'),
      ...(decoded > MAX_BYTES ? [tooLong('data', MAX_BYTES)] : []),
      ...typeProblems(o),
      ...frozenProblems(o, old, ['data']),
    ]
  },
}

export const configurationKinds = [configMap, secret] as const

// Reads the protobuf bodies that Go clients and kubectl send for built-in kinds. Answers are always JSON, which every client takes
// too. The field numbers of all messages (as published with the API, 1.36) are data beside this file, read on first use.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { releaseRoot } from '#lib/release-root.ts'

/** An envelope begins with this; what follows names the kind and holds the object. */
const MAGIC = Buffer.from('k8s\0')
/** Deeper messages are attacks. */
const MAX_DEPTH = 100

export class ProtobufError extends Error {
  override readonly name = 'ProtobufError'
}

interface Field {
  /** '' when the fields of the message belong to its parent. */
  readonly name: string
  readonly type: string
  readonly form: 'one' | 'list' | 'map'
}

interface Tables {
  /** `apiVersion kind` → message. */
  readonly kinds: Readonly<Record<string, string | undefined>>
  readonly messages: Readonly<Record<string, string | undefined>>
}

let tables: Tables | undefined
const fieldsByMessage = new Map<string, ReadonlyMap<number, Field>>()

function load(): Tables {
  tables ??= JSON.parse(readFileSync(join(releaseRoot(), 'src/apiserver/codec/protobuf-fields.json'), 'utf8')) as Tables
  return tables
}

function fieldsOf(message: string): ReadonlyMap<number, Field> {
  let fields = fieldsByMessage.get(message)
  if (fields === undefined) {
    fields = new Map(
      (load().messages[message] ?? '')
        .split(' ')
        .filter((f) => f !== '')
        .map(readField),
    )
    fieldsByMessage.set(message, fields)
  }
  return fields
}

/** `3:data:%bytes`: number, name, form (* a list, % a map by text) and type. */
function readField(text: string): readonly [number, Field] {
  const [number = '', name = '', type = ''] = text.split(':')
  const form = type.startsWith('*') ? 'list' : type.startsWith('%') ? 'map' : 'one'
  return [Number(number), { name, type: form === 'one' ? type : type.slice(1), form }]
}

/** The object inside an envelope, as JSON would have it. */
export function decodeProtobuf(body: Buffer): Record<string, unknown> {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC))
    throw new ProtobufError('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]')
  const { typeMeta, raw } = envelope(body.subarray(MAGIC.length))
  const { apiVersion = '', kind = '' } = typeMeta
  const { kinds } = load()
  const message =
    kinds[`${apiVersion} ${kind}`] ??
    kinds[`* ${kind}`] ??
    kinds[`${apiVersion.replace(/v\d+(alpha|beta)\d+$/, 'v1')} ${kind}`]
  if (message === undefined)
    throw new ProtobufError(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`)
  return { apiVersion, kind, ...readMessage(message, raw, 0) }
}

interface Envelope {
  readonly typeMeta: { readonly apiVersion?: string; readonly kind?: string }
  readonly raw: Buffer
}

function envelope(bytes: Buffer): Envelope {
  let typeMeta: Envelope['typeMeta'] = {}
  let raw: Buffer = Buffer.alloc(0)
  for (const { number, value } of wireFields(bytes)) {
    if (!Buffer.isBuffer(value)) continue
    if (number === 2) raw = value
    if (number !== 1) continue
    const words = [...wireFields(value)].map((f): [number, string] => [
      f.number,
      Buffer.isBuffer(f.value) ? f.value.toString('utf8') : '',
    ])
    const byNumber = new Map(words)
    typeMeta = { apiVersion: byNumber.get(1) ?? '', kind: byNumber.get(2) ?? '' }
  }
  return { typeMeta, raw }
}

interface WireField {
  readonly number: number
  /** Bytes of a length-delimited field, else the bits. */
  readonly value: Buffer | bigint
}

function* wireFields(bytes: Buffer): Iterable<WireField> {
  let at = 0
  const varint = (): bigint => {
    let result = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++]
      if (byte === undefined) throw new ProtobufError('unexpected EOF')
      result |= BigInt(byte & 127) << shift
      if (byte < 128) return BigInt.asUintN(64, result)
    }
    throw new ProtobufError('proto: integer overflow')
  }
  const take = (n: number): Buffer => {
    if (at + n > bytes.length) throw new ProtobufError('unexpected EOF')
    at += n
    return bytes.subarray(at - n, at)
  }
  while (at < bytes.length) {
    const key = Number(varint())
    const number = key >>> 3
    switch (key & 7) {
      case 0:
        yield { number, value: varint() }
        break
      case 1:
        yield { number, value: take(8).readBigUInt64LE() }
        break
      case 2:
        yield { number, value: take(Number(varint())) }
        break
      case 5:
        yield { number, value: BigInt(take(4).readUInt32LE()) }
        break
      default:
        throw new ProtobufError(`proto: illegal wireType ${key & 7}`)
    }
  }
}

function readMessage(message: string, bytes: Buffer, depth: number): Record<string, unknown> {
  if (depth > MAX_DEPTH) throw new ProtobufError('the message is nested too deeply')
  const fields = fieldsOf(message)
  const out: Record<string, unknown> = {}
  for (const { number, value } of wireFields(bytes)) {
    const field = fields.get(number)
    if (field === undefined) continue
    if (field.form === 'map') addEntry(out, field, value, depth)
    else if (field.form === 'list') {
      const list = out[field.name]
      const item = readValue(field.type, value, depth)
      if (Array.isArray(list)) list.push(item)
      else out[field.name] = [item]
    } else if (field.name === '') Object.assign(out, readValue(field.type, value, depth))
    else out[field.name] = readValue(field.type, value, depth)
  }
  return out
}

function addEntry(out: Record<string, unknown>, { name, type }: Field, value: Buffer | bigint, depth: number): void {
  const map = (out[name] ??= {}) as Record<string, unknown>
  let key = ''
  let entry: unknown = ''
  for (const f of wireFields(bytesOf(value))) {
    if (f.number === 1) key = bytesOf(f.value).toString('utf8')
    else if (f.number === 2) entry = readValue(type, f.value, depth)
  }
  Object.defineProperty(map, key, { value: entry, enumerable: true, configurable: true, writable: true })
}

function bytesOf(value: Buffer | bigint): Buffer {
  if (Buffer.isBuffer(value)) return value
  throw new ProtobufError('proto: wrong wireType')
}

/** Types that are lists in JSON, wrapped in a message. */
const LIST_MESSAGE = /\.ExtraValue$/

function readValue(type: string, value: Buffer | bigint, depth: number): unknown {
  switch (type) {
    case 'string':
      return bytesOf(value).toString('utf8')
    case 'bytes':
      return bytesOf(value).toString('base64')
    case 'bool':
      return value === 1n
    case 'int32':
    case 'int64':
      return integer(value)
    case 'double':
      return typeof value === 'bigint' ? double(value) : 0
    case 'time':
    case 'microTime':
      return timeText(bytesOf(value), type === 'microTime')
    case 'quantity':
      return scalarAt(bytesOf(value), 1) ?? '0'
    case 'json': {
      const raw = [...wireFields(bytesOf(value))].find((f) => f.number === 1)?.value
      return raw === undefined ? {} : (JSON.parse(bytesOf(raw).toString('utf8')) as unknown)
    }
    case 'intOrString':
      return intOrString(bytesOf(value))
    default: {
      const read = readMessage(type, bytesOf(value), depth + 1)
      return LIST_MESSAGE.test(type) ? (read['items'] ?? []) : read
    }
  }
}

function integer(value: Buffer | bigint): number | bigint {
  if (Buffer.isBuffer(value)) throw new ProtobufError('proto: wrong wireType')
  const signed = BigInt.asIntN(64, value)
  const number = Number(signed)
  return Number.isSafeInteger(number) ? number : signed
}

function double(bits: bigint): number {
  const view = new DataView(new ArrayBuffer(8))
  view.setBigUint64(0, bits)
  return view.getFloat64(0)
}

const scalarAt = (bytes: Buffer, number: number): string | undefined => {
  const found = [...wireFields(bytes)].find((f) => f.number === number)?.value
  return found === undefined ? undefined : bytesOf(found).toString('utf8')
}

/** No seconds at all is no time. */
function timeText(bytes: Buffer, micro: boolean): string | null {
  const parts = new Map([...wireFields(bytes)].map((f): [number, number] => [f.number, Number(integer(f.value))]))
  const seconds = parts.get(1)
  // Go's zero time is before the year 1
  if (seconds === undefined || seconds <= -62_135_596_800) return null
  const whole = new Date(seconds * 1_000).toISOString().slice(0, 19)
  if (!micro) return `${whole}Z`
  return `${whole}.${String(Math.floor((parts.get(2) ?? 0) / 1_000)).padStart(6, '0')}Z`
}

function intOrString(bytes: Buffer): unknown {
  const fields = new Map([...wireFields(bytes)].map((f): [number, Buffer | bigint] => [f.number, f.value]))
  const isText = fields.get(1) === 1n
  const text = fields.get(3)
  const number = fields.get(2)
  if (isText) return text === undefined ? '' : bytesOf(text).toString('utf8')
  return number === undefined ? 0 : integer(number)
}

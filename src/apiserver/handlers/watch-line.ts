// The lines of a watch as bytes: one version in one form is encoded and framed once for all who watch it.
import type { KubeObject, Status } from '#api/schema/object.ts'
import { apiVersionOf, type ResourceType } from '#api/schema/resource.ts'
import { encodeJson } from '../codec/json.ts'
import { Stored, type ChangeType, type StoreEvent } from '../storage/stored.ts'
import { partialMetadata, tableOf } from '../table/table.ts'
import type { Call } from './context.ts'
import { includeOf, viewOf, type Include } from './encode.ts'

const NEWLINE = Buffer.from('\n')
const CRLF = Buffer.from('\r\n')
const chunks = new WeakMap<Buffer, Buffer>()

/** A line as one chunk of the answer. Headers have been flushed before, so the socket keeps the order. */
export function chunkOf(line: Buffer): Buffer {
  let chunk = chunks.get(line)
  if (chunk === undefined) {
    chunk = Buffer.concat([Buffer.from(`${line.length.toString(16)}\r\n`), line, CRLF])
    chunks.set(line, chunk)
  }
  return chunk
}

/** Lines that are not shared, as one chunk. */
export function joinedChunk(parts: readonly Buffer[]): Buffer {
  const bytes = parts.reduce((n, p) => n + p.length, 0)
  return Buffer.concat([Buffer.from(`${bytes.toString(16)}\r\n`), ...parts, CRLF])
}

/** The content of a chunk. */
export const contentOf = (chunk: Buffer): Buffer => chunk.subarray(chunk.indexOf(CRLF) + CRLF.length, -CRLF.length)

export function atRevision(s: Stored, revision: number): Stored {
  const value: KubeObject = { ...s.value, metadata: { ...s.value.metadata, resourceVersion: String(revision) } }
  return new Stored(s, revision, encodeJson(value), value)
}

/** The line of an event; one version in one form is encoded once for all who watch it. */
export function lineOf(call: Call, type: ChangeType, object: Stored, shared: StoreEvent): Buffer {
  const { served, accept } = call
  const isStored = accept.as === 'object' && served.behaviour.storedAsIs
  const key = isStored ? type : `${type} ${accept.as} ${apiVersionOf(served.type)}`
  return sharedLine(shared, key, () => Buffer.concat(lineParts(call, type, object)))
}

export interface TableLine {
  readonly type: ChangeType
  readonly object: Stored
  /** Column definitions are sent with the first table only. */
  readonly columns: boolean
}

export function tableLine(call: Call, line: TableLine, shared: StoreEvent | undefined): Buffer {
  const include = includeOf(call)
  const key = `${line.type} Table ${apiVersionOf(call.served.type)} ${include} ${line.columns}`
  return sharedLine(shared, key, () => freshTableLine(call, line, include))
}

function freshTableLine({ served, parts }: Call, { type, object, columns }: TableLine, include: Include): Buffer {
  const value = viewOf(served, object)
  const metadata = { resourceVersion: value.metadata.resourceVersion ?? '' }
  const table = tableOf(served, [value], metadata, include, parts.clock.now())
  return Buffer.concat([encodeJson({ type, object: columns ? table : { ...table, columnDefinitions: null } }), NEWLINE])
}

function sharedLine(event: StoreEvent | undefined, key: string, fresh: () => Buffer): Buffer {
  const kept = event?.lines.get(key)
  if (kept !== undefined) return kept
  const line = fresh()
  event?.lines.set(key, line)
  return line
}

export function lineParts(call: Call, type: ChangeType, object: Stored): readonly Buffer[] {
  const { served, accept } = call
  if (accept.as === 'object' && served.behaviour.storedAsIs) return [STARTS[type], object.bytes, END]
  const value = viewOf(served, object)
  const shown = accept.as === 'PartialObjectMetadata' ? partialMetadata(value) : value
  return [STARTS[type], encodeJson(shown), END]
}

const startOf = (type: ChangeType): Buffer => Buffer.from(`{"type":"${type}","object":`)
const STARTS: Readonly<Record<ChangeType, Buffer>> = {
  ADDED: startOf('ADDED'),
  MODIFIED: startOf('MODIFIED'),
  DELETED: startOf('DELETED'),
}
const END = Buffer.from('}\n')

export function bookmarkLine(
  type: ResourceType,
  revision: number,
  annotations: Readonly<Record<string, string>> | undefined,
): Buffer {
  const metadata = {
    resourceVersion: String(revision),
    ...(annotations === undefined ? {} : { annotations }),
  }
  const object = { kind: type.kind, apiVersion: apiVersionOf(type), metadata }
  return Buffer.concat([encodeJson({ type: 'BOOKMARK', object }), NEWLINE])
}

export const errorLine = (status: Status): Buffer =>
  Buffer.concat([encodeJson({ type: 'ERROR', object: status }), NEWLINE])

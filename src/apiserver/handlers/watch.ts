// Watches: the present state or a version to go on from, then every change in order, each once, until the client or a time ends it.
// A reader that is too slow is told so (410) and cut off: it never misses a change without knowing.
import { apiVersionOf } from '#schema/resource.ts'
import type { KubeObject } from '#schema/object.ts'
import { encodeJson } from '../codec/json.ts'
import { listOptions, type ListOptions } from '../http/query.ts'
import { parseFieldSelector } from '../selectors/field-selector.ts'
import { parseLabelSelector } from '../selectors/label-selector.ts'
import { expired, internal, notAcceptable, type Refusal } from '../status/refusal.ts'
import { Stored, type ChangeType, type StoreEvent } from '../storage/stored.ts'
import { partialMetadata, tableOf } from '../table/table.ts'
import type { Call } from './context.ts'
import { includeOf, JSON_TYPE, viewOf } from './encode.ts'

/** Unsent bytes of one watcher; a reader behind by more gets 410 and lists again. */
const MAX_BUFFERED_BYTES = 8 * 1024 * 1024
/** Bookmarks tell idle watchers where they are. */
const BOOKMARK_EVERY_MS = 60_000
/** Without a time-out of the client's: between half an hour and an hour, so that not all come back at once. */
const DEFAULT_TIMEOUT_MS = 30 * 60_000

type Matches = (s: Stored) => boolean

export async function handleWatch(call: Call): Promise<undefined> {
  const options = listOptions(call.query, call.path.watch)
  if (call.accept.as === 'PartialObjectMetadataList') throw notAcceptable()
  new Watcher(call, options).start()
  return undefined
}

class Watcher {
  readonly #call: Call
  readonly #options: ListOptions
  readonly #matches: Matches | undefined
  readonly #scope: { readonly namespace: string | undefined; readonly name: string | undefined }
  #stop: (() => void)[] = []
  #sent: number
  #headSent = false
  /** Column definitions are sent with the first table only. */
  #columnsSent = false

  constructor(call: Call, options: ListOptions) {
    this.#call = call
    this.#options = options
    const { served, path } = call
    const labels = parseLabelSelector(options.labelSelector)
    const fields = parseFieldSelector(options.fieldSelector, served)
    const namespaced = served.type.namespaced
    const name = path.name === '' || (path.plural === 'namespaces' && path.name === '') ? fields.name : path.name
    this.#scope = {
      namespace: namespaced ? path.namespace || fields.namespace : name === undefined ? undefined : '',
      name,
    }
    const { namespace } = this.#scope
    const byScope = name !== undefined && namespace === undefined
    this.#matches =
      labels === undefined && fields.matches === undefined && !byScope
        ? undefined
        : (s) =>
            (!byScope || s.name === name) &&
            (labels === undefined || labels(s.value.metadata.labels)) &&
            (fields.matches === undefined || fields.matches(viewOf(served, s)))
    this.#sent = 0
  }

  start(): void {
    const { response, parts, served } = this.#call
    const collection = parts.store.collection(served.resource)
    const from = this.#from()
    if (typeof from === 'number' && from > 0 && this.#options.sendInitialEvents !== true) {
      const missed = collection.since(from, this.#scope)
      this.#head()
      if (missed === undefined) return this.#fail(expired(`too old resource version: ${from} (${collection.floor})`))
      for (const e of missed) this.#change(e)
      this.#sent = Math.max(from, parts.store.revision)
    } else {
      this.#head()
      if (this.#options.sendInitialEvents !== false) this.#initial()
      this.#sent = parts.store.revision
    }
    this.#stop.push(collection.watch(this.#scope, (e) => this.#change(e)))
    this.#limitTime()
    response.on('close', () => this.#end())
    response.on('error', () => this.#end())
  }

  /** The version to go on from; undefined: begin with the present state. */
  #from(): number | undefined {
    const { resourceVersion } = this.#options
    if (resourceVersion === '') return undefined
    if (!/^\d+$/.test(resourceVersion))
      throw internal(
        `resourceVersion: Invalid value: ${JSON.stringify(resourceVersion)}: strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`,
      )
    return Number(resourceVersion)
  }

  #head(): void {
    const { response, warnings } = this.#call
    for (const w of warnings) response.appendHeader('warning', `299 - ${JSON.stringify(w)}`)
    response.writeHead(200, {
      'content-type': JSON_TYPE,
      'cache-control': 'no-cache, private',
      'transfer-encoding': 'chunked',
    })
    response.flushHeaders()
    this.#headSent = true
  }

  #initial(): void {
    const { parts, served } = this.#call
    const collection = parts.store.collection(served.resource)
    const { namespace, name } = this.#scope
    const one = namespace !== undefined && name !== undefined
    const present = one ? [collection.get(namespace, name)].filter((s) => s !== undefined) : collection.list(namespace)
    for (const s of present) {
      if (name !== undefined && s.name !== name) continue
      if (this.#matches === undefined || this.#matches(s)) this.#write(this.#line('ADDED', s, undefined))
    }
    if (this.#options.sendInitialEvents === true && this.#options.allowWatchBookmarks)
      this.#bookmark(parts.store.revision, { 'k8s.io/initial-events-end': 'true' })
  }

  #change(event: StoreEvent): void {
    // a client that resumes from a version in the future has seen what comes before it
    if (event.revision <= this.#sent && this.#sent !== 0) return
    const matches = this.#matches
    if (matches === undefined) return this.#write(this.#line(event.type, event.object, event))
    const is = event.type !== 'DELETED' && matches(event.object)
    const was = event.previous !== undefined && matches(event.previous)
    if (is)
      return this.#write(
        lineOf(
          this.#call,
          was ? 'MODIFIED' : 'ADDED',
          event.object,
          was === (event.type === 'MODIFIED') ? event : undefined,
        ),
      )
    if (!was || event.previous === undefined) return
    // an object that leaves the selection is shown as it last matched, with the version of the change
    const shown = event.type === 'DELETED' ? event.object : atRevision(event.previous, event.revision)
    this.#write(this.#line('DELETED', shown, event.type === 'DELETED' ? event : undefined))
  }

  #line(type: ChangeType, object: Stored, event: StoreEvent | undefined): Buffer {
    if (this.#call.accept.as !== 'Table') return lineOf(this.#call, type, object, event)
    const table = tableLine(this.#call, type, object, !this.#columnsSent)
    this.#columnsSent = true
    return table
  }

  #write(line: Buffer): void {
    const { response } = this.#call
    if (response.writableEnded || response.destroyed) return
    if (response.writableLength > MAX_BUFFERED_BYTES)
      return this.#fail(expired('too old resource version: the watcher did not keep up'))
    // framed once for all watchers of the line: each of them would otherwise write three pieces
    if (response.socket === null) response.write(line)
    else response.socket.write(chunkOf(line))
  }

  #bookmark(revision: number, annotations: Readonly<Record<string, string>> | undefined): void {
    const { kind, version } = { kind: this.#call.served.type.kind, version: apiVersionOf(this.#call.served.type) }
    const object = {
      kind,
      apiVersion: version,
      metadata: {
        resourceVersion: String(revision),
        creationTimestamp: null,
        ...(annotations === undefined ? {} : { annotations }),
      },
    }
    this.#write(Buffer.concat([encodeJson({ type: 'BOOKMARK', object }), NEWLINE]))
  }

  #limitTime(): void {
    const { clock, random, store } = this.#call.parts
    const asked = this.#options.timeoutSeconds
    const ms = asked !== undefined && asked > 0 ? asked * 1_000 : DEFAULT_TIMEOUT_MS * (1 + random.next())
    const end = clock.after(ms, () => this.#end())
    this.#stop.push(() => end.cancel())
    if (!this.#options.allowWatchBookmarks) return
    let next = clock.after(BOOKMARK_EVERY_MS, beat)
    const again = () => {
      next = clock.after(BOOKMARK_EVERY_MS, beat)
    }
    const send = (revision: number) => this.#bookmark(revision, undefined)
    function beat(): void {
      send(store.revision)
      again()
    }
    this.#stop.push(() => next.cancel())
  }

  #fail(refusal: Refusal): void {
    const { response } = this.#call
    if (!this.#headSent) throw refusal
    response.write(Buffer.concat([encodeJson({ type: 'ERROR', object: refusal.status }), NEWLINE]))
    this.#end()
  }

  #end(): void {
    const stops = this.#stop
    this.#stop = []
    for (const stop of stops) stop()
    if (!this.#call.response.writableEnded) this.#call.response.end()
  }
}

const NEWLINE = Buffer.from('\n')
const CRLF = Buffer.from('\r\n')
const chunks = new WeakMap<Buffer, Buffer>()

/** A line as one chunk of the answer. Headers have been flushed before, so the socket keeps the order. */
function chunkOf(line: Buffer): Buffer {
  let chunk = chunks.get(line)
  if (chunk === undefined) {
    chunk = Buffer.concat([Buffer.from(`${line.length.toString(16)}\r\n`), line, CRLF])
    chunks.set(line, chunk)
  }
  return chunk
}

function atRevision(s: Stored, revision: number): Stored {
  const value: KubeObject = { ...s.value, metadata: { ...s.value.metadata, resourceVersion: String(revision) } }
  return new Stored(s, revision, encodeJson(value), value)
}

/** The line of an event; one version in one form is encoded once for all who watch it. */
function lineOf(call: Call, type: ChangeType, object: Stored, event: StoreEvent | undefined): Buffer {
  const { served, accept } = call
  const form =
    accept.as === 'object'
      ? served.behaviour.storedAsIs
        ? 'object'
        : `object ${apiVersionOf(served.type)}`
      : undefined
  if (event === undefined || form === undefined) return freshLine(call, type, object)
  const key = `${type} ${form}`
  let line = event.lines.get(key)
  if (line === undefined) {
    line = freshLine(call, type, object)
    event.lines.set(key, line)
  }
  return line
}

function tableLine(call: Call, type: ChangeType, object: Stored, columns: boolean): Buffer {
  const value = viewOf(call.served, object)
  const metadata = { resourceVersion: value.metadata.resourceVersion ?? '' }
  const table = tableOf(call.served, [value], metadata, includeOf(call), call.parts.clock.now())
  return Buffer.concat([encodeJson({ type, object: columns ? table : { ...table, columnDefinitions: null } }), NEWLINE])
}

function freshLine(call: Call, type: ChangeType, object: Stored): Buffer {
  const { served, accept } = call
  const start = `{"type":"${type}","object":`
  if (accept.as === 'object' && served.behaviour.storedAsIs)
    return Buffer.concat([Buffer.from(start), object.bytes, END])
  const value = viewOf(served, object)
  const shown = accept.as === 'PartialObjectMetadata' ? partialMetadata(value) : value
  return Buffer.concat([Buffer.from(start), encodeJson(shown), END])
}

const END = Buffer.from('}\n')

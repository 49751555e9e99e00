// Watches: the present state or a version to go on from, then every change in order, each once, until the client or a time ends it.
// A watcher is a place in the history. It is sent what its reader takes; a reader that falls behind is caught up from the history
// when it reads again, and when the history no longer reaches back it is told so (410). So a slow reader costs a bounded piece of
// memory, and never misses a change without knowing.
import type { Timer } from '#lib/clock.ts'
import { listOptions, type ListOptions, versionProblem } from '../http/query.ts'
import { warningHeader } from '../http/warning-header.ts'
import { parseFieldSelector } from '../selectors/field-selector.ts'
import { parseLabelSelector } from '../selectors/label-selector.ts'
import { messageOf } from '#lib/errors.ts'
import { convertAll } from '../crd/webhook-conversion.ts'
import { expired, internal, internalError, notAcceptable, Refusal } from '../status/refusal.ts'
import type { Collection } from '../storage/collection.ts'
import type { ChangeType, Stored, StoreEvent } from '../storage/stored.ts'
import type { Call } from './context.ts'
import { JSON_TYPE, viewOf } from './encode.ts'
import {
  atRevision,
  bookmarkLine,
  chunkOf,
  errorLine,
  joinedChunk,
  lineOf,
  lineParts,
  tableLine,
} from './watch-line.ts'

/** Bytes on their way to one reader; they are shared by all who watch the same. Beyond it the rest stays in the history. */
const MAX_UNSENT_BYTES = 1024 * 1024
/** Of the present state, written in one piece. */
const TOGETHER_BYTES = 64 * 1024
/** A reader that takes nothing for so long is cut off; when it lives, it resumes. */
const STALLED_MS = 60_000
/** Bookmarks tell idle watchers where they are. */
const BOOKMARK_EVERY_MS = 60_000
/** Without a time-out of the client's: between half an hour and an hour, so that not all come back at once. */
const DEFAULT_TIMEOUT_MS = 30 * 60_000

type Matches = (s: Stored) => boolean

export async function handleWatch(call: Call): Promise<undefined> {
  const options = listOptions(call.query, call.path.watch)
  if (call.accept.as === 'PartialObjectMetadataList') throw notAcceptable()
  const { served, parts, path } = call
  const namespace = served.type.namespaced && path.namespace !== '' ? path.namespace : undefined
  await convertAll(served.behaviour.conversion, () => parts.store.collection(served.resource).list(namespace))
  new Watcher(call, options).start()
  return undefined
}

class Watcher {
  readonly #call: Call
  readonly #options: ListOptions
  readonly #collection: Collection
  readonly #matches: Matches | undefined
  readonly #scope: { readonly namespace: string | undefined; readonly name: string | undefined }
  readonly #stop: (() => void)[] = []
  /** What the present state still has to show. */
  #initial: readonly Stored[] = []
  #initialNext = 0
  #endsInitial = false
  /** Everything up to this revision has been written. */
  #sent = 0
  /** Nothing is left to be caught up: changes are written as they happen. */
  #isLive = false
  #stalled: Timer | undefined
  #headSent = false
  #ended = false
  /** Column definitions are sent with the first table only. */
  #columnsSent = false

  constructor(call: Call, options: ListOptions) {
    this.#call = call
    this.#options = options
    const { served, path, parts } = call
    this.#collection = parts.store.collection(served.resource)
    const labels = parseLabelSelector(options.labelSelector)
    const fields = parseFieldSelector(options.fieldSelector, served)
    const namespaced = served.type.namespaced
    const name = path.name === '' ? fields.name : path.name
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
  }

  start(): void {
    const { response, parts } = this.#call
    const { sendInitialEvents } = this.#options
    const from = this.#from()
    this.#head()
    if (from !== undefined && from > 0 && sendInitialEvents !== true) this.#sent = from
    else {
      if (sendInitialEvents !== false) this.#initial = this.#present()
      this.#endsInitial = sendInitialEvents === true && this.#options.allowWatchBookmarks
      this.#sent = parts.store.revision
    }
    this.#stop.push(this.#collection.watch(this.#scope, (e) => this.#happened(e)))
    this.#stop.push(() => this.#stalled?.cancel())
    this.#limitTime()
    response.on('close', () => this.#end())
    response.on('error', () => this.#end())
    this.#catchUp()
  }

  /** The version to go on from; undefined: begin with the present state. */
  #from(): number | undefined {
    const { resourceVersion } = this.#options
    if (resourceVersion === '') return undefined
    const problem = versionProblem(resourceVersion)
    if (problem !== undefined)
      throw internal(`resourceVersion: Invalid value: ${JSON.stringify(resourceVersion)}: ${problem}`)
    return Number(resourceVersion)
  }

  #head(): void {
    const { response, warnings } = this.#call
    for (const w of warnings) response.appendHeader('warning', warningHeader(w))
    response.writeHead(200, {
      'content-type': JSON_TYPE,
      'cache-control': 'no-cache, private',
      'transfer-encoding': 'chunked',
    })
    response.flushHeaders()
    this.#headSent = true
  }

  #present(): readonly Stored[] {
    const { namespace, name } = this.#scope
    const one = namespace !== undefined && name !== undefined
    const present = one ? [this.#collection.get(namespace, name)] : this.#collection.list(namespace)
    const matches = this.#matches
    return Array.from(present).filter((s): s is Stored => s !== undefined && (matches === undefined || matches(s)))
  }

  /** Writes until nothing is left or the reader has enough for now. */
  #catchUp(): void {
    while (this.#initialNext < this.#initial.length) {
      const lines: Buffer[] = []
      for (let bytes = 0; bytes < TOGETHER_BYTES && this.#initialNext < this.#initial.length; this.#initialNext++) {
        const s = this.#initial[this.#initialNext]
        const parts = s === undefined ? [] : this.#parts('ADDED', s)
        for (const part of parts) bytes += part.length
        lines.push(...parts)
      }
      if (!this.#writeTogether(lines)) return
    }
    this.#initial = []
    if (this.#endsInitial) {
      this.#endsInitial = false
      if (!this.#bookmark(this.#sent, { 'k8s.io/initial-events-end': 'true' })) return
    }
    const missed = this.#collection.since(this.#sent, this.#scope)
    if (missed === undefined)
      return this.#fail(expired(`too old resource version: ${this.#sent} (${this.#collection.floor})`))
    if (this.#mustConvert(missed)) return
    for (const e of missed) if (!this.#change(e, undefined)) return
    // a version in the future that the client asked for stays: what comes before it has been seen
    this.#sent = Math.max(this.#sent, this.#call.parts.store.revision)
    this.#isLive = true
  }

  #happened(event: StoreEvent): void {
    if (!this.#isLive || event.revision <= this.#sent) return
    if (this.#mustConvert([event]) || !this.#change(event, event)) this.#isLive = false
  }

  /** True: a webhook is asked what they look like, and the watch goes on from where it is when it has answered. */
  #mustConvert(events: readonly StoreEvent[]): boolean {
    const { conversion } = this.#call.served.behaviour
    if (conversion === undefined) return false
    const missing = conversion.missing(events.flatMap((e) => [e.object, e.previous]).filter((s) => s !== undefined))
    if (missing.length === 0) return false
    conversion.prepare(missing).then(
      () => this.#ended || this.#catchUp(),
      (e: unknown) => this.#ended || this.#fail(e instanceof Refusal ? e : internalError(messageOf(e))),
    )
    return true
  }

  /** False: written, and the reader has enough for now. `shared` keeps the line for the others who watch the event now. */
  #change(event: StoreEvent, shared: StoreEvent | undefined): boolean {
    this.#sent = event.revision
    const matches = this.#matches
    if (matches === undefined) return this.#write(this.#line(event.type, event.object, shared))
    const is = event.type !== 'DELETED' && matches(event.object)
    const was = event.previous !== undefined && matches(event.previous)
    if (is) {
      const type = was ? 'MODIFIED' : 'ADDED'
      return this.#write(this.#line(type, event.object, type === event.type ? shared : undefined))
    }
    if (!was || event.previous === undefined) return true
    // an object that leaves the selection is shown as it last matched, with the version of the change
    const isGone = event.type === 'DELETED'
    const shown = isGone ? event.object : this.#restamped(event.previous, event.revision)
    return this.#write(this.#line('DELETED', shown, isGone ? shared : undefined))
  }

  #restamped(previous: Stored, revision: number): Stored {
    const copy = atRevision(previous, revision)
    this.#call.served.behaviour.conversion?.copied(copy, previous)
    return copy
  }

  #line(type: ChangeType, object: Stored, event: StoreEvent | undefined): Buffer {
    if (this.#call.accept.as !== 'Table') return lineOf(this.#call, type, object, event)
    const table = tableLine(this.#call, type, object, !this.#columnsSent)
    this.#columnsSent = true
    return table
  }

  /** A line of its own, in parts: where it is what is stored, nothing is copied before it is written. */
  #parts(type: ChangeType, object: Stored): readonly Buffer[] {
    return this.#call.accept.as === 'Table'
      ? [this.#line(type, object, undefined)]
      : lineParts(this.#call, type, object)
  }

  /** False: the line is on its way, and no more is to be written before the reader has taken some. */
  #write(line: Buffer): boolean {
    const { response } = this.#call
    if (this.#ended || response.writableEnded || response.destroyed) return false
    const { socket } = response
    // framed once for all watchers of the line: each of them would otherwise write three pieces
    if (socket === null) response.write(line)
    else socket.write(chunkOf(line))
    return this.#hasRoom()
  }

  /** Many lines that nobody shares, in one piece. */
  #writeTogether(parts: readonly Buffer[]): boolean {
    const { response } = this.#call
    if (this.#ended || response.writableEnded || response.destroyed) return false
    // an empty chunk would end the answer
    if (parts.length === 0) return true
    if (response.socket === null) response.write(Buffer.concat(parts))
    else response.socket.write(joinedChunk(parts))
    return this.#hasRoom()
  }

  #hasRoom(): boolean {
    const { response } = this.#call
    const { socket } = response
    if ((socket ?? response).writableLength <= MAX_UNSENT_BYTES) return true
    this.#waitForReader()
    return false
  }

  #waitForReader(): void {
    const { response, parts } = this.#call
    const stalled = parts.clock.after(STALLED_MS, () => response.destroy())
    this.#stalled = stalled
    const writer = response.socket ?? response
    writer.once('drain', () => {
      stalled.cancel()
      if (!this.#ended) this.#catchUp()
    })
  }

  #bookmark(revision: number, annotations: Readonly<Record<string, string>> | undefined): boolean {
    return this.#write(bookmarkLine(this.#call.served.type, revision, annotations))
  }

  #limitTime(): void {
    const { clock, random, store } = this.#call.parts
    const asked = this.#options.timeoutSeconds
    const ms = asked !== undefined && asked > 0 ? asked * 1_000 : DEFAULT_TIMEOUT_MS * (1 + random.next())
    const end = clock.after(ms, () => this.#end())
    this.#stop.push(() => end.cancel())
    if (!this.#options.allowWatchBookmarks) return
    const beat = (): void => {
      // who is behind would take it for a promise that nothing came before
      if (this.#isLive) {
        this.#sent = Math.max(this.#sent, store.revision)
        this.#isLive = this.#bookmark(store.revision, undefined)
      }
      next = clock.after(BOOKMARK_EVERY_MS, beat)
    }
    let next = clock.after(BOOKMARK_EVERY_MS, beat)
    this.#stop.push(() => next.cancel())
  }

  #fail(refusal: Refusal): void {
    const { response } = this.#call
    if (!this.#headSent) throw refusal
    const line = errorLine(refusal.status)
    if (response.socket === null) response.write(line)
    else response.socket.write(chunkOf(line))
    this.#end()
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#isLive = false
    this.#initial = []
    for (const stop of this.#stop) stop()
    const { response, parts } = this.#call
    if (response.closed) return
    response.end()
    const stalled = parts.clock.after(STALLED_MS, () => response.destroy())
    response.once('close', () => stalled.cancel())
  }
}

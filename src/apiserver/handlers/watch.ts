// Watches: the present state or a version to start from, then every change in order, each once, until the client or a timeout ends it.
// A watcher is a position in the history. It is sent as much as its reader takes; a reader that falls behind is served from the history
// when it reads again, and when the history no longer reaches back it gets a 410. So a slow reader costs a bounded amount of
// memory, and never misses a change without knowing.
import type { Timer } from '#lib/clock.ts'
import { apiVersionOf } from '#api/schema/resource.ts'
import { listOptions, type ListOptions, versionProblem } from '../http/query.ts'
import { warningHeaders } from '../http/warning-header.ts'
import { parseFieldSelector } from '../selectors/field-selector.ts'
import { parseLabelSelector } from '../selectors/label-selector.ts'
import { messageOf } from '#lib/errors.ts'
import { convertAll } from '../crd/webhook-conversion.ts'
import { badRequest, expired, internal, internalError, notAcceptable, Refusal } from '../status/refusal.ts'
import type { Collection } from '../storage/collection.ts'
import type { ChangeType, Stored, StoreEvent } from '../storage/stored.ts'
import type { Call } from './context.ts'
import { JSON_TYPE, viewOf } from './encode.ts'
import {
  atRevision,
  bookmarkLine,
  chunkOf,
  contentOf,
  errorLine,
  joinedChunk,
  lineOf,
  lineParts,
  tableLine,
} from './watch-line.ts'
import { Piece } from './watch-piece.ts'
import { Stretches } from './watch-stretch.ts'

/**
 * Unsent bytes per reader; the rest stays in the history. One piece: it is shared by all watchers of the same data and
 * only encrypted for each, whereas several pieces would be gathered, copied and encrypted for each.
 */
const MAX_UNSENT_BYTES = 64 * 1024
/** Written in one piece. */
const TOGETHER_BYTES = 64 * 1024
/** Minimum pause between two writes to a watcher, which collects events meanwhile: each write costs both sides a turn, whatever its size. */
const PACE_MS = 5
/** A reader that takes nothing for this long is disconnected; if it is alive, it resumes. */
const STALLED_MS = 60_000
/** One that takes nothing for this long answers for what it has not taken. */
const SLOW_MS = 5_000
/** Bookmarks tell idle watchers their position. */
const BOOKMARK_EVERY_MS = 60_000
/** Without a client timeout: between half an hour and an hour, so that clients do not all return at once. */
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
  /** The rest of the present state to send. */
  #initial: readonly Stored[] = []
  #initialNext = 0
  #endsInitial = false
  /** Everything up to this revision has been written. */
  #sent = 0
  /** The watcher is caught up: changes are written as they happen. */
  #isLive = false
  /** Events of this commit so far, not yet written. */
  #piece: Piece | undefined
  #wroteAt = -Infinity
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
    if (path.name !== '' && options.fieldSelector !== '' && fields.name !== path.name)
      throw badRequest("fieldSelector metadata.name doesn't match requested name")
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

  /** The version to start from; undefined: start with the present state. */
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
    for (const w of warningHeaders(warnings)) response.appendHeader('warning', w)
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
    if (!this.#writePiece()) return
    while (this.#initialNext < this.#initial.length) {
      const lines: Buffer[] = []
      for (let bytes = 0; bytes < TOGETHER_BYTES && this.#initialNext < this.#initial.length; this.#initialNext++) {
        const s = this.#initial[this.#initialNext]
        const parts = s === undefined ? [] : this.#line('ADDED', s, undefined)
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
    if (!this.#catchUpHistory()) return
    // a requested version in the future stays: the client has seen everything before it
    this.#sent = Math.max(this.#sent, this.#call.parts.store.revision)
    this.#isLive = true
  }

  /** False: it continues later, or has failed. */
  #catchUpHistory(): boolean {
    const stretches = Stretches.of(this.#collection)
    for (;;) {
      const key = this.#stretchKey()
      const kept = key === undefined ? undefined : stretches.get(key)
      if (kept !== undefined) {
        this.#sent = kept.to
        if (!this.#writeChunk(kept.chunk)) return false
        continue
      }
      const missed = this.#collection.since(this.#sent, this.#scope)
      if (missed === undefined) {
        this.#fail(expired(`too old resource version: ${this.#sent} (${this.#collection.floor})`))
        return false
      }
      if (missed.length === 0) return true
      if (this.#mustConvert(missed)) return false
      const parts: Buffer[] = []
      let bytes = 0
      for (const event of missed) {
        const shown = this.#shown(event, undefined)
        for (const part of shown) bytes += part.length
        parts.push(...shown)
        if (bytes >= TOGETHER_BYTES) break
      }
      // an empty chunk would end the answer
      if (parts.length === 0) continue
      const chunk = joinedChunk(parts)
      if (key !== undefined) stretches.keep(key, { chunk, to: this.#sent })
      if (!this.#writeChunk(chunk)) return false
    }
  }

  /** Undefined where the output is particular to this watcher. */
  #stretchKey(): string | undefined {
    const { accept, served } = this.#call
    const { namespace, name } = this.#scope
    const isAlone =
      this.#matches !== undefined ||
      name !== undefined ||
      accept.as === 'Table' ||
      served.behaviour.conversion !== undefined
    return isAlone ? undefined : `${this.#sent} ${accept.as} ${apiVersionOf(served.type)} ${namespace ?? '*'}`
  }

  #happened(event: StoreEvent): void {
    if (!this.#isLive || event.revision <= this.#sent) return
    if (this.#mustConvert([event])) {
      this.#isLive = false
      return
    }
    const parts = this.#shown(event, event)
    const [line] = parts
    if (line !== undefined) this.#tell(parts.length === 1 ? line : Buffer.concat(parts))
  }

  /** Commits come in groups: all their events are written together, after the answers to the writers. */
  #tell(line: Buffer): void {
    if (this.#piece === undefined) {
      this.#piece = Piece.of(line)
      this.#writeSoon()
    } else this.#piece = this.#piece.and(line)
    if (this.#piece.bytes >= TOGETHER_BYTES) this.#isLive = this.#writePiece()
  }

  #writeSoon(): void {
    const { clock } = this.#call.parts
    const write = () => void (this.#isLive &&= this.#writePiece())
    if (clock.monotonic() - this.#wroteAt < PACE_MS) clock.after(PACE_MS, write)
    else process.nextTick(write)
  }

  #writePiece(): boolean {
    const piece = this.#piece
    if (piece === undefined) return true
    this.#piece = undefined
    this.#wroteAt = this.#call.parts.clock.monotonic()
    return this.#writeChunk(piece.chunk)
  }

  /** True: a conversion webhook was called for them, and the watch continues from here when it has answered. */
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

  /** The event of a change for this watcher: one line or none, in parts. `shared` keeps the line for the others who watch the event now. */
  #shown(event: StoreEvent, shared: StoreEvent | undefined): readonly Buffer[] {
    this.#sent = event.revision
    const matches = this.#matches
    if (matches === undefined) return this.#line(event.type, event.object, shared)
    const is = event.type !== 'DELETED' && matches(event.object)
    const was = event.previous !== undefined && matches(event.previous)
    if (is) {
      const type = was ? 'MODIFIED' : 'ADDED'
      return this.#line(type, event.object, type === event.type ? shared : undefined)
    }
    if (!was || event.previous === undefined) return []
    // an object that leaves the selection is shown as it last matched, with the version of the change
    const isGone = event.type === 'DELETED'
    const object = isGone ? event.object : this.#restamped(event.previous, event.revision)
    return this.#line('DELETED', object, isGone ? shared : undefined)
  }

  #restamped(previous: Stored, revision: number): Stored {
    const copy = atRevision(previous, revision)
    this.#call.served.behaviour.conversion?.copied(copy, previous)
    return copy
  }

  /** In parts where it is not shared: if it equals the stored bytes, nothing is copied before it is written. */
  #line(type: ChangeType, object: Stored, shared: StoreEvent | undefined): readonly Buffer[] {
    const call = this.#call
    if (call.accept.as !== 'Table')
      return shared === undefined ? lineParts(call, type, object) : [lineOf(call, type, object, shared)]
    const table = tableLine(call, { type, object, columns: !this.#columnsSent }, shared)
    this.#columnsSent = true
    return [table]
  }

  /** False: it was sent, and the reader must take some before more is written. Framed once for all its watchers. */
  #writeChunk(chunk: Buffer): boolean {
    const { response } = this.#call
    if (this.#ended || response.writableEnded || response.destroyed) return false
    this.#call.reader.sent(chunk.length)
    // a connection that still answers an earlier request keeps it, and frames it when its turn comes
    if (response.socket === null) response.write(contentOf(chunk))
    else response.socket.write(chunk)
    return this.#hasRoom()
  }

  /** Many unshared lines in one piece. */
  #writeTogether(parts: readonly Buffer[]): boolean {
    const { response } = this.#call
    if (this.#ended || response.writableEnded || response.destroyed) return false
    // an empty chunk would end the answer
    return parts.length === 0 || this.#writeChunk(joinedChunk(parts))
  }

  #hasRoom(): boolean {
    const { response } = this.#call
    const { socket } = response
    if ((socket ?? response).writableLength <= MAX_UNSENT_BYTES) return true
    this.#waitForReader()
    return false
  }

  #waitForReader(): void {
    const { response, parts, reader } = this.#call
    const writer = response.socket ?? response
    const slow = parts.clock.after(SLOW_MS, () => {
      const unsent = this.#initial.slice(this.#initialNext).reduce((n, s) => n + s.bytes.length, 0)
      reader.hold(writer.writableLength + unsent)
      // its client left too much unread, in all its watches: it can resume
      if (reader.isOver()) response.destroy()
    })
    const stalled = parts.clock.after(STALLED_MS, () => response.destroy())
    const waits = {
      cancel: () => {
        slow.cancel()
        stalled.cancel()
        reader.end()
      },
    }
    this.#stalled = waits
    writer.once('drain', () => {
      waits.cancel()
      if (!this.#ended) this.#catchUp()
    })
  }

  #bookmark(revision: number, annotations: Readonly<Record<string, string>> | undefined): boolean {
    return this.#writePiece() && this.#writeChunk(chunkOf(bookmarkLine(this.#call.served.type, revision, annotations)))
  }

  #limitTime(): void {
    const { clock, random, store } = this.#call.parts
    const asked = this.#options.timeoutSeconds
    const ms = asked !== undefined && asked > 0 ? asked * 1_000 : DEFAULT_TIMEOUT_MS * (1 + random.next())
    const end = clock.after(ms, () => {
      this.#writePiece()
      this.#end()
    })
    this.#stop.push(() => end.cancel())
    if (!this.#options.allowWatchBookmarks) return
    const beat = (): void => {
      // a client behind it would conclude that nothing came before
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
    if (!this.#headSent) throw refusal
    this.#writeChunk(chunkOf(errorLine(refusal.status)))
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

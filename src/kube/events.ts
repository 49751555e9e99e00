// Records Kubernetes events: repeats are counted in one object, noisy objects are throttled, and a slow server never blocks the caller.
import { microTimestamp, type Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { withoutEnd } from '#lib/without-ends.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { KubeClient } from './client.ts'
import { isAlreadyExists, isNotFound } from './errors.ts'
import { sha256Hex } from '#lib/sha256.ts'

export interface NewEvent {
  readonly type: 'Normal' | 'Warning'
  /** UpperCamelCase, from a fixed list. */
  readonly reason: string
  /** The action: "Switch", "Drain". */
  readonly action: string
  readonly note: string
  readonly related?: KubeObject
}

export interface EventRecorderOptions {
  readonly client: KubeClient
  readonly clock: Clock
  /** "kubenode.io/machine". */
  readonly controller: string
  /** The process: a pod's name. */
  readonly instance: string
  /** Set on each event: admission policies identify its writer by them. Read when an event is created. */
  readonly annotations?: () => Readonly<Record<string, string>>
  /** An event could not be written, or a limit dropped it. */
  readonly lost?: (why: 'throttled' | 'full' | 'failed', error?: unknown) => void
}

export interface EventRecorder {
  /** Never throws and never waits. */
  record(regarding: KubeObject, event: NewEvent): void
  /** Resolves when every recorded event is written or lost. */
  flush(): Promise<void>
}

const EVENT: ResourceType = { group: 'events.k8s.io', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }

/** Like client-go: a burst of 25 per object, then one every five minutes. */
const BURST = 25
const REFILL_MS = 300_000
/** Objects with a remembered budget; the least recent is dropped first. */
const MAX_OBJECTS = 4_096
/** Events queued for the server. */
const MAX_QUEUE = 1_000
/** The same event within this time is counted, not repeated; servers drop events after an hour. */
const SERIES_MS = 360_000
const MAX_SERIES = 4_096
/** The API limits notes and counts bytes. */
const MAX_NOTE_BYTES = 1_024

interface Series {
  readonly name: string
  readonly namespace: string
  count: number
  lastAt: number
  /** Already queued: its count is read when its turn comes. */
  queued: boolean
  written: boolean
  readonly body: KubeObject
}

interface Bucket {
  tokens: number
  at: number
}

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  return new Recorder(options)
}

class Recorder implements EventRecorder {
  readonly #o: EventRecorderOptions
  readonly #series = new Map<string, Series>()
  readonly #buckets = new Map<string, Bucket>()
  readonly #queue: Series[] = []
  #sending: Promise<void> | undefined

  constructor(options: EventRecorderOptions) {
    this.#o = options
  }

  record(regarding: KubeObject, event: NewEvent): void {
    const now = this.#o.clock.monotonic()
    const id = seriesId(regarding, event)
    const known = this.#series.get(id)
    if (!this.#hasBudget(regarding.metadata.uid ?? regarding.metadata.name ?? '', now))
      return this.#o.lost?.('throttled')
    if (known !== undefined && now - known.lastAt < SERIES_MS) {
      known.count++
      known.lastAt = now
      return this.#enqueue(known)
    }
    const series = this.#newSeries(regarding, event, id, now)
    put(this.#series, id, series, MAX_SERIES)
    this.#enqueue(series)
  }

  async flush(): Promise<void> {
    while (this.#sending !== undefined) await this.#sending
  }

  #hasBudget(object: string, now: number): boolean {
    const bucket = this.#buckets.get(object) ?? { tokens: BURST, at: now }
    const refilled = Math.min(BURST, bucket.tokens + (now - bucket.at) / REFILL_MS)
    const left = refilled >= 1 ? refilled - 1 : refilled
    put(this.#buckets, object, { tokens: left, at: now }, MAX_OBJECTS)
    return refilled >= 1
  }

  #newSeries(regarding: KubeObject, event: NewEvent, id: string, now: number): Series {
    const time = this.#o.clock.now()
    const namespace = regarding.metadata.namespace ?? 'default'
    const name = `${withoutEnd((regarding.metadata.name ?? 'unknown').slice(0, 220), /[-.]/)}.${digest(`${id}\n${time}\n${this.#o.instance}`)}`
    const annotations = this.#o.annotations?.()
    const body: KubeObject = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name, namespace, ...defined({ annotations }) },
      eventTime: microTimestamp(time),
      reportingController: this.#o.controller,
      reportingInstance: this.#o.instance.slice(0, 128),
      action: event.action,
      reason: event.reason,
      type: event.type,
      note: cutToBytes(event.note, MAX_NOTE_BYTES),
      regarding: referenceTo(regarding),
      ...(event.related === undefined ? {} : { related: referenceTo(event.related) }),
    }
    return { name, namespace, count: 1, lastAt: now, queued: false, written: false, body }
  }

  #enqueue(series: Series): void {
    if (series.queued) return
    if (this.#queue.length >= MAX_QUEUE) return this.#o.lost?.('full')
    series.queued = true
    this.#queue.push(series)
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
    })
  }

  async #send(): Promise<void> {
    // Yield first: a caller in the middle of its work must not start a request.
    await Promise.resolve()
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      next.queued = false
      try {
        await this.#write(next)
      } catch (e) {
        this.#o.lost?.('failed', e)
      }
    }
  }

  async #write(series: Series): Promise<void> {
    const { client, clock } = this.#o
    const repeated =
      series.count > 1 ? { series: { count: series.count, lastObservedTime: microTimestamp(clock.now()) } } : {}
    if (series.written) {
      try {
        await client.patch(
          EVENT,
          { namespace: series.namespace, name: series.name },
          { type: 'merge', value: repeated },
        )
        return
      } catch (e) {
        // The server has deleted it in the meantime.
        if (!isNotFound(e)) throw e
      }
    }
    try {
      await client.create(EVENT, { ...series.body, ...repeated })
    } catch (e) {
      if (!isAlreadyExists(e)) throw e
    }
    series.written = true
  }
}

/** Touching an entry moves it to the end; evictions start at the front. */
function put<V>(map: Map<string, V>, key: string, value: V, max: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= max) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}

const seriesId = (o: KubeObject, w: NewEvent): string =>
  [
    o.kind,
    o.metadata.namespace ?? '',
    o.metadata.name ?? '',
    o.metadata.uid ?? '',
    w.type,
    w.reason,
    w.action,
    w.note,
  ].join('\n')

/** Never ends inside a character. */
function cutToBytes(text: string, max: number): string {
  if (Buffer.byteLength(text) <= max) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(max))
  return text.slice(0, read)
}

const digest = (text: string): string => sha256Hex(text).slice(0, 16)

const referenceTo = (o: KubeObject) => ({
  apiVersion: o.apiVersion,
  kind: o.kind,
  name: o.metadata.name,
  ...defined({ namespace: o.metadata.namespace, uid: o.metadata.uid, resourceVersion: o.metadata.resourceVersion }),
})

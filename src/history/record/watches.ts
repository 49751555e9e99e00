// The watches of a recorder, one per recorded kind. Changes that a watch missed become a gap of its kind.
import { qualifiedPlural } from '#api/schema/resource.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { ApiError } from '#kube/errors.ts'
import { type Informer, type InformerNotice, createInformer } from '#kube/informer.ts'
import { KeptBound, type KeptShare } from '#kube/kept-bound.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { SHAPES, type Shape } from '../facts/shapes.ts'
import type { Names } from '../store/names.ts'
import type { GapReason } from '../store/writer.ts'
import { type Held, heldOf } from './held.ts'
import type { Recorder } from './recorder.ts'

export interface WatchesOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly recorder: Recorder
  readonly names: Names
  /** The previous recorder's last write; undefined for a new history. */
  readonly aliveAt: number | undefined
  /** Characters of the objects of all kinds. */
  readonly mostKept: number
  /** There are more. */
  readonly onTooMuch: () => void
  readonly bookmarkPeriodMs?: number
}

/** A resumed watch has all changes, but observed them late. Shorter delays would not matter to rules. */
const LATE_MS = 60_000

export class Watches {
  readonly #kinds: readonly KindWatch[]
  readonly #stop = new AbortController()
  #running: Promise<unknown> = Promise.resolve()

  constructor(options: WatchesOptions) {
    const kept = new KeptBound(options.mostKept)
    this.#kinds = SHAPES.map((shape) => new KindWatch(shape, kept.share(), options))
  }

  start(): void {
    this.#running = Promise.all(this.#kinds.map((kind) => kind.informer.run(this.#stop.signal)))
  }

  /** Kinds whose first list is not yet complete. */
  missing(): readonly string[] {
    return this.#kinds
      .filter(({ isThere, informer }) => isThere && !informer.isSynced)
      .map(({ shape }) => qualifiedPlural(shape.type))
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('the recorder ends'))
    await this.#running
  }
}

class KindWatch {
  readonly shape: Shape
  readonly informer: Informer<Held>
  readonly #o: WatchesOptions
  readonly #kept: KeptShare
  /** False while the server does not serve the kind, such as a member cluster without the hub's kinds. */
  isThere = true
  #isListed = false
  /** When the connection was lost. */
  #deafSince: number | undefined
  #wentBack = false

  constructor(shape: Shape, kept: KeptShare, options: WatchesOptions) {
    this.shape = shape
    this.#o = options
    this.#kept = kept
    const { client, clock, random, names, recorder, bookmarkPeriodMs } = options
    const held = heldOf(shape, names, () => (this.#isListed ? undefined : options.aliveAt))
    this.informer = createInformer<Held>({
      client,
      type: shape.type as ResourceType<Held>,
      clock,
      random,
      transform: (object) => this.#counted(held(object)),
      notice: (notice) => this.#noticed(notice),
      ...defined({ bookmarkPeriodMs }),
    })
    this.informer.addHandler(
      (old, now) => {
        if (now === undefined && old !== undefined) this.#uncount(old)
        return recorder.changed(shape, old, now) ?? undefined
      },
      { coalesce: false },
    )
  }

  /** Not with the informer's own bound: that forgets all objects, which would be recorded as deletions. */
  #counted(held: Held): Held {
    try {
      this.#kept.put(namespacedName(held), held)
      return held
    } catch (error) {
      this.#o.onTooMuch()
      throw new Error(messageOf(error), { cause: error })
    }
  }

  /** An object of the same name may be there by now. */
  #uncount(old: KubeObject): void {
    const { name = '', namespace } = old.metadata
    if (this.informer.store.get({ name, ...defined({ namespace }) }) === undefined)
      this.#kept.delete(namespacedName(old))
  }

  #noticed(notice: InformerNotice): void {
    const { log, clock, recorder } = this.#o
    const kind = this.shape.type.kind
    switch (notice.kind) {
      case 'Failed':
        this.isThere = !(notice.error instanceof ApiError && notice.error.status === 404)
        if (this.isThere) log.debug('watch failed', { kind, error: notice.error })
        this.#deaf()
        return
      case 'Silent':
      case 'Gone':
        this.#deaf()
        return
      case 'WentBack':
        this.#deaf()
        this.#wentBack = true
        return
      case 'Listed':
        this.isThere = true
        this.#afterList()
        return
      case 'Watching':
        if (this.#deafSince !== undefined && recorder.now() - this.#deafSince >= LATE_MS)
          this.#gap(this.#deafSince, 'WatchLate')
        this.#deafSince = undefined
        return
      case 'HandlerFailed':
        log.error('a change could not be recorded', { kind, error: notice.error })
        recorder.gap({ starts: clock.now(), ends: clock.now() + 1, why: 'WatchLost', kind })
        return
      case 'WatchEnded':
        // Servers end watches every few minutes; the next one resumes.
        return
    }
  }

  #deaf(): void {
    if (!this.#isListed) return
    this.#deafSince ??= this.#o.recorder.now() - this.informer.silentForMs()
  }

  #afterList(): void {
    const { recorder, aliveAt } = this.#o
    if (!this.#isListed) {
      this.#isListed = true
      recorder.listed(this.shape, new Set(this.informer.store.list().map((o) => o.metadata.uid ?? '')))
      if (aliveAt !== undefined) this.#gap(aliveAt, 'RecorderAway')
    } else if (this.#deafSince !== undefined)
      this.#gap(this.#deafSince, this.#wentBack ? 'ServerWentBack' : 'WatchLost')
    this.#deafSince = undefined
    this.#wentBack = false
  }

  #gap(starts: number, why: GapReason): void {
    const { recorder } = this.#o
    recorder.gap({ starts, ends: Math.max(starts + 1, recorder.now()), why, kind: this.shape.type.kind })
  }
}

// An API server in memory with the semantics that controllers rely on: concurrency, finalizers, generations, watches with a window, and faults on demand.
import type { Clock } from '#lib/clock.ts'
import type { Random } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ObjectKey, ResourceType } from '#api/schema/resource.ts'
import type { DeleteOptions, KubeClient, ListOptions, WatchOptions } from '#kube/client.ts'
import { FakeClient } from './client.ts'
import { Core, type CommitListener } from './core.ts'
import { noFaults, type Call, type FaultPort, type Verb } from './faults.ts'
import { builtinKinds, kindKey, objectKeyText, type FakeKind } from './kinds.ts'
import { list } from './reads.ts'
import { FakeWatch } from './watch.ts'
import { create, patch, remove } from './writes.ts'

export interface FakeKubeOptions {
  readonly clock: Clock
  readonly random: Random
  /** Beside the built-in ones; one of the same name takes its place. */
  readonly kinds?: readonly FakeKind[]
  readonly faults?: FaultPort
  /** Commits of a kind that a watch can go back over. */
  readonly window?: number
  /** Bookmarks go out this often to every watch; 0 turns the timer off, `bookmark()` sends them by hand. */
  readonly bookmarkEveryMs?: number
}

const DEFAULT_WINDOW = 10_000
const DEFAULT_BOOKMARK_MS = 60_000

export class FakeKube {
  readonly core: Core
  readonly #watches = new Set<FakeWatch>()
  readonly #counts = new Map<string, { calls: number; writes: number }>()
  readonly #bookmarkEveryMs: number
  #bookmarks: { cancel(): void } | undefined
  #watchCount = 0
  /** May be replaced at any time, also under open watches. */
  faults: FaultPort

  constructor({ clock, random, kinds = [], faults = noFaults, window, bookmarkEveryMs }: FakeKubeOptions) {
    this.core = new Core(clock, random, window ?? DEFAULT_WINDOW)
    this.faults = faults
    this.#bookmarkEveryMs = bookmarkEveryMs ?? DEFAULT_BOOKMARK_MS
    for (const kind of [...builtinKinds, ...kinds]) this.core.register(kind)
  }

  /** A connection of one actor; the name is what fault hooks and `Commit.call` see. A restarted process takes a new client of the same name. */
  client({ actor }: { readonly actor: string }): KubeClient {
    return new FakeClient(this, actor)
  }

  register(kind: FakeKind): void {
    this.core.register(kind)
  }

  get revision(): number {
    return this.core.revisions.current
  }

  /** The truth, past all horizons and faults: for assertions. */
  peek(type: ResourceType, key: ObjectKey): KubeObject | undefined {
    return this.core.revisions.object(
      kindKey(type),
      objectKeyText(type.namespaced ? (key.namespace ?? 'default') : undefined, key.name),
    )
  }

  all(type: ResourceType, options: ListOptions = {}): readonly KubeObject[] {
    return list(this.core, type, options, undefined).items
  }

  /** Writes past all faults, as another client of the cluster would. */
  plant(type: ResourceType, object: unknown): KubeObject {
    return create(this.core, type, object, {}, undefined)
  }

  /** A merge patch past all faults; `subresource: 'status'` for a status. */
  poke(type: ResourceType, key: ObjectKey, value: object, subresource?: string): KubeObject {
    return patch(
      this.core,
      type,
      key,
      { type: 'merge', value: value as never },
      subresource === undefined ? {} : { subresource },
      undefined,
    )
  }

  uproot(type: ResourceType, key: ObjectKey, options: DeleteOptions = {}): void {
    remove(this.core, type, key, options, undefined)
  }

  /** Stores an object as it is, past all faults and rules, as a backup that is restored; only its revision is new. */
  restore(type: ResourceType, object: KubeObject): KubeObject {
    const { namespace, name = '' } = object.metadata
    const isNew = this.core.find(type, namespace, name) === undefined
    return this.core.commit(this.core.kind(type), isNew ? 'ADDED' : 'MODIFIED', object, undefined)
  }

  onCommit(listener: CommitListener): () => void {
    return this.core.onCommit(listener)
  }

  /** Forgets history: watches and continue tokens from before get 410. */
  compact(revision = this.revision): void {
    this.core.revisions.compact(revision)
  }

  bookmark(): void {
    for (const watch of this.#watches) watch.bookmark()
  }

  /** Ends every watch (of the actor), as a restarting server does. */
  closeWatches(actor?: string, how: 'end' | 'lost' = 'end'): void {
    for (const watch of this.#watches) if (actor === undefined || watch.info.actor === actor) watch.end({ kind: how })
  }

  /** To be called after a horizon of the fault port has changed. */
  horizonMoved(): void {
    for (const watch of this.#watches) watch.flush()
  }

  get openWatches(): number {
    return this.#watches.size
  }

  openWatchIds(): readonly number[] {
    return [...this.#watches].map((w) => w.info.id)
  }

  /** Numbers a call. Used by the clients. */
  count(
    actor: string,
    verb: Verb,
    parts: Pick<Call, 'type' | 'namespace' | 'name' | 'subresource' | 'isWrite' | 'isDryRun'>,
  ): Call {
    const counts = this.#counts.get(actor) ?? { calls: 0, writes: 0 }
    counts.calls++
    const isWrite = parts.isWrite && !parts.isDryRun
    if (isWrite) counts.writes++
    this.#counts.set(actor, counts)
    return { ...parts, actor, verb, isWrite, n: counts.calls, writeN: isWrite ? counts.writes : 0 }
  }

  callsOf(actor: string): { readonly calls: number; readonly writes: number } {
    return this.#counts.get(actor) ?? { calls: 0, writes: 0 }
  }

  /** Opens a watch. Used by the clients. */
  openWatch(actor: string, type: ResourceType, options: WatchOptions): FakeWatch {
    const watch = new FakeWatch(this.core, () => this.faults, { actor, type, id: ++this.#watchCount }, options)
    this.#watches.add(watch)
    this.#armBookmarks()
    return watch
  }

  closeWatch(watch: FakeWatch): void {
    watch.close()
    this.#watches.delete(watch)
    if (this.#watches.size > 0) return
    this.#bookmarks?.cancel()
    this.#bookmarks = undefined
  }

  #armBookmarks(): void {
    if (this.#bookmarkEveryMs === 0 || this.#bookmarks !== undefined) return
    this.#bookmarks = this.core.clock.after(this.#bookmarkEveryMs, () => {
      this.#bookmarks = undefined
      this.bookmark()
      this.#armBookmarks()
    })
  }
}

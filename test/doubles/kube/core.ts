// The synchronous core of the fake: kinds, revisions and the one function that makes every change.
import type { Clock } from '#lib/clock.ts'
import type { Random } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { Call } from './faults.ts'
import { deepFreeze } from './frozen.ts'
import { kindKey, objectKeyText, type FakeKind } from './kinds.ts'
import { notFound, refuse } from './object-rules.ts'
import { Revisions, type Commit } from './revisions.ts'

export type CommitListener = (commit: Commit) => void

export class Core {
  readonly clock: Clock
  readonly random: Random
  readonly revisions: Revisions
  readonly #kinds = new Map<string, FakeKind>()
  readonly #listeners = new Set<CommitListener>()

  constructor(clock: Clock, random: Random, window: number) {
    this.clock = clock
    this.random = random
    this.revisions = new Revisions(window)
  }

  register(kind: FakeKind): void {
    this.#kinds.set(kindKey(kind.type), kind)
  }

  kinds(): readonly FakeKind[] {
    return [...this.#kinds.values()]
  }

  kind(type: ResourceType): FakeKind {
    const kind = this.#kinds.get(kindKey(type))
    if (kind === undefined)
      throw refuse(404, 'the server could not find the requested resource', { kind: type.plural, group: type.group })
    return kind
  }

  find(type: ResourceType, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.revisions.object(kindKey(type), objectKeyText(namespace, name))
  }

  mustFind(type: ResourceType, namespace: string | undefined, name: string): KubeObject {
    const live = this.find(type, namespace, name)
    if (live === undefined) throw notFound(type, name)
    return live
  }

  /** Gives the next revision to a change, stores it and notifies all listeners. Nothing else writes. */
  commit(kind: FakeKind, change: Commit['type'], next: KubeObject, call: Call | undefined): KubeObject {
    const revision = this.revisions.next
    const object = deepFreeze({ ...next, metadata: { ...next.metadata, resourceVersion: String(revision) } })
    const shelf = kindKey(kind.type)
    const key = objectKeyText(object.metadata.namespace, object.metadata.name ?? '')
    const previous = this.revisions.object(shelf, key)
    const commit: Commit = { revision, kind: shelf, key, type: change, object, previous, call }
    this.revisions.commit(commit)
    for (const listener of this.#listeners) listener(commit)
    return object
  }

  /** Called inside every commit, in order. Returns a function that removes the listener. */
  onCommit(listener: CommitListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  uid(): string {
    const hex = Array.from({ length: 32 }, () => this.random.below(16).toString(16)).join('')
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`
  }
}

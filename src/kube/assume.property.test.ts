import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import type { WatchEvent } from './client.ts'
import { type Change, Replica } from './replica.ts'
import { isOlder } from './resource-version.ts'
import { Store } from './store.ts'

const KEYS = ['a', 'b'] as const
type Key = (typeof KEYS)[number]
type ObjectEvent = Exclude<WatchEvent, { type: 'BOOKMARK' }>

const STEPS = [
  'OtherWrites',
  'OtherDeletes',
  'WeWrite',
  'Reply',
  'Event',
  'Bookmark',
  'Disconnect',
  'List',
  'LaggingList',
  'BeginList',
  'EndList',
  'SetBack',
] as const
type Step = readonly [kind: (typeof STEPS)[number], key: Key]

const revisionOf = (o: KubeObject | undefined): number => Number(o?.metadata.resourceVersion ?? 0)
const keyOf = (o: KubeObject): Key => o.metadata.name as Key

/** A server with two objects, its single watch, and the responses to this process's writes. */
class World {
  readonly store = new Store()
  readonly replica = new Replica(this.store, (o) => o)
  readonly told = new Map<string, KubeObject | undefined>()
  #log: ObjectEvent[] = []
  #revision = 1
  /** The watch has delivered everything up to here. */
  #shown = 1
  #replies: KubeObject[] = []
  #listing: { readonly asOf: number; readonly rest: readonly KubeObject[] } | undefined
  #hasLagged = false
  /** By key: this process's last acknowledged write that was not lost. */
  readonly #own = new Map<Key, KubeObject>()
  #uids = 0

  constructor() {
    this.#list(1)
  }

  truth(asOf = this.#revision): Map<Key, KubeObject> {
    const there = new Map<Key, KubeObject>()
    for (const { type, object } of this.#log)
      if (revisionOf(object) <= asOf)
        if (type === 'DELETED') there.delete(keyOf(object))
        else there.set(keyOf(object), object)
    return there
  }

  step([kind, key]: Step): void {
    switch (kind) {
      case 'OtherWrites':
        return void this.#write(key)
      case 'OtherDeletes':
        return void this.#delete(key)
      case 'WeWrite':
        return void this.#replies.push(this.#write(key))
      case 'Reply':
        return this.#reply()
      case 'Event':
        return this.#event()
      case 'Bookmark':
        return this.#bookmark()
      case 'Disconnect':
        return this.#resume()
      case 'List':
        return this.#list(this.#revision)
      case 'LaggingList':
        // A server never lags twice in a row.
        return this.#list(this.#hasLagged ? this.#revision : Math.max(this.#highest(), this.#revision - 2))
      case 'BeginList':
        return this.#beginList(this.#revision)
      case 'EndList':
        return this.#endList()
      case 'SetBack':
        return this.#setBack()
    }
  }

  /** Delivers all responses and events. */
  settle(): void {
    this.#endList()
    while (this.#replies.length > 0) this.#reply()
    // A bookmark may trigger a list; that list and the next one are accurate.
    for (let n = 0; n < 5; n++) {
      for (let left = this.#log.length; left >= 0; left--) this.#event()
      this.#shown = this.#revision
      this.#bookmark()
    }
  }

  /** A reader gets this process's write, or something newer. */
  check(): void {
    for (const [key, object] of this.#own) {
      const seen = this.store.at(key)
      const { uid } = object.metadata
      if (seen === undefined) {
        const end = this.#log.find((e) => e.type === 'DELETED' && e.object.metadata.uid === uid)
        expect(revisionOf(end?.object)).toBeGreaterThan(revisionOf(object))
      } else expect(revisionOf(seen)).toBeGreaterThanOrEqual(revisionOf(object))
    }
    for (const key of KEYS) expect(this.told.get(key)).toBe(this.store.at(key))
  }

  #take(changes: readonly Change<KubeObject>[]): void {
    for (const { key, old, now } of changes) {
      expect(this.told.get(key)).toBe(old)
      this.told.set(key, now)
    }
  }

  #highest(): number {
    return Number(this.replica.highest ?? 1)
  }

  #write(key: Key): KubeObject {
    const old = this.truth().get(key)
    const uid = old?.metadata.uid ?? `${key}-${this.#uids++}`
    const metadata = { name: key, uid, resourceVersion: String(++this.#revision) }
    const object = { apiVersion: 'v1', kind: 'Node', metadata }
    this.#log.push({ type: old === undefined ? 'ADDED' : 'MODIFIED', object })
    return object
  }

  /** Returns the previous object. */
  #delete(key: Key): KubeObject | undefined {
    const old = this.truth().get(key)
    if (old === undefined) return undefined
    const metadata = { ...old.metadata, resourceVersion: String(++this.#revision) }
    this.#log.push({ type: 'DELETED', object: { ...old, metadata } })
    return old
  }

  #reply(): void {
    const object = this.#replies.shift()
    if (object === undefined) return
    this.#take(this.replica.assume(object) ?? [])
    this.#own.set(keyOf(object), object)
  }

  #event(): void {
    if (this.#listing !== undefined) return
    if (this.replica.resumeAt === undefined) return this.#list(this.#revision)
    const next = this.#log.find((e) => revisionOf(e.object) > this.#shown)
    if (next === undefined) return
    this.#shown = revisionOf(next.object)
    this.#take(this.replica.event(next))
  }

  #bookmark(): void {
    if (this.#listing !== undefined || this.replica.resumeAt === undefined) return
    this.#take(this.replica.event({ type: 'BOOKMARK', resourceVersion: String(this.#shown), initialEventsEnd: false }))
    if (this.replica.resumeAt === undefined) this.#list(this.#revision)
  }

  #resume(): void {
    if (this.replica.resumeAt !== undefined) this.#shown = Number(this.replica.resumeAt)
  }

  #list(asOf: number): void {
    this.#beginList(asOf)
    this.#endList()
  }

  #beginList(asOf: number): void {
    if (this.#listing !== undefined) return
    this.#hasLagged = asOf < this.#revision
    const [first, ...rest] = this.truth(asOf).values()
    this.replica.beginList(String(asOf), false)
    this.#take(this.replica.page(first === undefined ? [] : [first]))
    this.#listing = { asOf, rest }
  }

  #endList(): void {
    if (this.#listing === undefined) return
    const { asOf, rest } = this.#listing
    this.#take(this.replica.page(rest))
    this.#take(this.replica.endList(String(asOf)))
    this.#listing = undefined
    this.#shown = asOf
  }

  /** A lost disk loses writes that only this process knows; later writes have higher numbers. */
  #setBack(): void {
    if (this.#listing !== undefined) return
    const kept = this.#highest()
    this.#log = this.#log.filter((e) => revisionOf(e.object) <= kept)
    this.#revision++
    this.#replies = []
    for (const [key, { metadata }] of this.#own)
      if (isOlder(String(kept), metadata.resourceVersion)) this.#own.delete(key)
    this.#resume()
  }
}

const steps = fc.array(fc.tuple(fc.constantFrom(...STEPS), fc.constantFrom(...KEYS)), { maxLength: 60, size: 'max' })

describe('what we wrote ourselves, in a cache that the watch has not brought up to date', () => {
  test('never goes back before our own write, and is the truth once everything was shown', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const world = new World()
        for (const step of all) {
          world.step(step)
          world.check()
        }
        world.settle()
        const truth = [...world.truth().values()].map((o) => o.metadata)
        expect(world.store.list().map((o) => o.metadata)).toEqual(expect.arrayContaining(truth))
        expect(world.store.size).toBe(truth.length)
        expect(world.replica.resumeAt).toBeDefined()
      }),
      { numRuns: 3_000 },
    )
  })

  test('a version without an order is never assumed', () => {
    const world = new World()
    const object = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a', uid: 'u', resourceVersion: 'abc' } }
    expect(world.replica.assume(object)).toBeUndefined()
  })

  test('beyond a bound nothing more is assumed', () => {
    const world = new World()
    const made = Array.from({ length: 10_002 }, (_, i) => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `n${i}`, uid: `u${i}`, resourceVersion: String(i + 5) },
    }))
    for (const object of made) world.replica.assume(object)
    expect(world.store.size).toBe(10_000)
  })
})

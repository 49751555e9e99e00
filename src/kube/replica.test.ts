import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import type { WatchEvent } from './client.ts'
import { Delivery } from './delivery.ts'
import { KeptBound } from './kept-bound.ts'
import { nextPageSize } from './page-size.ts'
import { Replica, type Change } from './replica.ts'
import { compareResourceVersions, newerOf } from './resource-version.ts'
import { Store } from './store.ts'

const object = (name: string, revision: number, uid = 'u'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, uid, resourceVersion: String(revision) },
})

/** A server's changes to three objects: the log of events, and the final state. */
const histories = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.boolean()), { maxLength: 20 }).map((steps) => {
  const there = new Map<string, KubeObject>()
  const log: WatchEvent[] = []
  for (const [i, [name, remove]] of steps.entries()) {
    const old = there.get(name)
    const uid = old?.metadata.uid ?? `${name}-${i}`
    const now = object(name, i + 2, uid)
    if (remove && old !== undefined) {
      there.delete(name)
      log.push({ type: 'DELETED', object: now })
    } else {
      there.set(name, now)
      log.push({ type: old === undefined ? 'ADDED' : 'MODIFIED', object: now })
    }
  }
  return { log, there }
})

const contents = (store: Store): string[] =>
  store
    .list()
    .map((o) => `${o.metadata.name}@${o.metadata.resourceVersion}`)
    .sort()

describe('F7 what of a stream is news', () => {
  it('any order and any repetition of the same events ends in the same state', () => {
    const disturbed = histories.chain(({ log, there }) =>
      fc.record({
        there: fc.constant(there),
        events: fc.shuffledSubarray([...log, ...log], { minLength: log.length * 2, maxLength: log.length * 2 }),
      }),
    )
    fc.assert(
      fc.property(disturbed, ({ events, there }) => {
        const store = new Store()
        const replica = new Replica(store, (o) => o)
        replica.beginList('1', false)
        replica.endList('1')
        for (const e of events) replica.event(e)
        expect(contents(store)).toEqual(
          [...there.values()].map((o) => `${o.metadata.name}@${o.metadata.resourceVersion}`).sort(),
        )
      }),
      { numRuns: 300 },
    )
  })

  it('the reported changes add up to the store', () => {
    fc.assert(
      fc.property(histories, fc.array(fc.nat(19), { maxLength: 10 }), ({ log }, repeats) => {
        const store = new Store()
        const replica = new Replica(store, (o) => o)
        const told = new Map<string, string | undefined>()
        const take = (changes: readonly Change<KubeObject>[]) => {
          for (const { key, old, now } of changes) {
            expect(told.get(key)).toBe(old?.metadata.resourceVersion)
            told.set(key, now?.metadata.resourceVersion)
          }
        }
        for (const [i, e] of log.entries()) {
          take(replica.event(e))
          const again = repeats.includes(i) ? log[Math.floor(i / 2)] : undefined
          if (again !== undefined) take(replica.event(again))
        }
        expect(
          [...told]
            .filter(([, rv]) => rv !== undefined)
            .map(([name, rv]) => `${name}@${rv}`)
            .sort(),
        ).toEqual(contents(store))
      }),
      { numRuns: 200 },
    )
  })

  it('a bookmark that is behind the last event moves nothing back', () => {
    const replica = new Replica(new Store(), (o: KubeObject) => o)
    replica.event({ type: 'ADDED', object: object('a', 9) })
    replica.event({ type: 'BOOKMARK', resourceVersion: '5', initialEventsEnd: false })
    expect([replica.highest, replica.resumeAt]).toEqual(['9', '9'])
    replica.event({ type: 'BOOKMARK', resourceVersion: '12', initialEventsEnd: false })
    expect([replica.highest, replica.resumeAt]).toEqual(['12', '12'])
  })

  it('while a list is under way, the cache is not said to be complete up to it', () => {
    const replica = new Replica(new Store(), (o: KubeObject) => o)
    replica.beginList('50', false)
    replica.page([object('a', 40)])
    expect([replica.complete, replica.highest]).toEqual([undefined, '50'])
    replica.endList('50')
    expect(replica.complete).toBe('50')
  })

  it('resource versions are ordered as numbers of any length', () => {
    expect([
      compareResourceVersions('9', '10'),
      compareResourceVersions('90071992547409931', '90071992547409930'),
      compareResourceVersions('x', '1'),
    ]).toEqual([-1, 1, undefined])
    expect([newerOf('10', '9'), newerOf('9', '10'), newerOf(undefined, '1')]).toEqual(['10', '10', '1'])
  })

  it('a newer list with an older version of an object is of a restored store, and counts; an older list does not', () => {
    const store = new Store()
    const replica = new Replica(store, (o) => o)
    const list = (asOf: number, ...items: readonly KubeObject[]) => {
      replica.beginList(String(asOf), false)
      replica.page(items)
      replica.endList(String(asOf))
    }
    list(10, object('a', 9))
    replica.event({ type: 'MODIFIED', object: object('a', 20) })
    replica.beginList('15', false)
    replica.page([object('a', 9)])
    replica.endList('15')
    expect(contents(store)).toEqual(['a@20'])
    list(1_000, object('a', 9))
    expect(contents(store)).toEqual(['a@9'])
    replica.event({ type: 'MODIFIED', object: object('a', 1_001) })
    expect(contents(store)).toEqual(['a@1001'])
  })
})

describe('F6 the changes that a slow handler gets', () => {
  it('add up to the last state, with each deletion before its successor', async () => {
    await fc.assert(
      fc.asyncProperty(histories, fc.nat(5), async ({ log, there }, pace) => {
        const store = new Store()
        const replica = new Replica(store, (o) => o)
        const uids = new Map<string, string | undefined>()
        const failures: unknown[] = []
        const delivery = new Delivery<KubeObject>(
          async (old, now) => {
            const key = (now ?? old)?.metadata.name ?? ''
            expect(uids.get(key)).toBe(old?.metadata.uid)
            if (old !== undefined && now !== undefined) expect(now.metadata.uid).toBe(old.metadata.uid)
            uids.set(key, now?.metadata.uid)
            await Promise.resolve()
          },
          {},
          (e) => failures.push(e),
        )
        for (const [i, e] of log.entries()) {
          for (const change of replica.event(e)) delivery.push(change)
          if (i % (pace + 1) === 0) await Promise.resolve()
        }
        await delivery.drained()
        expect(failures).toEqual([])
        expect([...uids].filter(([, uid]) => uid !== undefined).length).toBe(there.size)
        for (const [name, o] of there) expect(uids.get(name)).toBe(o.metadata.uid)
      }),
      { numRuns: 200 },
    )
  })
})

describe('pages', () => {
  it('are smaller the heavier the objects, and never without end', () => {
    const weighing = (bytes: number) =>
      Array.from({ length: 40 }, (_, i) => ({ ...object(`n${i}`, i), pad: 'x'.repeat(bytes) }))
    const sizes = [10, 3_000, 15_000, 1_000_000].map((bytes) => nextPageSize(weighing(bytes)))
    expect(sizes).toEqual([...sizes].sort((a, b) => b - a))
    expect([sizes[0], sizes.at(-1), nextPageSize([])]).toEqual([500, 20, 500])
  })
})

describe('deletions of names that no object can have', () => {
  it('are not remembered, and free what the object took', () => {
    const share = new KeptBound(4_000).share()
    const store = new Store()
    const replica = new Replica(store, (o) => o, share)
    replica.beginList('1', false)
    replica.endList('1')
    for (let i = 2; i < 100; i += 2) {
      const long = `${i}-${'x'.repeat(3_000)}`
      replica.event({ type: 'ADDED', object: object(long, i) })
      replica.event({ type: 'DELETED', object: object(long, i + 1) })
      replica.event({ type: 'DELETED', object: object(`never-${long}`, i + 1) })
    }
    expect(store.list()).toEqual([])
    expect(() => share.put('another', 'x'.repeat(3_900))).not.toThrow()
  })
})

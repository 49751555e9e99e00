import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { KubeNodeError } from '#lib/errors.ts'
import { WINDOW_MS } from './collection.ts'
import { encodedAt } from './internal-write.ts'
import { memoryStorage } from './memory.ts'
import type { StorageBackend } from './port.ts'
import { sqliteStorage } from './sqlite.ts'
import { Store, onceDurable } from './store.ts'
import type { StoreEvent, Stored } from './stored.ts'
import { apiserverErrors } from '../apiserver-errors.ts'

const at = (name: string, namespace = 'ns') => ({ resource: '/configmaps', namespace, name })
const object = (name: string, k: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { k } })
const put = async (store: Store, name: string, k: string) =>
  store.put(at(name), store.latest(at(name)), encodedAt(object(name, k)))
const ALL = { namespace: undefined, name: undefined }
const namesOf = (list: Iterable<{ readonly name: string }> | undefined) =>
  list === undefined ? undefined : Array.from(list, (s) => s.name)

let folder = ''
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'kubenode-store-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const backends: Readonly<Record<string, () => StorageBackend>> = {
  memory: memoryStorage,
  sqlite: () => sqliteStorage(join(folder, 'objects.db')),
}

/** Counts changes made durable together. */
function counting(): { readonly backend: StorageBackend; readonly commits: readonly number[] } {
  const inner = memoryStorage()
  const commits: number[] = []
  const commit: StorageBackend['commit'] = (changes) => {
    commits.push(changes.length)
    return inner.commit(changes)
  }
  return { backend: { ...inner, commit }, commits }
}

describe('heartbeats', () => {
  const lease = (name: string) => ({ resource: 'coordination.k8s.io/leases', namespace: 'ns', name })
  const renew = (store: Store, name: string) => {
    const value = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name } }
    return store.put(lease(name), store.latest(lease(name)), encodedAt(value))
  }

  afterEach(() => void vi.useRealTimers())
  /** Under load a turn takes longer than a heartbeat waits. */
  const stopTimers = () => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })

  test('that come one after the other are made durable together, and none is lost', async () => {
    stopTimers()
    const { backend, commits } = counting()
    const store = new Store(backend)
    const names = ['a', 'b', 'c', 'd']
    await Promise.all(names.map((n) => renew(store, n)))
    const before = commits.length
    const renewals: Promise<unknown>[] = []
    for (const n of names) {
      renewals.push(renew(store, n))
      await new Promise((next) => setImmediate(next))
    }
    expect(commits.length).toBe(before)
    vi.runAllTimers()
    await Promise.all(renewals)
    expect(commits.slice(before)).toEqual([4])
    expect(names.map((n) => store.get(lease(n))?.revision)).toEqual([5, 6, 7, 8])
    await store.close()
  })

  test('go with the next write of another kind, in the order of their revisions', async () => {
    stopTimers()
    const { backend, commits } = counting()
    const store = new Store(backend)
    await renew(store, 'a')
    const seen: number[] = []
    store.onChange((e) => void seen.push(e.revision))
    const renewal = renew(store, 'a')
    await new Promise((next) => setImmediate(next))
    await put(store, 'c', '1')
    await renewal
    expect(commits).toEqual([1, 2])
    expect(seen).toEqual([2, 3])
    await store.close()
  })

  test('many do not wait for more', async () => {
    const { backend, commits } = counting()
    const store = new Store(backend)
    const names = Array.from({ length: 100 }, (_, i) => `n-${i}`)
    await Promise.all(names.map((n) => renew(store, n)))
    await Promise.all(names.map((n) => renew(store, n)))
    expect(commits).toEqual([100, 100])
    await store.close()
  })

  test('that wait are stored before the store is closed', async () => {
    const store = new Store(sqliteStorage(join(folder, 'objects.db')))
    await renew(store, 'a')
    const renewal = renew(store, 'a')
    await new Promise((next) => setImmediate(next))
    await store.close()
    expect(await renewal).toMatchObject({ done: { revision: 2 } })
    const again = new Store(sqliteStorage(join(folder, 'objects.db')))
    expect(again.get(lease('a'))?.revision).toBe(2)
    await again.close()
  })
})

describe.each(Object.entries(backends))('a store on %s', (_, backend) => {
  test('gives each write the next revision and reads back what was acknowledged', async () => {
    const store = new Store(backend())
    await put(store, 'a', '1')
    await put(store, 'b', '1')
    await put(store, 'a', '2')
    expect(store.revision).toBe(3)
    expect(store.get(at('a'))?.value).toEqual({ ...object('a', '2'), metadata: { name: 'a', resourceVersion: '3' } })
    await store.close()
  })

  test('refuses a write that builds on an older version', async () => {
    const store = new Store(backend())
    await put(store, 'a', '1')
    const old = store.latest(at('a'))
    await put(store, 'a', '2')
    const outcome = await store.put(at('a'), old, encodedAt(object('a', '3')))
    expect(outcome).toEqual({ stale: store.get(at('a')) })
    expect(await store.put(at('a'), undefined, encodedAt(object('a', '3')))).toEqual({ stale: store.get(at('a')) })
    await store.close()
  })

  test('who rests on a write that is on its way is answered once that write is durable', async () => {
    const store = new Store(backend())
    const first = put(store, 'a', '1')
    const told: string[] = []
    const tell = (what: string) => told.push(`${what} at ${store.revision}`)
    await Promise.all([
      onceDurable(store, at('a'), async () => undefined).then(() => tell('not there')),
      onceDurable(store, at('a'), async () => ({ stored: store.latest(at('a')) as Stored })).then(() =>
        tell('unchanged'),
      ),
      onceDurable(store, at('a'), async () => Promise.reject(new Error('refused'))).catch(() => tell('refused')),
      store.settled(at('b')).then(() => tell('another')),
    ])
    expect(told.sort()).toEqual(['another at 0', 'not there at 1', 'refused at 1', 'unchanged at 1'])
    await first
    await store.close()
  })

  test('lets writes that came together build on each other, and shows none before it is durable', async () => {
    const store = new Store(backend())
    const first = put(store, 'a', '1')
    const second = put(store, 'a', '2')
    expect(store.get(at('a'))).toBeUndefined()
    await Promise.all([first, second])
    expect(store.get(at('a'))?.revision).toBe(2)
    await store.close()
  })
})

test('what was acknowledged is there after the server comes back, and the clock goes on', async () => {
  const first = new Store(backends['sqlite']?.() ?? memoryStorage())
  await put(first, 'a', '1')
  await put(first, 'b', '1')
  const b = first.latest(at('b'))
  if (b !== undefined) await first.delete(at('b'), b, encodedAt(b.value))
  await first.close()
  const second = new Store(backends['sqlite']?.() ?? memoryStorage())
  expect(namesOf(second.collection('/configmaps').list(undefined))).toEqual(['a'])
  expect(second.revision).toBe(3)
  // an older watcher cannot learn what it missed
  expect(second.collection('/configmaps').since(2, ALL)).toBeUndefined()
  await put(second, 'c', '1')
  expect(second.get(at('c'))?.revision).toBe(4)
  await second.close()
})

test('a failed commit fails every later write and shows nothing', async () => {
  const broken: StorageBackend = { ...memoryStorage(), commit: () => Promise.reject(new Error('disk gone')) }
  const store = new Store(broken)
  await expect(put(store, 'a', '1')).rejects.toThrow('disk gone')
  await expect(put(store, 'b', '1')).rejects.toThrow('disk gone')
  expect(store.get(at('a'))).toBeUndefined()
})

test('a deletion on its way hides the object also when an earlier deletion of that name is committed meanwhile', async () => {
  let commitOne = (): void => undefined
  const store = new Store({
    ...memoryStorage(),
    commit: () => new Promise((resolve) => void (commitOne = resolve)),
  })
  const committed = async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    commitOne()
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const drop = async () => {
    const now = store.latest(at('a'))
    if (now !== undefined) await store.delete(at('a'), now, encodedAt(now.value))
  }
  const writes = [put(store, 'a', '1'), drop(), put(store, 'a', '2')]
  await new Promise((resolve) => setTimeout(resolve, 5))
  writes.push(drop())
  await committed()
  expect(store.latest(at('a'))).toBeUndefined()
  await committed()
  expect(store.latest(at('a'))).toBeUndefined()
  await Promise.all(writes)
  expect(
    store
      .collection('/configmaps')
      .since(0, ALL)
      ?.map((e) => `${e.type} ${e.revision}`),
  ).toEqual(['ADDED 1', 'DELETED 2', 'ADDED 3', 'DELETED 4'])
})

test('a write that found no room is undone with all that was built upon it, and the next one is made', async () => {
  let isFull = false
  const backend: StorageBackend = {
    ...memoryStorage(),
    commit: () =>
      isFull
        ? Promise.reject(new KubeNodeError(apiserverErrors.KN6106({ file: 'objects.db' }), { retry: 'later' }))
        : Promise.resolve(),
  }
  const store = new Store(backend)
  await put(store, 'a', '1')
  isFull = true
  const refused = await Promise.allSettled([put(store, 'a', '2'), put(store, 'a', '3'), put(store, 'b', '1')])
  expect(refused.map((r) => r.status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect([store.revision, store.latest(at('a'))?.revision, store.latest(at('b'))]).toEqual([1, 1, undefined])
  isFull = false
  await put(store, 'a', '4')
  // revisions of refused writes are not reused
  expect(store.get(at('a'))?.revision).toBe(5)
  expect(
    store
      .collection('/configmaps')
      .since(1, ALL)
      ?.map((e) => [e.type, e.revision]),
  ).toEqual([['MODIFIED', 5]])
})

test('F25 on a full disk deletions are stored, also those that came together with writes that found no room', async () => {
  let isFull = false
  const batches: number[] = []
  const store = new Store({
    ...memoryStorage(),
    commit: (changes) => {
      batches.push(changes.length)
      return isFull && changes.some((c) => c.takesNoRoom !== true)
        ? Promise.reject(new KubeNodeError(apiserverErrors.KN6106({ file: 'objects.db' }), { retry: 'later' }))
        : Promise.resolve()
    },
  })
  const drop = async (name: string) => {
    const now = store.latest(at(name))
    return now === undefined ? undefined : store.delete(at(name), now, encodedAt(now.value))
  }
  for (const name of ['a', 'b', 'c']) await put(store, name, '1')
  isFull = true
  const outcomes = await Promise.allSettled([
    put(store, 'new', '1'),
    drop('a'),
    // an object that never existed cannot be deleted
    drop('new'),
    put(store, 'b', '2'),
    put(store, 'c', 'x'.repeat(5_000)),
    drop('c'),
  ])
  expect(outcomes.map((o) => o.status)).toEqual([
    'rejected',
    'fulfilled',
    'rejected',
    'fulfilled',
    'rejected',
    'rejected',
  ])
  const left = () => Array.from(store.collection('/configmaps').list('ns'), (s) => [s.name, s.revision])
  expect(left()).toEqual([
    ['b', 7],
    ['c', 3],
  ])
  expect(store.latest(at('c'))?.revision).toBe(3)
  isFull = false
  await Promise.all([put(store, 'new', '1'), drop('c')])
  expect(left().map(([name]) => name)).toEqual(['b', 'new'])
  expect(batches).toEqual([1, 1, 1, 6, 2, 2])
})

test('a backend that fails by itself ends the store, and waiting requests get the error', async () => {
  const { promise: failed, resolve: fail } = Promise.withResolvers<Error>()
  const store = new Store({ ...memoryStorage(), failed, commit: () => new Promise(() => undefined) })
  const waiting = put(store, 'a', '1')
  const queued = new Promise((resolve) => setImmediate(resolve)).then(() => put(store, 'b', '1'))
  await new Promise((resolve) => setTimeout(resolve, 10))
  fail(new Error('sync failed'))
  expect(await store.failed).toEqual(new Error('sync failed'))
  await expect(queued).rejects.toThrow('sync failed')
  await expect(put(store, 'c', '1')).rejects.toThrow('sync failed')
  void waiting
})

describe('watchers', () => {
  test('get each change once, in order, of the scope that they asked for', async () => {
    const store = new Store(memoryStorage())
    const heard: Record<string, string[]> = { all: [], namespace: [], name: [] }
    const listen = (key: string) => (e: StoreEvent) => void heard[key]?.push(`${e.type} ${e.object.name}@${e.revision}`)
    const c = store.collection('/configmaps')
    c.watch(ALL, listen('all'))
    c.watch({ namespace: 'other', name: undefined }, listen('namespace'))
    const stop = c.watch({ namespace: 'ns', name: 'b' }, listen('name'))
    await put(store, 'a', '1')
    await put(store, 'b', '1')
    await store.put(at('x', 'other'), undefined, encodedAt(object('x', '1')))
    stop()
    const b = store.latest(at('b'))
    if (b !== undefined) await store.delete(at('b'), b, encodedAt(b.value))
    expect(heard).toEqual({
      all: ['ADDED a@1', 'ADDED b@2', 'ADDED x@3', 'DELETED b@4'],
      namespace: ['ADDED x@3'],
      name: ['ADDED b@2'],
    })
    expect(c.since(2, ALL)?.map((e) => e.revision)).toEqual([3, 4])
  })

  test('a watcher that returns after more than the window learns that it is too late', async () => {
    const store = new Store(memoryStorage())
    for (let i = 0; i < 60; i++) await Promise.all(Array.from({ length: 100 }, (_, n) => put(store, `n${n}`, `${i}`)))
    const c = store.collection('/configmaps')
    expect(c.floor).toBeGreaterThan(0)
    expect(c.since(c.floor - 1, ALL)).toBeUndefined()
    expect(c.since(c.floor, ALL)?.[0]?.revision).toBe(c.floor + 1)
    expect(c.since(c.floor, ALL)?.at(-1)?.revision).toBe(6_000)
  })
})

test('changes older than the window are dropped when the next one comes, and a place inside it can be resumed', async () => {
  let ms = 0
  const store = new Store(memoryStorage(), { monotonic: () => ms })
  const c = store.collection('/configmaps')
  const everyMinute = async (count: number) => {
    for (let i = 0; i < count; i++, ms += 60_000) await put(store, 'n', `${store.revision}`)
  }
  await everyMinute(6)
  expect(c.floor).toBe(0)
  await everyMinute(60)
  const kept = c.since(c.floor, ALL) ?? []
  expect(kept.at(-1)?.revision).toBe(66)
  const oldest = ms - 60_000 - (kept[0]?.at ?? 0)
  expect(oldest).toBeGreaterThanOrEqual(WINDOW_MS - 60_000)
  expect(oldest).toBeLessThanOrEqual(WINDOW_MS * 1.25)
  expect(c.since(c.floor - 1, ALL)).toBeUndefined()
})

test('a list at any revision in the window is what a list was then', async () => {
  const step = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), drop: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const store = new Store(memoryStorage())
      const c = store.collection('/configmaps')
      const seen: [number, unknown][] = [[0, []]]
      for (const { name, drop } of steps) {
        const now = store.latest(at(name))
        if (drop && now !== undefined) await store.delete(at(name), now, encodedAt(now.value))
        else await put(store, name, 'x')
        seen.push([store.revision, Array.from(c.list('ns'), (s) => [s.name, s.revision])])
      }
      for (const [revision, then] of seen)
        expect(Array.from(c.listAt(revision, 'ns') ?? [], (s) => [s.name, s.revision])).toEqual(then)
    }),
    { numRuns: 40 },
  )
})

import { describe, expect, it } from 'vitest'
import { seededRandom } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ListOptions, WatchOptions } from './client.ts'
import { coreKind } from './core-kinds.ts'
import { settled, VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import {
  faultsOf,
  onEveryNthEvent,
  onNthCall,
  onNthEvent,
  type Call,
  type FaultPort,
} from '#test/doubles/kube/faults.ts'
import { ApiError, ConnectionError, failure } from './errors.ts'
import { createInformer, type Informer, type InformerNotice, type InformerOptions } from './informer.ts'
import { KeptBound } from './kept-bound.ts'
import { kubeErrors } from './kube-errors.ts'

const NODE = coreKind('Node')
const ACTOR = 'controller'

const node = (name: string, zone = 'a'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { zone } },
  spec: {},
})

function world(options: Partial<InformerOptions<KubeObject>> = {}, bookmarkEveryMs = 60_000, window = 10_000) {
  const clock = new VirtualClock()
  const fake = new FakeKube({ clock, random: seededRandom(7), bookmarkEveryMs, window })
  const notices: InformerNotice[] = []
  const calls: Call[] = []
  const stop = new AbortController()
  const counting: FaultPort = {
    call: (c) => {
      calls.push(c)
      return undefined
    },
  }
  fake.faults = counting
  const start = (more: Partial<InformerOptions<KubeObject>> = {}) => {
    const informer = createInformer({
      client: fake.client({ actor: ACTOR }),
      type: NODE,
      clock,
      random: seededRandom(9),
      notice: (n) => notices.push(n),
      ...options,
      ...more,
    })
    void informer.run(stop.signal)
    return informer
  }
  const inject = (...faults: FaultPort[]) => {
    fake.faults = faultsOf(counting, ...faults)
  }
  const count = (verb: string) => calls.filter((c) => c.verb === verb).length
  return { clock, fake, notices, calls, start, inject, count, stop }
}

const cached = (informer: Informer): string[] =>
  informer.store
    .list()
    .map((o) => `${o.metadata.name}@${o.metadata.resourceVersion}`)
    .sort()

const truth = (fake: FakeKube): string[] =>
  fake
    .all(NODE)
    .map((o) => `${o.metadata.name}@${o.metadata.resourceVersion}`)
    .sort()

/** The copy that a handler would keep: it equals the cache unless an event was lost. */
function mirror(informer: Informer): () => string[] {
  const seen = new Map<string, string>()
  informer.addHandler((old, now) => {
    if (now === undefined) seen.delete(old?.metadata.name ?? '')
    else seen.set(now.metadata.name ?? '', now.metadata.resourceVersion ?? '')
  })
  return () => [...seen].map(([name, rv]) => `${name}@${rv}`).sort()
}

function churn(fake: FakeKube, steps: number, seed = 3): void {
  const random = seededRandom(seed)
  for (let i = 0; i < steps; i++) {
    const name = `n${random.below(6)}`
    if (fake.peek(NODE, { name }) === undefined) fake.plant(NODE, node(name))
    else if (random.below(3) === 0) fake.uproot(NODE, { name })
    else fake.poke(NODE, { name }, { spec: { podCIDR: `10.0.${i}.0/24` } })
  }
}

describe('list and watch', () => {
  it('is synced only when the whole list is cached and handlers saw it', async () => {
    const { fake, start } = world()
    for (let i = 0; i < 1_234; i++) fake.plant(NODE, node(`n${i}`))
    const informer = start()
    let release: () => void = () => undefined
    const gate = new Promise<void>((resolve) => (release = resolve))
    let seen = 0
    informer.addHandler(async () => {
      seen++
      if (seen === 600) await gate
    })
    await settled()
    expect([informer.store.size, informer.isSynced]).toEqual([1_234, false])
    release()
    await informer.synced()
    expect([seen, informer.isSynced]).toEqual([1_234, true])
  })

  it('lists in pages and then only watches', async () => {
    const { fake, start, count, clock } = world()
    for (let i = 0; i < 1_234; i++) fake.plant(NODE, node(`n${i}`))
    const informer = start()
    await informer.synced()
    churn(fake, 50)
    await clock.advance(3_600_000)
    expect(cached(informer)).toEqual(truth(fake))
    expect(count('list')).toBe(4)
    expect(count('watch')).toBeGreaterThan(5)
  })

  it('drops managedFields on the way in and keeps what identifies an object', async () => {
    const { fake, start } = world()
    fake.plant(NODE, node('n1'))
    const informer = start()
    await informer.synced()
    const raw = fake.peek(NODE, { name: 'n1' })
    expect(raw?.metadata.managedFields).toHaveLength(1)
    const { managedFields: _, ...metadata } = raw?.metadata ?? {}
    expect(informer.store.get({ name: 'n1' })?.metadata).toEqual(metadata)
  })

  it('keeps indexes equal to the objects through changes and deletes', async () => {
    const { fake, start } = world({ indexers: { zone: (o) => [o.metadata.labels?.['zone'] ?? ''] } })
    const informer = start()
    fake.plant(NODE, node('n1', 'a'))
    fake.plant(NODE, node('n2', 'b'))
    await informer.synced()
    fake.poke(NODE, { name: 'n1' }, { metadata: { labels: { zone: 'b' } } })
    fake.uproot(NODE, { name: 'n2' })
    await settled()
    expect(informer.store.byIndex('zone', 'b').map((o) => o.metadata.name)).toEqual(['n1'])
    expect(informer.store.indexValues('zone')).toEqual(['b'])
    expect(() => informer.store.byIndex('rack', 'x')).toThrow('no index "rack"')
  })

  it('F21 an indexer that fails on one object is reported and the others are cached', async () => {
    const { fake, start, notices } = world({
      indexers: {
        zone: (o) => {
          if (o.metadata.name === 'poison') throw new Error('strange')
          return ['ok']
        },
      },
    })
    for (const name of ['a', 'poison', 'z']) fake.plant(NODE, node(name))
    const informer = start()
    await informer.synced()
    expect(informer.store.byIndex('zone', 'ok')).toHaveLength(2)
    expect(informer.store.size).toBe(3)
    expect(notices.filter((n) => n.kind === 'HandlerFailed')).toHaveLength(1)
  })
})

describe('F5 watch drop', () => {
  it.each([
    ['closed before', { kind: 'close', when: 'before' }],
    ['closed after', { kind: 'close', when: 'after' }],
    ['lost before', { kind: 'lose', when: 'before' }],
    ['lost after', { kind: 'lose', when: 'after' }],
  ] as const)('F5 a watch %s every single event misses none of them and lists once', async (_name, fault) => {
    const { fake, start, inject, count, clock } = world()
    const informer = start()
    const seen = mirror(informer)
    await informer.synced()
    // Every second event, because a stream that never delivers one makes no progress.
    inject(onEveryNthEvent(2, fault, ACTOR))
    for (let round = 0; round < 10; round++) {
      churn(fake, 7, round)
      await clock.advance(60_000)
    }
    await clock.advance(600_000)
    expect(cached(informer)).toEqual(truth(fake))
    expect(seen()).toEqual(truth(fake))
    expect(count('list')).toBe(1)
  })
})

describe('F6 unobserved state', () => {
  it('F6 a slow handler sees the last state of an object, not each one on the way', async () => {
    const { fake, start } = world()
    const informer = start()
    await informer.synced()
    let release: () => void = () => undefined
    const gate = new Promise<void>((resolve) => (release = resolve))
    const seen: string[] = []
    informer.addHandler(async (old, now) => {
      seen.push(
        `${old?.metadata.resourceVersion ?? '-'}>${now?.metadata.resourceVersion ?? '-'} ${(now ?? old)?.metadata.name}`,
      )
      await gate
    })
    fake.plant(NODE, node('busy'))
    await settled()
    fake.plant(NODE, node('short'))
    fake.poke(NODE, { name: 'short' }, { spec: { a: 1 } })
    fake.uproot(NODE, { name: 'short' })
    fake.poke(NODE, { name: 'busy' }, { spec: { a: 1 } })
    fake.poke(NODE, { name: 'busy' }, { spec: { a: 2 } })
    await settled()
    release()
    await settled()
    expect(seen).toEqual(['->2 busy', '2>7 busy'])
  })

  it('F6 an object replaced under the same name is reported as a deletion and a creation', async () => {
    const { fake, start, clock, inject } = world()
    fake.plant(NODE, node('n1'))
    const informer = start()
    const seen: string[] = []
    informer.addHandler((old, now) => void seen.push(`${old?.metadata.uid ?? '-'}>${now?.metadata.uid ?? '-'}`))
    await informer.synced()
    const first = fake.peek(NODE, { name: 'n1' })?.metadata.uid
    inject(onNthEvent(1, { kind: 'drop' }, ACTOR))
    fake.uproot(NODE, { name: 'n1' })
    fake.plant(NODE, node('n1'))
    const second = fake.peek(NODE, { name: 'n1' })?.metadata.uid
    await clock.advance(1_000)
    expect(seen).toEqual([`->${first}`, `${first}>-`, `->${second}`])
  })

  it('a handler that wants every change gets each, and the stream waits for it', async () => {
    const { fake, start } = world()
    const informer = start()
    await informer.synced()
    let seen = 0
    informer.addHandler(
      async () => {
        seen++
        await Promise.resolve()
      },
      { coalesce: false },
    )
    fake.plant(NODE, node('n1'))
    for (let i = 0; i < 3_000; i++) fake.poke(NODE, { name: 'n1' }, { spec: { i } })
    for (let i = 0; i < 50; i++) await settled()
    expect(seen).toBe(3_001)
  })
})

describe('F7 duplicates and disorder', () => {
  it.each([
    ['duplicated', { kind: 'duplicate' }],
    ['swapped with the next', { kind: 'swap' }],
  ] as const)('F7 events %s leave the cache and every handler right', async (_name, fault) => {
    const { fake, start, inject, clock } = world()
    const informer = start()
    const seen = mirror(informer)
    await informer.synced()
    inject(onEveryNthEvent(3, fault, ACTOR))
    for (let round = 0; round < 20; round++) {
      churn(fake, 11, round)
      await clock.advance(1_000)
    }
    inject()
    await clock.advance(600_000)
    expect(cached(informer)).toEqual(truth(fake))
    expect(seen()).toEqual(truth(fake))
  })

  it('F7 an older version that comes after a deletion does not bring the object back', async () => {
    const { fake, start, inject, clock } = world()
    fake.plant(NODE, node('n1'))
    const informer = start()
    await informer.synced()
    inject(onNthEvent(1, { kind: 'swap' }, ACTOR))
    fake.poke(NODE, { name: 'n1' }, { spec: { a: 1 } })
    fake.uproot(NODE, { name: 'n1' })
    await clock.advance(1_000)
    expect(cached(informer)).toEqual([])
  })

  it('F7 an event that was overtaken when the connection broke comes again', async () => {
    const { fake, start, inject, clock } = world()
    const informer = start()
    await informer.synced()
    // The first event is queued behind the second and lost with the stream.
    inject(onNthEvent(1, { kind: 'drop' }, ACTOR), onNthEvent(2, { kind: 'lose', when: 'after' }, ACTOR))
    fake.plant(NODE, node('overtaken'))
    fake.plant(NODE, node('seen'))
    await clock.advance(5_000)
    expect(cached(informer)).toEqual(truth(fake))
  })
})

describe('F8 410 Gone', () => {
  it('F8 410 Gone on watch start lists again once and tells deletions with the last known state', async () => {
    const { fake, start, count, clock } = world()
    for (const name of ['stays', 'goes']) fake.plant(NODE, node(name))
    const informer = start()
    const gone: string[] = []
    informer.addHandler((old, now) => {
      if (now === undefined) gone.push(`${old?.metadata.name} ${JSON.stringify(old?.metadata.labels)}`)
    })
    await informer.synced()
    fake.faults = { ...fake.faults, horizon: () => fake.revision - 1 }
    fake.uproot(NODE, { name: 'goes' })
    fake.compact()
    fake.faults = {}
    fake.closeWatches()
    await clock.advance(5_000)
    expect(gone).toEqual(['goes {"zone":"a"}'])
    expect(cached(informer)).toEqual(truth(fake))
    expect(count('list')).toBeLessThanOrEqual(2)
  })

  it('F8 410 Gone mid-stream as an ERROR event is healed by one list', async () => {
    const { fake, start, inject, count, clock } = world()
    const informer = start()
    await informer.synced()
    inject(onNthEvent(2, { kind: 'error', code: 410 }, ACTOR))
    churn(fake, 9)
    await clock.advance(10_000)
    expect(cached(informer)).toEqual(truth(fake))
    expect(count('list')).toBeLessThanOrEqual(2)
  })

  it('F8 410 Gone in a loop lists less and less often', async () => {
    const { fake, start, inject, count, clock } = world()
    const informer = start()
    await informer.synced()
    inject({ call: (c) => (c.verb === 'watch' ? { kind: 'refuse', when: 'before', code: 410 } : undefined) })
    fake.closeWatches()
    await clock.advance(3_600_000)
    const inLoop = count('list')
    expect(inLoop).toBeGreaterThan(60)
    expect(inLoop).toBeLessThan(300)
    inject()
    churn(fake, 9)
    await clock.advance(60_000)
    expect(cached(informer)).toEqual(truth(fake))
  })

  it('F8 410 Gone on page 2 of a list starts the list again, and after two of them asks for all in one piece', async () => {
    const { fake, start, inject, clock, calls } = world()
    for (let i = 0; i < 900; i++) fake.plant(NODE, node(`n${i}`))
    let refusals = 0
    inject({
      call: (c) =>
        c.verb === 'list' && calls.filter((x) => x.verb === 'list').length % 2 === 0 && refusals++ < 5
          ? { kind: 'refuse', when: 'before', code: 410 }
          : undefined,
    })
    const informer = start()
    await clock.advance(30_000)
    expect(informer.isSynced).toBe(true)
    expect(refusals).toBe(2)
    expect(cached(informer)).toEqual(truth(fake))
  })
})

describe('F9 half-open connections', () => {
  it('F9 a stream that says nothing is found within two bookmark periods', async () => {
    const { fake, start, inject, clock, notices } = world()
    const informer = start()
    await informer.synced()
    await clock.advance(90_000)
    const isOpenNow = fake.openWatchIds()[0]
    inject({ event: (watch) => (watch.id === isOpenNow ? { kind: 'drop' } : undefined) })
    fake.plant(NODE, node('unseen'))
    const from = clock.monotonic()
    while (!notices.some((n) => n.kind === 'Silent') && clock.monotonic() - from < 600_000) await clock.advance(1_000)
    expect(clock.monotonic() - from).toBeLessThan(120_000)
    await clock.advance(1_000)
    expect(cached(informer)).toEqual(truth(fake))
  })

  it('F9 a watch is reported once it is accepted: one that is refused, or never answered, is none', async () => {
    const { start, inject, clock, notices } = world()
    inject(onNthCall({ verbs: ['watch'] }, 1, { kind: 'refuse', when: 'before', code: 503 }))
    start()
    await clock.advance(60_000)
    expect(notices.map((n) => n.kind).filter((kind) => kind !== 'Listed')).toEqual(['Failed', 'Watching'])
  })

  it('F9 a new stream is left alone until its second bookmark is overdue, and is found soon after', async () => {
    const { start, inject, clock, notices, count } = world()
    inject({ event: () => (clock.monotonic() < 119_000 ? { kind: 'drop' } : undefined) })
    const informer = start()
    await clock.advance(130_000)
    expect([count('watch'), notices.some((n) => n.kind === 'Silent')]).toEqual([1, false])
    expect(informer.silentForMs()).toBe(10_000)
    inject({ event: () => ({ kind: 'drop' }) })
    const silent = () => notices.filter((n) => n.kind === 'Silent').map((n) => n.forMs)
    await clock.advance(100_000)
    expect(silent()).toEqual([105_000])
    await clock.advance(150_000)
    expect(silent()).toEqual([105_000, 150_000])
  })

  it('F9 a silent stream ends also where the rest of its time is too small for the clock', async () => {
    for (let n = 0; n < 40; n++) {
      const { start, inject, clock, notices } = world()
      // At a power of two a clock's resolution becomes coarser: the remaining wait may be smaller than one step.
      clock.skip(2 ** 23 - 100_000 + n / 7)
      start()
      inject({ event: () => (clock.monotonic() > 2 ** 23 - 30_000 ? { kind: 'drop' } : undefined) })
      await settled()
      let fired = 0
      for (; fired < 1_000 && clock.fireNext(2 ** 23 + 600_000); fired++) await settled()
      expect(fired).toBeLessThan(1_000)
      expect(notices.some((notice) => notice.kind === 'Silent')).toBe(true)
    }
  })

  it('F9 a server that accepts a watch was heard, unless it was silent before', async () => {
    const { fake, start, inject, clock } = world()
    inject({ event: () => ({ kind: 'drop' }) })
    const informer = start()
    await clock.advance(59_000)
    fake.closeWatches()
    await clock.advance(110_000)
    expect(informer.silentForMs()).toBeLessThan(111_000)
    await clock.advance(200_000)
    expect(informer.silentForMs()).toBeGreaterThan(300_000)
  })

  it('F9 a quiet but healthy stream is left alone', async () => {
    const { start, clock, notices, count } = world()
    const informer = start()
    await informer.synced()
    await clock.advance(250_000)
    expect(notices.some((n) => n.kind === 'Silent')).toBe(false)
    expect(count('watch')).toBe(1)
  })
})

describe('F10 errors of any kind', () => {
  it.each([401, 403, 500, 504, 429])('F10 an ERROR event with %i never ends the reflector', async (code) => {
    const { fake, start, inject, clock } = world()
    const informer = start()
    await informer.synced()
    inject(onEveryNthEvent(2, { kind: 'error', code }, ACTOR))
    for (let round = 0; round < 5; round++) {
      churn(fake, 5, round)
      await clock.advance(120_000)
    }
    expect(cached(informer)).toEqual(truth(fake))
  })

  it('F10 a server that refuses everything for a day is back in the cache within a minute of its return', async () => {
    const { fake, start, inject, clock, calls } = world()
    const informer = start()
    await informer.synced()
    inject({ call: () => ({ kind: 'refuse', when: 'before', code: 503 }) })
    fake.closeWatches()
    await clock.advance(86_400_000)
    const tries = calls.length
    // About one try per thirty seconds once the backoff reaches its cap.
    expect(tries).toBeLessThan(5_000)
    churn(fake, 9)
    inject()
    await clock.advance(60_000)
    expect(cached(informer)).toEqual(truth(fake))
  })

  it('F13 RBAC withdrawn mid-run: the cache stays as it was and is current again when the permission is back', async () => {
    const { fake, start, inject, clock } = world()
    fake.plant(NODE, node('n1'))
    const informer = start()
    await informer.synced()
    inject({ call: () => ({ kind: 'refuse', when: 'before', code: 403 }) })
    fake.closeWatches()
    churn(fake, 5)
    await clock.advance(600_000)
    expect(informer.store.size).toBe(1)
    expect(informer.silentForMs()).toBeGreaterThan(500_000)
    inject()
    await clock.advance(60_000)
    expect(cached(informer)).toEqual(truth(fake))
  })

  it('F11 a Retry-After of the server is waited for', async () => {
    const { start, inject, clock, calls } = world()
    inject(onNthCall({ verbs: ['list'] }, 1, { kind: 'refuse', when: 'before', code: 429, retryAfterSeconds: 120 }))
    const informer = start()
    await clock.advance(119_000)
    expect(calls.filter((c) => c.verb === 'list')).toHaveLength(1)
    await clock.advance(2_000)
    expect(informer.isSynced).toBe(true)
  })
})

describe('F12 reconnect storm', () => {
  it('F12 five hundred reflectors that are cut off at once list not once more and come back spread out', async () => {
    const clock = new VirtualClock()
    const fake = new FakeKube({ clock, random: seededRandom(1), bookmarkEveryMs: 60_000 })
    const lists: number[] = []
    const watches: number[] = []
    fake.faults = {
      call: (c) => {
        if (c.verb === 'list') lists.push(clock.monotonic())
        if (c.verb === 'watch') watches.push(clock.monotonic())
        return undefined
      },
    }
    fake.plant(NODE, node('n1'))
    const stop = new AbortController()
    for (let i = 0; i < 500; i++)
      void createInformer({ client: fake.client({ actor: `c${i}` }), type: NODE, clock, random: seededRandom(i) }).run(
        stop.signal,
      )
    await clock.advance(61_000)
    expect(lists).toHaveLength(500)
    watches.length = 0
    fake.closeWatches(undefined, 'lost')
    await clock.advance(10_000)
    expect(lists).toHaveLength(500)
    expect(watches).toHaveLength(500)
    const perTenMs = new Map<number, number>()
    for (const at of watches) perTenMs.set(Math.floor(at / 10), (perTenMs.get(Math.floor(at / 10)) ?? 0) + 1)
    expect(Math.max(...perTenMs.values())).toBeLessThan(100)
    stop.abort()
    await settled()
    expect(fake.openWatches).toBe(0)
  })
})

describe('F4 time travel', () => {
  it('F4 a list that is older than what was seen is not taken as the truth', async () => {
    const { fake, start, clock, inject, notices } = world()
    const informer = start()
    await informer.synced()
    const before = fake.revision
    churn(fake, 12)
    await clock.advance(1_000)
    const seen = cached(informer)
    inject({ horizon: () => before })
    fake.closeWatches()
    inject({
      horizon: () => before,
      call: (c) => (c.verb === 'watch' ? { kind: 'refuse', when: 'before', code: 410 } : undefined),
    })
    await clock.advance(120_000)
    expect(cached(informer)).toEqual(seen)
    expect(notices.some((n) => n.kind === 'WentBack' && !n.accepted)).toBe(true)
    inject()
    await clock.advance(60_000)
    expect(cached(informer)).toEqual(truth(fake))
  })

  it('F4 a server that stays behind for long was set back: in the end its state counts', async () => {
    const { fake, start, clock, inject, notices } = world()
    const informer = start()
    await informer.synced()
    fake.plant(NODE, node('kept'))
    const before = fake.revision
    fake.plant(NODE, node('lost-in-restore'))
    await clock.advance(1_000)
    inject({
      horizon: () => before,
      call: (c) =>
        c.verb === 'watch' && informer.store.size === 2 ? { kind: 'refuse', when: 'before', code: 410 } : undefined,
    })
    fake.closeWatches()
    await clock.advance(900_000)
    expect(informer.store.list().map((o) => o.metadata.name)).toEqual(['kept'])
    expect(notices.some((n) => n.kind === 'WentBack' && n.accepted)).toBe(true)
  })

  it('F4 a server that was set back and is silent on watches from its future is found by a list', async () => {
    const { fake, start, clock, inject, notices } = world()
    const informer = start()
    await informer.synced()
    fake.plant(NODE, node('kept'))
    const before = fake.revision
    fake.plant(NODE, node('lost-in-restore'))
    await clock.advance(1_000)
    inject({ horizon: () => before, event: () => (informer.store.size === 2 ? { kind: 'drop' } : undefined) })
    fake.closeWatches()
    await clock.advance(1_200_000)
    expect(informer.store.list().map((o) => o.metadata.name)).toEqual(['kept'])
    expect(notices.some((n) => n.kind === 'WentBack' && n.accepted)).toBe(true)
  })
})

describe('a list from time to time', () => {
  it('heals an event that the server swallowed, when asked to', async () => {
    const { fake, start, inject, clock } = world({ relistEveryMs: 1_800_000 })
    const informer = start()
    await informer.synced()
    inject(onNthEvent(1, { kind: 'drop' }, ACTOR))
    fake.plant(NODE, node('swallowed'))
    await clock.advance(1_200_000)
    expect(informer.store.size).toBe(0)
    await clock.advance(1_200_000)
    expect(cached(informer)).toEqual(truth(fake))
  })
})

describe('of a server whose administrators are others', () => {
  const failures = (notices: readonly InformerNotice[]) =>
    notices.flatMap((n) => (n.kind === 'Failed' ? [String(n.error)] : []))
  const large = (name: string): KubeObject => ({ ...node(name), status: { fill: 'x'.repeat(1_000) } })

  it('more objects than the bound are forgotten, and read again once there are fewer', async () => {
    const { clock, fake, notices, start } = world({ kept: new KeptBound(4_000).share() })
    const names = ['a', 'b', 'c', 'd']
    for (const name of names) fake.plant(NODE, large(name))
    const informer = start()
    const seen = mirror(informer)
    await settled()
    expect([informer.isSynced, cached(informer), seen()]).toEqual([false, [], []])
    expect(failures(notices)[0]).toContain('KN2005: cannot keep the objects of this cluster')
    fake.uproot(NODE, { name: 'd' })
    await clock.advance(60_000)
    expect([informer.isSynced, cached(informer), seen()]).toEqual([true, truth(fake), truth(fake)])
  })

  it('a watch that adds without an end is held to the same bound, which other caches share', async () => {
    const bound = new KeptBound(4_000)
    const { fake, notices, start } = world({ kept: bound.share() })
    bound.share().put('of another cache', 'x'.repeat(2_000))
    fake.plant(NODE, large('a'))
    const informer = start()
    await settled()
    expect(informer.isSynced).toBe(true)
    fake.plant(NODE, large('b'))
    await settled()
    expect([failures(notices).length > 0, cached(informer)]).toEqual([true, []])
  })

  it('deletions of objects that were never there are held to the same bound', async () => {
    const bound = new KeptBound(4_000)
    const { clock, fake, notices, start } = world({ kept: bound.share() })
    fake.plant(NODE, node('a'))
    const real = fake.client({ actor: ACTOR })
    let deletions = 100
    const client: typeof real = Object.create(real, {
      list: { value: (type: typeof NODE, options: ListOptions) => real.list(type, options) },
      watch: {
        async *value(type: typeof NODE, options: WatchOptions) {
          for (; deletions > 0; deletions--)
            yield { type: 'DELETED', object: node(`${deletions}-${'x'.repeat(100)}`) } as const
          yield* real.watch(type, options)
        },
      },
    })
    const informer = start({ client })
    await settled()
    expect([deletions > 0, failures(notices)[0]]).toEqual([
      true,
      expect.stringContaining('KN2005: cannot keep the objects of this cluster'),
    ])
    deletions = 0
    await clock.advance(60_000)
    expect(cached(informer)).toEqual(truth(fake))
    // What was forgotten takes no room.
    expect(() => bound.share().put('of another cache', 'x'.repeat(3_000))).not.toThrow()
  })

  it('watches that end after one event, again and again, are opened less often', async () => {
    const { clock, fake, start } = world()
    fake.plant(NODE, node('a'))
    const real = fake.client({ actor: ACTOR })
    let watches = 0
    const client: typeof real = Object.create(real, {
      list: { value: (type: typeof NODE, options: ListOptions) => real.list(type, options) },
      watch: {
        async *value() {
          // Without a wait, the test ends here.
          if (++watches > 500) await new Promise(() => undefined)
          yield { type: 'BOOKMARK', resourceVersion: '1000' } as const
        },
      },
    })
    start({ client })
    await settled()
    expect(watches).toBeLessThan(10)
    await clock.advance(60_000)
    expect(watches).toBeGreaterThan(30)
    expect(watches).toBeLessThan(200)
  })

  it('a list of pages without an object fails after a while, and is read once it has an end', async () => {
    const { clock, fake, notices, start } = world()
    fake.plant(NODE, node('a'))
    const real = fake.client({ actor: ACTOR })
    let isEndless = true
    const client: typeof real = Object.create(real, {
      list: {
        value: (type: typeof NODE, options: ListOptions) =>
          isEndless ? Promise.resolve({ items: [], resourceVersion: '1', continue: 'more' }) : real.list(type, options),
      },
    })
    const informer = start({ client })
    await settled()
    expect([informer.isSynced, failures(notices)[0]]).toEqual([false, expect.stringContaining('KN2005: cannot list')])
    isEndless = false
    await clock.advance(60_000)
    expect(cached(informer)).toEqual(truth(fake))
  })

  it('a page that is too long is asked for with fewer objects', async () => {
    const { fake, start } = world()
    for (let n = 0; n < 30; n++) fake.plant(NODE, large(`n-${n}`))
    const real = fake.client({ actor: ACTOR })
    const limits: unknown[] = []
    const client: typeof real = Object.create(real, {
      list: {
        value: (type: typeof NODE, options: { readonly limit?: number }) => {
          limits.push(options.limit)
          if ((options.limit ?? 0) > 10)
            throw new ConnectionError(kubeErrors.KN2005({ what: 'list nodes', maxBodyLength: 1 }), 'no')
          return real.list(type, options)
        },
      },
    })
    const informer = start({ client })
    await settled()
    expect(informer.isSynced).toBe(true)
    expect(limits.slice(0, 3)).toEqual([100, 25, 7])
    expect(cached(informer)).toEqual(truth(fake))
  })

  it('a list that is too long in one piece is read in pages again', async () => {
    const { clock, fake, start } = world()
    for (let n = 0; n < 150; n++) fake.plant(NODE, large(`n-${n}`))
    const real = fake.client({ actor: ACTOR })
    const expired = failure(410, 'the continue token expired')
    let pieces = 0
    const client: typeof real = Object.create(real, {
      list: {
        value: (type: typeof NODE, options: { readonly limit?: number; readonly continue?: string }) => {
          if (options.limit === undefined && ++pieces > 0)
            throw new ConnectionError(kubeErrors.KN2005({ what: 'list nodes', maxBodyLength: 1 }), 'no')
          if (options.continue !== undefined && pieces === 0)
            throw new ApiError(expired, { action: 'list', target: 'nodes' })
          return real.list(type, options)
        },
      },
    })
    const informer = start({ client })
    await clock.advance(60_000)
    expect([pieces, informer.isSynced, cached(informer).length]).toEqual([1, true, 150])
  })
})

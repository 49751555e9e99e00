import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { type FaultPort, onEveryNthCall, onNthCall } from '#test/doubles/kube/faults.ts'
import { seededRandom } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { describe, expect, test } from 'vitest'
import { type Mutation, type SwapOptions, compareAndSwap } from './compare-and-swap.ts'
import { fencedClient } from './fenced-client.ts'
import { deleteExactly, recheck, updateExactly } from './preconditions.ts'

interface Ledger extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

const type = coreKind<'ConfigMap', Ledger>('ConfigMap')
const KEY = { namespace: 'default', name: 'ledger' }
const fresh: Ledger = { apiVersion: 'v1', kind: 'ConfigMap', metadata: KEY }
const leader = (isLeader = () => true) => ({ signal: new AbortController().signal, term: 1, isLeader })

/** Books one grant, at most once. */
const grant =
  (id: string, most = 100) =>
  (current: Ledger | undefined): Mutation<Ledger> => {
    const data = current?.data ?? {}
    if (data[id] !== undefined) return { kind: 'Keep' }
    if (Object.keys(data).length >= most) return { kind: 'Refuse', reason: 'full' }
    return { kind: 'Write', object: { ...(current ?? fresh), data: { ...data, [id]: 'granted' } } }
  }

function setup(faults: FaultPort = {}) {
  const clock = new VirtualClock()
  const fake = new FakeKube({ clock, random: seededRandom(1), faults, bookmarkEveryMs: 0 })
  const swap = async (id: string, over: Partial<SwapOptions<Ledger> & { most: number }> = {}) => {
    const client = fake.client({ actor: id })
    const { most, ...options } = over
    return compareAndSwap(client, type, KEY, grant(id, most), { clock, random: seededRandom(id.length), ...options })
  }
  const run = async <T>(promise: Promise<T>): Promise<T> => (await clock.advance(60_000), promise)
  const granted = () => Object.keys(fake.peek(type, KEY)?.['data'] ?? {}).sort()
  return { clock, fake, swap, run, granted }
}

describe('compareAndSwap', () => {
  test('creates what is not there, and changes what is', async () => {
    const { swap, run, granted } = setup()
    expect(await run(swap('a'))).toMatchObject({ kind: 'Swapped', wrote: true })
    expect(await run(swap('b'))).toMatchObject({ kind: 'Swapped', wrote: true })
    expect(granted()).toEqual(['a', 'b'])
  })

  test('of many at once each writes or learns that it lost; nothing is overwritten', async () => {
    const { swap, run, granted } = setup()
    const ids = Array.from({ length: 12 }, (_, i) => 'x'.repeat(i + 1))
    const swaps = await run(Promise.all(ids.map((id) => swap(id))))
    const swapped = ids.filter((_, i) => swaps[i]?.kind === 'Swapped')
    expect(granted()).toEqual(swapped.toSorted())
    expect(swaps.every((s) => s.kind === 'Swapped' || s.kind === 'Lost')).toBe(true)
    expect(swapped.length).toBeGreaterThan(0)
  })

  test('what is held is written over without being read, and read where it is not the newest any more', async () => {
    const { fake, swap, run, granted } = setup()
    const verbs: string[] = []
    fake.faults = {
      call: ({ verb }) => {
        verbs.push(verb)
        return undefined
      },
    }
    const first = await run(swap('a'))
    const held = first.kind === 'Swapped' ? first.object : undefined
    verbs.length = 0
    expect(await run(swap('b', { held }))).toMatchObject({ kind: 'Swapped', wrote: true })
    expect(verbs).toEqual(['update'])
    expect(await run(swap('c', { held }))).toMatchObject({ kind: 'Swapped', wrote: true })
    expect(verbs).toEqual(['update', 'update', 'get', 'update'])
    expect(granted()).toEqual(['a', 'b', 'c'])
  })

  test('nothing is concluded from what is held: neither that all is well nor that it must not be', async () => {
    const { fake, swap, run, granted } = setup()
    const first = await run(swap('a'))
    const held = first.kind === 'Swapped' ? first.object : undefined
    fake.poke(type, KEY, { data: { a: null } })
    expect(await run(swap('a', { held }))).toMatchObject({ kind: 'Swapped', wrote: true })
    fake.poke(type, KEY, { data: { a: null } })
    expect(await run(swap('b', { held, most: 1 }))).toMatchObject({ kind: 'Swapped', wrote: true })
    expect(granted()).toEqual(['b'])
  })

  test('a limit holds however many ask at once', async () => {
    const { swap, run, granted } = setup()
    const ids = Array.from({ length: 12 }, (_, i) => 'x'.repeat(i + 1))
    await run(Promise.all(ids.map((id) => swap(id, { most: 3, attempts: 50 }))))
    expect(granted()).toHaveLength(3)
  })

  test('F2 a write whose reply was lost is found again and not done twice', async () => {
    const { fake, swap, run, granted } = setup()
    await run(swap('first'))
    fake.faults = onNthCall({ verbs: ['update'] }, 1, { kind: 'lose', when: 'after' })
    expect(await run(swap('a'))).toMatchObject({ kind: 'Swapped', wrote: false })
    expect(granted()).toEqual(['a', 'first'])
  })

  test('F11 an endless conflict ends as Lost after a bounded number of tries', async () => {
    const { fake, swap, run } = setup()
    await run(swap('first'))
    fake.faults = onEveryNthCall({ verbs: ['update'] }, 1, { kind: 'refuse', when: 'before', code: 409 })
    expect(await run(swap('a', { attempts: 5 }))).toMatchObject({ kind: 'Lost', mayHaveApplied: false })
    expect(fake.callsOf('a').writes).toBe(5)
  })

  test('a writer that loses after a lost reply learns that its write may have happened', async () => {
    const { fake, swap, run } = setup()
    await run(swap('first'))
    fake.faults = onEveryNthCall({ verbs: ['update'] }, 1, { kind: 'refuse', when: 'before', code: 500 })
    expect(await run(swap('a', { attempts: 2 }))).toMatchObject({ kind: 'Lost', mayHaveApplied: true })
  })

  test('a lost reply is not forgotten over the refusals that follow it', async () => {
    const { fake, swap, run } = setup()
    await run(swap('first'))
    let n = 0
    fake.faults = {
      call: ({ verb }) =>
        verb !== 'update'
          ? undefined
          : ++n === 1
            ? { kind: 'lose', when: 'before' }
            : { kind: 'refuse', when: 'before', code: 409 },
    }
    expect(await run(swap('a', { attempts: 3 }))).toMatchObject({ kind: 'Lost', mayHaveApplied: true })
  })

  test('F11 an overloaded or failing server is asked again, a forbidding one is not', async () => {
    const { fake, swap, run, granted } = setup()
    await run(swap('first'))
    fake.faults = onNthCall({ verbs: ['get'] }, 1, { kind: 'refuse', when: 'before', code: 503 })
    expect(await run(swap('a'))).toMatchObject({ kind: 'Swapped' })
    fake.faults = onNthCall({ verbs: ['update'] }, 1, { kind: 'refuse', when: 'before', code: 429 })
    expect(await run(swap('b'))).toMatchObject({ kind: 'Swapped' })
    fake.faults = onEveryNthCall({ verbs: ['get'] }, 1, { kind: 'lose', when: 'before' })
    expect(await run(swap('c'))).toMatchObject({ kind: 'Lost', mayHaveApplied: false })
    fake.faults = onEveryNthCall({ verbs: ['get'] }, 1, { kind: 'refuse', when: 'before', code: 403 })
    expect(await run(swap('d'))).toMatchObject({ kind: 'Refused' })
    expect(granted()).toEqual(['a', 'b', 'first'])
  })

  test('a mutation that forgets uid and version still overwrites nothing that it has not seen', async () => {
    const { clock, fake, run } = setup()
    fake.plant(type, { ...fresh, data: { n: '1' } })
    let isRaced = false
    fake.faults = {
      call: ({ verb }) => {
        if (verb === 'update' && !isRaced) {
          isRaced = true
          fake.poke(type, KEY, { data: { n: '10' } })
        }
        return undefined
      },
    }
    const addOne = (current: Ledger | undefined): Mutation<Ledger> => ({
      kind: 'Write',
      object: { ...fresh, data: { n: String(Number(current?.data?.['n']) + 1) } },
    })
    await run(compareAndSwap(fake.client({ actor: 'a' }), type, KEY, addOne, { clock, random: seededRandom(1) }))
    expect(fake.peek(type, KEY)).toMatchObject({ data: { n: '11' } })
  })

  test('F15 an ex-leader is refused before it writes', async () => {
    const { fake, swap, run } = setup()
    expect(await run(swap('a', { mayWrite: () => false }))).toMatchObject({ kind: 'Refused' })
    expect(fake.callsOf('a').writes).toBe(0)
  })
})

describe('preconditions', () => {
  function planted() {
    const { fake, clock } = setup()
    const seen = fake.plant(type, fresh) as Ledger
    return { fake, clock, seen, client: fake.client({ actor: 'a' }) }
  }

  test('what was seen is deleted', async () => {
    const { fake, seen, client } = planted()
    expect(await deleteExactly(client, type, seen)).toEqual({ kind: 'Applied', object: 'Deleted' })
    expect(fake.peek(type, KEY)).toBeUndefined()
  })

  test('an object that changed since is not deleted', async () => {
    const { fake, seen, client } = planted()
    fake.poke(type, KEY, { data: { changed: 'yes' } })
    expect((await deleteExactly(client, type, seen)).kind).toBe('Conflict')
    expect(fake.peek(type, KEY)).toBeDefined()
  })

  test('F4 another object of the same name is not deleted', async () => {
    const { fake, seen, client } = planted()
    fake.uproot(type, KEY)
    fake.plant(type, fresh)
    expect((await deleteExactly(client, type, seen)).kind).toMatch(/Stale|Conflict/)
    expect(fake.peek(type, KEY)).toBeDefined()
  })

  test('a copy that never came from a server is no ground for a write', () => {
    const { client } = planted()
    expect(() => deleteExactly(client, type, fresh)).toThrowError(/KN1000/)
    expect(() => updateExactly(client, type, fresh)).toThrowError(/KN1000/)
  })

  test('a re-check tells same, changed, replaced and gone apart', async () => {
    const { fake, seen, client } = planted()
    expect((await recheck(client, type, seen)).kind).toBe('Same')
    fake.poke(type, KEY, { data: { changed: 'yes' } })
    expect(await recheck(client, type, seen)).toMatchObject({
      kind: 'Stale',
      seen: 'configmaps/ledger changed since it was read',
    })
    fake.uproot(type, KEY)
    expect(await recheck(client, type, seen)).toMatchObject({ kind: 'Stale', seen: 'configmaps/ledger is gone' })
    fake.plant(type, fresh)
    expect(await recheck(client, type, seen)).toMatchObject({
      kind: 'Stale',
      seen: 'configmaps/ledger was deleted and made again',
    })
  })
})

describe('the fenced client', () => {
  const { fake } = setup()
  const client = fencedClient(fake.client({ actor: 'a' }), leader())
  const gone = fencedClient(
    fake.client({ actor: 'a' }),
    leader(() => false),
  )
  const preconditions = { uid: 'u', resourceVersion: '1' }

  test.each([
    ['a delete without preconditions', () => client.delete(type, KEY)],
    ['a delete with half of them', () => client.delete(type, KEY, { preconditions: { uid: 'u' } })],
    ['an update of no known version', () => client.update(type, fresh)],
    ['an eviction of no known pod', () => client.evict(KEY)],
    ['a delete of a whole collection', () => client.deleteCollection(type, {})],
  ])('refuses %s', async (_, write) => {
    await expect(write()).rejects.toMatchObject({ code: 'KN1000' })
  })

  test.each([
    ['create', () => gone.create(type, fresh)],
    ['update', () => gone.update(type, { ...fresh, metadata: { ...KEY, resourceVersion: '1' } })],
    ['patch', () => gone.patch(type, KEY, { type: 'merge', value: {} })],
    ['apply', () => gone.apply(type, fresh, { fieldManager: 'm' })],
    ['delete', () => gone.delete(type, KEY, { preconditions })],
    ['scale', () => gone.scale(type, KEY, 1)],
    ['evict', () => gone.evict(KEY, { preconditions })],
    ['raw POST', () => gone.raw({ method: 'POST', path: '/' })],
  ])('refuses %s after the term', async (_, write) => {
    await expect(write()).rejects.toMatchObject({ code: 'KN3012' })
  })

  test('reads go on after the term', async () => {
    expect(await gone.get(type, KEY)).toBeUndefined()
    expect((await gone.list(type)).items).toEqual([])
  })
})

describe('the end of a term', () => {
  test.each([
    ['a call without a signal of its own', undefined],
    ['a call with one', new AbortController().signal],
  ])('aborts %s while it is under way', async (_, signal) => {
    const { clock, fake } = setup({ call: () => ({ kind: 'delay', when: 'before', ms: 60_000 }) })
    const term = new AbortController()
    const client = fencedClient(fake.client({ actor: 'a' }), { signal: term.signal, term: 1, isLeader: () => true })
    const write = client.create(type, fresh, signal && { signal })
    const ended = expect(write).rejects.toThrow('over')
    await clock.advance(1_000)
    term.abort(new Error('over'))
    await ended
    await clock.advance(120_000)
    expect(fake.peek(type, KEY)).toBeUndefined()
  })
})

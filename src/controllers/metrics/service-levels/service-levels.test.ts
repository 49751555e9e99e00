import { expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { defined } from '#lib/defined.ts'
import { silentLogger } from '#lib/log.ts'
import { keptIn, SERVICE_LEVELS_KEY } from '#measure/kept-days.ts'
import { readRequests, readUse } from '#measure/read-use.ts'
import { aMachine, condition, uidOf } from '#test/support/fleets/defender-objects.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { LazyReading } from './lazy-reading.ts'
import { type LedgerCaches, NodeLedger } from './node-ledger.ts'
import { KEEP_MS, ServiceLevelKeeper } from './keeper.ts'

type Handler = (old: unknown, now: unknown) => void

/** A cache that tests fill. */
class Cache<T extends KubeObject> {
  readonly #objects = new Map<string, T>()
  readonly #handlers = new Set<Handler>()

  put(name: string, now: T | undefined): void {
    const old = this.#objects.get(name)
    if (now === undefined) this.#objects.delete(name)
    else this.#objects.set(name, now)
    for (const handler of this.#handlers) handler(old, now)
  }

  readonly get = (name: string): T | undefined => this.#objects.get(name)
  readonly list = (): readonly T[] => [...this.#objects.values()]
  readonly byIndex = (_index: string, value: string): readonly T[] =>
    this.list().filter((o) => {
      const { machine: host } = (o as { readonly spec?: { readonly machine?: string } }).spec ?? {}
      return [o.metadata.uid, o.metadata.name, host].includes(value)
    })
  readonly onChange = (handler: Handler) => {
    this.#handlers.add(handler)
    return () => this.#handlers.delete(handler)
  }
}

const machine = (ready: 'True' | 'False', more: object = {}) => {
  const made = aMachine({ name: 'a', pool: 'web', zone: 'z', inServiceSince: '2026-01-01T00:00:00Z', ...more })
  const conditions = [...(made.status?.conditions ?? []), condition('NodeReady', ready)]
  return { ...made, status: { ...made.status, conditions } } as unknown as KubeObject
}
const granted = (results?: object) =>
  ({
    metadata: { name: 'p', uid: 'p' },
    spec: { targets: [{ uid: uidOf('a') }], requester: { kind: 'MachineComponentSet' }, ...(results && { results }) },
    status: { phase: 'Granted' },
  }) as unknown as OperationPermit

function world() {
  const clock = new VirtualClock(Date.parse('2026-11-28T12:00:00Z'))
  const caches = { machines: new Cache(), nodes: new Cache(), permits: new Cache(), maintenance: new Cache() }
  const ledger = new NodeLedger(caches as unknown as LedgerCaches, clock)
  const seconds = () =>
    Object.fromEntries(ledger.totals().map(({ labels, seconds: s }) => [labels['state'], Math.round(s)]))
  return { clock, ledger, seconds, ...caches }
}

test('seconds are counted by what they were, through a fault, a rollout and a deletion', async () => {
  const { clock, ledger, seconds, machines, permits } = world()
  const end = ledger.start()
  machines.put('a', machine('True'))
  await clock.advance(60_000)
  machines.put('a', machine('False'))
  await clock.advance(30_000)
  permits.put('p', granted())
  await clock.advance(20_000)
  permits.put('p', granted({ [uidOf('a')]: 'Succeeded' }))
  machines.put('a', machine('True'))
  await clock.advance(10_000)
  expect(seconds()).toEqual({ good: 70, fault: 30, planned: 20 })
  expect([...ledger.inService]).toEqual([['web', 1]])
  machines.put('a', undefined)
  await clock.advance(50_000)
  expect(seconds()).toEqual({ good: 70, fault: 30, planned: 20 })
  end()
})

test('announced work on the host of a machine is planned, that of another host is not', async () => {
  const { clock, ledger, seconds, machines, maintenance } = world()
  const end = ledger.start()
  machines.put('a', machine('False'))
  const work = (host: string) =>
    ({ metadata: { name: host }, spec: { machine: host, unplanned: false }, status: { phase: 'InProgress' } }) as never
  maintenance.put('of-b', work('b'))
  await clock.advance(30_000)
  maintenance.put('of-a', work('a'))
  await clock.advance(20_000)
  expect(seconds()).toEqual({ fault: 30, planned: 20 })
  end()
})

function server() {
  let text: string | undefined
  let isDown = false
  const answer = <T>(value: () => T) => (isDown ? Promise.reject(new Error('down')) : Promise.resolve(value()))
  const client = {
    get: () => answer(() => (text === undefined ? undefined : { data: { [SERVICE_LEVELS_KEY]: text } })),
    apply: (_: unknown, object: { readonly data: Readonly<Record<string, string>> }) =>
      answer(() => void (text = object.data[SERVICE_LEVELS_KEY])),
  }
  return {
    client: client as never,
    kept: () => keptIn(text ?? ''),
    set: (t: string) => (text = t),
    down: (d: boolean) => (isDown = d),
  }
}

test('the days of a month go on over terms of leadership and an API server that is away, each second once', async () => {
  const { client, kept, down } = server()
  let good = 0
  for (let term = 0; term < 2; term++) {
    const { clock, ledger, machines } = world()
    const keeper = new ServiceLevelKeeper({ client, clock, log: silentLogger }, ledger)
    await keeper.start()
    machines.put('a', machine('True'))
    down(true)
    await clock.advance(KEEP_MS)
    down(false)
    await clock.advance(KEEP_MS)
    good += (2 * KEEP_MS) / 1_000
    await clock.advance(10_000)
    await keeper.stop()
    good += 10
    expect(kept()?.days[0]?.pools.get('web')?.good).toBe(good)
  }
})

test('days of another release are not written over', async () => {
  const { client, kept, set } = server()
  set('{"format":7}')
  const { clock, ledger, machines } = world()
  const keeper = new ServiceLevelKeeper({ client, clock, log: silentLogger }, ledger)
  await keeper.start()
  machines.put('a', machine('True'))
  await clock.advance(KEEP_MS)
  await keeper.stop()
  expect(kept()).toBeUndefined()
})

test('what costs the API server something is read on request, and no sum outlives a failure', async () => {
  const clock = new VirtualClock(0)
  let [reads, isDown] = [0, false]
  const reading = new LazyReading({
    what: 'pods',
    read: () => (isDown ? Promise.reject(new Error('down')) : Promise.resolve(++reads)),
    maxAgeMs: 1_000,
    clock,
    log: silentLogger,
  })
  await clock.advance(10_000)
  expect(reads).toBe(0)
  expect(reading.value).toBeUndefined()
  await reading.settled()
  expect([reading.value, reading.value, reads]).toEqual([1, 1, 1])
  await clock.advance(1_000)
  isDown = true
  expect(reading.value).toBe(1)
  await reading.settled()
  expect(reading.value).toBeUndefined()
})

test('pods are read page by page, and a cluster without a metrics API has no use', async () => {
  const page = (token: string | undefined) => ({
    items: [{ metadata: {}, spec: { nodeName: 'a', containers: [{ resources: { requests: { cpu: '1' } } }] } }],
    resourceVersion: '1',
    ...defined({ continue: token }),
  })
  const pages = [page('next'), page(undefined)]
  const requests = await readRequests({ list: (() => Promise.resolve(pages.shift())) as never })
  expect(requests?.sums(new Map([['a', { pool: 'web', class: 'c' }]])).map((s) => [s.resource, s.value])).toEqual([
    ['pods', 2],
    ['cpu', 2],
  ])
  const raw = (status: number, body: object) =>
    readUse({ raw: () => Promise.resolve({ status, headers: {}, text: JSON.stringify(body) }) })
  expect(await raw(404, {})).toBeUndefined()
  expect((await raw(200, { items: [{ metadata: { name: 'a' }, usage: { cpu: '2' } }] }))?.get('a')?.get('cpu')).toBe(2)
  await expect(raw(500, {})).rejects.toThrow('500')
})

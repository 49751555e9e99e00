import { describe, expect, it } from 'vitest'
import { coreKind } from '#kube/core-kinds.ts'
import { defined } from '#lib/defined.ts'
import { seededRandom } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { WatchEvent } from '#kube/client.ts'
import { ApiError, ConnectionError } from '#kube/errors.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { FakeKube } from './fake-kube.ts'
import { crashAtWrite, faultsOf, frozenView, onNthCall, onNthEvent, type FaultPort } from './faults.ts'

const CONFIG = coreKind('ConfigMap')

const config = (name: string, data: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data,
})

function bench(faults?: FaultPort) {
  const fake = new FakeKube({
    clock: new VirtualClock(),
    random: seededRandom(1),
    bookmarkEveryMs: 0,
    ...defined({ faults }),
  })
  return { fake, client: fake.client({ actor: 'a' }) }
}

async function take(events: AsyncIterable<WatchEvent>, n: number): Promise<string[]> {
  const out: string[] = []
  for await (const e of events) {
    out.push(
      e.type === 'BOOKMARK'
        ? `BOOKMARK ${e.resourceVersion}`
        : `${e.type} ${e.object.metadata.name} ${e.object.metadata.resourceVersion}`,
    )
    if (out.length === n) break
  }
  return out
}

describe('faults of calls', () => {
  it('F1 a crash after a write leaves the write and never lets the process go on', async () => {
    const { fake, client } = bench(crashAtWrite(2, 'after'))
    await client.create(CONFIG, config('one'))
    let settled = false
    void client.create(CONFIG, config('two')).finally(() => (settled = true))
    await new Promise(setImmediate)
    expect(settled).toBe(false)
    expect(fake.all(CONFIG).map((o) => o.metadata.name)).toEqual(['one', 'two'])
  })

  it('F2 a crash before a write leaves nothing of it', async () => {
    const { fake, client } = bench(crashAtWrite(1, 'before'))
    void client.create(CONFIG, config('one'))
    await new Promise(setImmediate)
    expect(fake.all(CONFIG)).toEqual([])
    void client.create(CONFIG, config('late'))
    await new Promise(setImmediate)
    expect(fake.all(CONFIG)).toEqual([])
    await fake.client({ actor: 'a' }).create(CONFIG, config('after-restart'))
    expect(fake.all(CONFIG)).toHaveLength(1)
  })

  it.each([
    ['the connection is lost', { kind: 'lose', when: 'after' } as const],
    ['the server says 500', { kind: 'refuse', when: 'after', code: 500 } as const],
    ['the server says 504', { kind: 'refuse', when: 'after', code: 504 } as const],
  ])('F11 a write that took effect although %s has an unknown outcome', async (_name, fault) => {
    const { fake, client } = bench(onNthCall({ verbs: ['create'] }, 1, fault))
    const outcome = await outcomeOf(() => client.create(CONFIG, config('one')))
    expect(outcome.kind).toBe('Unknown')
    expect(fake.all(CONFIG)).toHaveLength(1)
    expect((await outcomeOf(() => client.create(CONFIG, config('one')))).kind).toBe('Exists')
  })

  it('F11 a 429 carries its Retry-After', async () => {
    const { client } = bench(onNthCall({}, 1, { kind: 'refuse', when: 'before', code: 429, retryAfterSeconds: 3 }))
    const error = await client.get(CONFIG, { namespace: 'default', name: 'x' }).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(ApiError)
    expect((error as ApiError).retryAfterMs).toBe(3_000)
  })

  it('F3 a frozen view shows the past in get, list and watch until it thaws', async () => {
    const { fake } = bench()
    fake.plant(CONFIG, config('one'))
    const view = frozenView('a', fake.revision)
    fake.faults = faultsOf(view)
    const client = fake.client({ actor: 'a' })
    const got = take(client.watch(CONFIG, { resourceVersion: String(fake.revision) }), 1)
    fake.plant(CONFIG, config('two'))
    expect((await client.list(CONFIG)).items).toHaveLength(1)
    expect(await client.get(CONFIG, { namespace: 'default', name: 'two' })).toBeUndefined()
    view.thaw()
    fake.horizonMoved()
    expect(await got).toEqual(['ADDED two 3'])
    expect((await client.list(CONFIG)).items).toHaveLength(2)
  })
})

describe('faults of watches', () => {
  const cases = [
    ['drop', { kind: 'drop' }, ['ADDED one 2', 'ADDED three 4', 'ADDED four 5']],
    ['duplicate', { kind: 'duplicate' }, ['ADDED one 2', 'ADDED two 3', 'ADDED two 3', 'ADDED three 4']],
    ['swap', { kind: 'swap' }, ['ADDED one 2', 'ADDED three 4', 'ADDED two 3', 'ADDED four 5']],
    ['close before', { kind: 'close', when: 'before' }, ['ADDED one 2']],
    ['close after', { kind: 'close', when: 'after' }, ['ADDED one 2', 'ADDED two 3']],
  ] as const
  it.each(cases)('F7 %s changes what the second event is', async (_name, fault, want) => {
    const { fake, client } = bench(onNthEvent(2, fault))
    const events = client.watch(CONFIG, { resourceVersion: '1' })
    const got = take(events, want.length + (fault.kind === 'close' ? 1 : 0))
    for (const name of ['one', 'two', 'three', 'four']) fake.plant(CONFIG, config(name))
    expect(await got).toEqual(want)
  })

  it('F10 an ERROR event is thrown with its code', async () => {
    const { fake, client } = bench(onNthEvent(1, { kind: 'error', code: 410 }))
    fake.plant(CONFIG, config('one'))
    await expect(take(client.watch(CONFIG, { resourceVersion: '1' }), 1)).rejects.toMatchObject({
      status: 410,
      code: 'KN2410',
    })
  })

  it('a lost stream is a lost connection', async () => {
    const { fake, client } = bench(onNthEvent(1, { kind: 'lose', when: 'before' }))
    fake.plant(CONFIG, config('one'))
    await expect(take(client.watch(CONFIG, { resourceVersion: '1' }), 1)).rejects.toBeInstanceOf(ConnectionError)
  })

  it('a watch whose reader aborts is taken off the server', async () => {
    const { fake, client } = bench()
    const stop = new AbortController()
    const got = take(client.watch(CONFIG, { resourceVersion: '1', signal: stop.signal }), 1)
    await new Promise(setImmediate)
    expect(fake.openWatches).toBe(1)
    stop.abort(new Error('enough'))
    await expect(got).rejects.toThrow('enough')
    expect(fake.openWatches).toBe(0)
  })
})

describe('what the fake hands out', () => {
  it('is frozen, so a reader that changes it fails at once', async () => {
    const { client } = bench()
    const made = await client.create(CONFIG, config('one', { a: '1' }))
    expect(() => Object.assign(made['data'] as object, { a: '2' })).toThrow(TypeError)
  })

  it('S10 keeps __proto__ as plain data', async () => {
    const { fake, client } = bench()
    const hostile = JSON.parse(
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","namespace":"default"},"data":{"__proto__":{"polluted":"yes"}}}',
    ) as KubeObject
    await client.create(CONFIG, hostile)
    await client.patch(
      CONFIG,
      { namespace: 'default', name: 'one' },
      { type: 'merge', value: JSON.parse('{"__proto__":{"polluted":"yes"}}') },
    )
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    expect(Object.keys(fake.all(CONFIG)[0]?.['data'] as object)).toEqual(['__proto__'])
  })
})

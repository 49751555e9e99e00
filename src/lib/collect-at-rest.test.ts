import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { REST_BOUNDS, collectAtRest, type Engine } from './collect-at-rest.ts'
import { MIB } from './bytes.ts'

/** A heap of which `live` survives a collection. */
class FakeEngine implements Engine {
  heap: number
  outside = 0
  live: number
  busy = 0.01
  collections = 0
  thorough = 0

  constructor(live = 25 * MIB) {
    this.live = live
    this.heap = live
  }

  memory = () => ({ heapBytes: this.heap, outsideBytes: this.outside })
  utilization = () => this.busy
  collect = (thoroughly: boolean) => {
    this.collections++
    if (thoroughly) this.thorough++
    this.heap = this.live
    this.outside = 0
  }
}

async function looks(clock: VirtualClock, count: number, before: () => void): Promise<void> {
  for (let n = 0; n < count; n++) {
    before()
    await clock.advance(REST_BOUNDS.checkEveryMs)
  }
}

test('a server at rest collects once garbage has gathered, and never holds more than the bound and what comes between two looks', async () => {
  const [clock, engine] = [new VirtualClock(), new FakeEngine()]
  collectAtRest(clock, engine)
  let most = 0
  await looks(clock, 400, () => {
    engine.heap += 0.2 * MIB
    engine.outside += 0.3 * MIB
    most = Math.max(most, engine.heap + engine.outside)
  })
  expect(engine.collections).toBeGreaterThan(10)
  expect(engine.collections).toBeLessThan(30)
  expect(most).toBeLessThanOrEqual(engine.live + REST_BOUNDS.growthBytes + MIB)
})

test.each<[string, number, (e: FakeEngine) => void]>([
  ['a busy server', 4 * MIB, (e) => void (e.busy = 0.5)],
  ['a server whose heap is large', 4 * MIB, (e) => void (e.heap = e.live = 200 * MIB)],
])('%s is left to the engine', async (_, garbage, make) => {
  const [clock, engine] = [new VirtualClock(), new FakeEngine()]
  make(engine)
  collectAtRest(clock, engine)
  await looks(clock, 20, () => void (engine.outside += garbage))
  expect(engine.collections).toBe(0)
})

test('what a start leaves is collected once it is over, and given back to the system; little garbage after that is left to the engine', async () => {
  const [clock, engine] = [new VirtualClock(), new FakeEngine()]
  engine.heap += 20 * MIB
  engine.busy = 0.9
  collectAtRest(clock, engine)
  await looks(clock, 3, () => undefined)
  expect(engine.collections).toBe(0)
  engine.busy = 0.01
  await looks(clock, 20, () => void (engine.outside += MIB / 4))
  expect([engine.collections, engine.thorough, engine.heap]).toEqual([1, 1, engine.live])
  await looks(clock, 20, () => void (engine.outside += MIB))
  expect(engine.collections).toBeGreaterThan(1)
  expect(engine.thorough).toBe(1)
})

test('what is alive grows: it is measured from there on', async () => {
  const [clock, engine] = [new VirtualClock(), new FakeEngine()]
  collectAtRest(clock, engine)
  await looks(clock, 1, () => undefined)
  engine.heap = engine.live = 60 * MIB
  await looks(clock, 20, () => undefined)
  expect(engine.collections).toBe(2)
})

test('once stopped it looks no more', async () => {
  const [clock, engine] = [new VirtualClock(), new FakeEngine()]
  collectAtRest(clock, engine)()
  await looks(clock, 5, () => void (engine.outside += 20 * MIB))
  expect(engine.collections).toBe(0)
})

test('the engine of a process collects what nothing refers to', () => {
  const program = `
    const { thisEngine } = await import(${JSON.stringify(join(import.meta.dirname, 'collect-at-rest.ts'))})
    const engine = thisEngine()
    const garbage = (() => new WeakRef(Array.from({ length: 1_000 }, (_, n) => ({ n }))))()
    await new Promise((next) => setImmediate(next))
    engine.collect(true)
    console.log(garbage.deref() === undefined, engine.memory().heapBytes > 0, engine.utilization() >= 0)`
  const args = ['--input-type=module', '-e', program]
  expect(execFileSync(process.execPath, args, { encoding: 'utf8' })).toBe('true true true\n')
})

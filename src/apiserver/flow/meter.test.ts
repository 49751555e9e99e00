// S24: the share of a client whose level has one: usage beyond it delays this client alone.
import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { Meter, type Leave } from './meter.ts'

const LEVEL = { share: 0.1, burstMs: 100, atOnce: 2, waiting: 3 }
const here = () => false

function room() {
  const clock = new VirtualClock()
  const meter = new Meter({
    now: () => clock.monotonic(),
    after: (ms, fn) => clock.after(ms, fn),
    longestWaitMs: 30_000,
  })
  const entered: string[] = []
  const refused: string[] = []
  const leaves = new Map<string, Leave>()
  const note = (who: string, leave: Leave | undefined): void => {
    if (leave === undefined) return void refused.push(who)
    entered.push(who)
    leaves.set(who, leave)
  }
  const come = (flow: string, who: string, isGone = here): void => {
    const given = meter.enter(LEVEL, flow, isGone)
    if (given instanceof Promise) void given.then((leave) => note(who, leave))
    else note(who, given)
  }
  const pass = async (ms: number): Promise<void> => {
    await clock.advance(ms)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { meter, entered, refused, leave: (who: string) => leaves.get(who)?.(), come, pass }
}

test('a client that ran ahead waits until its share has caught up, and others do not', async () => {
  const { meter, entered, come, pass, leave } = room()
  come('thief', 't0')
  meter.charge('thief', 200)
  leave('t0')
  come('thief', 't1')
  come('other', 'o0')
  await pass(900)
  expect(entered).toEqual(['t0', 'o0'])
  // 100 ms beyond the allowed lead are a second at a tenth
  await pass(200)
  expect(entered).toEqual(['t0', 'o0', 't1'])
})

test('requests of one client wait for each other, in order', async () => {
  const { entered, come, pass, leave } = room()
  for (const who of ['a', 'b', 'c', 'd']) come('thief', who)
  expect(entered).toEqual(['a', 'b'])
  leave('b')
  await pass(0)
  expect(entered).toEqual(['a', 'b', 'c'])
  leave('b')
  await pass(0)
  expect(entered).toEqual(['a', 'b', 'c'])
})

test('its line is bounded in length and time, and clients that disconnect leave it', async () => {
  const { meter, entered, refused, come, pass, leave } = room()
  come('thief', 'a')
  meter.charge('thief', 10_000)
  leave('a')
  come('thief', 'gone', () => true)
  for (const who of ['b', 'c', 'd', 'e']) come('thief', who)
  await pass(0)
  expect([...entered, ...refused]).toEqual(['a', 'e', 'gone'])
  for (let i = 0; i < 4; i++) await pass(10_001)
  expect([entered, refused]).toEqual([['a'], ['e', 'gone', 'b', 'c', 'd']])
})

test('a level without a share costs nothing', () => {
  const meter = new Meter({ now: () => 0, after: () => ({ cancel: () => undefined }), longestWaitMs: 1 })
  for (let i = 0; i < 1_000; i++) {
    meter.charge('admin', 1_000)
    expect(meter.enter({ ...LEVEL, share: 1 }, 'admin', here)).toBeTypeOf('function')
  }
})

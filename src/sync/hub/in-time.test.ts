import { expect, test } from 'vitest'
import { sleepOn } from '#lib/clock.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { inTime, PASS_TIME } from './in-time.ts'

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f']
const TIME = { startMs: 100, eachMs: 150 }

/** Runs passes until everything is done, and returns what each of them finished. */
async function passes(tookMs: (name: string, pass: number) => number, time = TIME): Promise<readonly string[]> {
  const clock = new VirtualClock()
  const finished: string[] = []
  let first: readonly string[] = []
  for (let pass = 1; pass <= 10; pass++) {
    let done = ''
    const options = { clock, atOnce: 2, signal: new AbortController().signal, first, time }
    const running = inTime(NAMES, options, async (name, signal) => {
      await sleepOn(clock, tookMs(name, pass), signal)
      signal.throwIfAborted()
      done += name
    })
    const [left] = await Promise.all([running, clock.runUntilIdle()])
    first = left
    finished.push(done)
    if (first.length === 0) return finished
  }
  throw new Error(`clusters are left for ever: ${first.join()}`)
}

test.each([
  ['quick clusters are done in one pass', () => 10, ['abcdef']],
  [
    'what a pass has no time for comes first in the next one',
    (_: string, pass: number) => (pass === 1 ? 60 : 10),
    ['abcd', 'efabcd'],
  ],
  [
    'one that hangs costs none of the others their pass',
    (name: string, pass: number) => (name === 'a' && pass === 1 ? 1_000 : 10),
    ['bcdef', 'abcdef'],
  ],
])('%s', async (_, tookMs, expected) => {
  expect(await passes(tookMs)).toEqual(expected)
})

test('the failure of a cluster is not taken for lack of time', async () => {
  const options = { clock: new VirtualClock(), atOnce: 2, signal: new AbortController().signal, first: [] }
  const failing = inTime(NAMES, options, (name) =>
    name === 'b' ? Promise.reject(new Error('broken')) : Promise.resolve(),
  )
  await expect(failing).rejects.toThrow('broken')
})

test('the end of the pass itself is thrown, and ends what is running', async () => {
  const clock = new VirtualClock()
  const pass = new AbortController()
  const running = inTime(NAMES, { clock, atOnce: 2, signal: pass.signal, first: [] }, async (_, signal) => {
    await sleepOn(clock, 1_000_000, signal)
    signal.throwIfAborted()
  })
  pass.abort(new Error('over'))
  await expect(running).rejects.toThrow('over')
})

test('a pass and its last cluster end before the deadline of a reconcile', () => {
  expect(PASS_TIME.startMs + PASS_TIME.eachMs).toBeLessThan(300_000)
})

import { expect, test } from 'vitest'
import { RepeatedLine } from './repeated-line.ts'

function line() {
  let now = 0
  const repeated = new RepeatedLine({ monotonic: () => now })
  /** The seconds at which a line that comes every five seconds is logged. */
  const logged = (seconds: number, text: string) => {
    const at: [second: number, unlogged: number][] = []
    for (const end = now + seconds * 1_000; now < end; now += 5_000) {
      const due = repeated.due(text)
      if (due !== undefined) at.push([now / 1_000, due.unlogged])
    }
    return at
  }
  return { repeated, logged }
}

test('a line that repeats is logged at once, and then after pauses that double up to an hour', () => {
  const { logged } = line()
  const at = logged(30_000, 'a')
  expect(at.slice(0, 4)).toEqual([
    [0, 0],
    [60, 11],
    [180, 23],
    [420, 47],
  ])
  const seconds = at.map(([second]) => second)
  expect([seconds.slice(4, 7), (seconds.at(-1) ?? 0) - (seconds.at(-2) ?? 0)]).toEqual([[900, 1_860, 3_780], 3_600])
})

test('another text, and the same one after the problem ended, is logged at once', () => {
  const { repeated, logged } = line()
  expect(logged(20, 'a').length).toBe(1)
  expect(logged(20, 'b')).toEqual([[20, 0]])
  repeated.ended()
  expect(logged(20, 'b')).toEqual([[40, 0]])
})

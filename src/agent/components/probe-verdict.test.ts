import { expect, test } from 'vitest'
import { afterAnswer, newHistory, probeReading, START_MS } from './probe-verdict.ts'
import type { ProbeAnswer } from './probe.ts'

const PASS: ProbeAnswer = { kind: 'Pass' }
const NO: ProbeAnswer = { kind: 'Fail', message: 'HTTP 500' }
const UNKNOWN: ProbeAnswer = { kind: 'Unknown', message: 'not asked' }
const SILENT: ProbeAnswer = { kind: 'NoAnswer', message: 'refused' }

/** Answers one second apart, the first immediately; evaluated when the last arrived. */
const verdict = (answers: readonly ProbeAnswer[], everyMs = 1_000) => {
  const last = answers.reduce((h, answer, n) => afterAnswer(h, answer, n * everyMs), newHistory(2_000, 0))
  const { verdict: v, isSettled } = probeReading(new Map([['p', last]]), (answers.length - 1) * everyMs)
  return `${v}${isSettled ? ' settled' : ''}`
}

test.each([
  ['nothing yet', [], 1_000, 'Unknown'],
  ['one pass', [PASS], 1_000, 'Passing'],
  ['passes for the settle time', [PASS, PASS, PASS], 1_000, 'Passing settled'],
  ['a failure in between restarts the settle window', [PASS, PASS, NO, PASS, PASS], 1_000, 'Passing'],
  ['one wrong answer', [NO], 1_000, 'Unknown'],
  ['three wrong answers', [NO, NO, NO], 1_000, 'Failing'],
  ['silence while it may still start', [SILENT, SILENT, SILENT, SILENT], 1_000, 'Unknown'],
  ['silence for longer than a start takes', [SILENT, SILENT, SILENT], START_MS, 'Failing'],
  ['never asked', [UNKNOWN, UNKNOWN, UNKNOWN], START_MS, 'Unknown'],
  ['wrong answers and not asked', [NO, UNKNOWN, NO, UNKNOWN], 1_000, 'Unknown'],
  ['passes, and is not asked for the settle time', [PASS, UNKNOWN, UNKNOWN, UNKNOWN], 1_000, 'Passing'],
] as const)('%s', (_what, answers, everyMs, says) => {
  expect(verdict(answers, everyMs)).toBe(says)
})

test('the worst probe counts', () => {
  const good = afterAnswer(newHistory(0, 0), PASS, 0)
  const bad = [NO, NO, NO].reduce((h, a) => afterAnswer(h, a, 0), newHistory(0, 0))
  const reading = probeReading(
    new Map([
      ['good', good],
      ['bad', bad],
    ]),
    0,
  )
  expect(reading).toEqual({ verdict: 'Failing', isSettled: false, message: 'probe bad: HTTP 500' })
})

import { describe, expect, test } from 'vitest'
import { regexProblem } from '#lib/regex.ts'
import { logPatternProblem, MAX_LOG_PROGRAM, Steps } from './log-pattern.ts'
import { parseLogSources } from './log-rules.ts'
import { parseMonitor } from './monitor-config.ts'

/** Valid in RE2, but takes 3,000 steps per character of a line. */
const EVIL = '(?:[xa]?){1000}[xa]{1000}[yz]'
const TOO_LARGE = /expanded it has \d+ steps, over 1000; use smaller repetitions/

describe('S12 a pattern that is far larger than it looks is refused where it is written', () => {
  test('by itself', () => {
    expect(regexProblem(EVIL)).toBeUndefined()
    expect(logPatternProblem(EVIL)).toMatch(TOO_LARGE)
  })

  test('in a rule for a log', () => {
    const rule = { condition: 'A', reason: 'B', pattern: 'x' }
    const rules = [{ ...rule, pattern: EVIL }, { ...rule, clearPattern: EVIL }, rule]
    const { sources, problems } = parseLogSources([{ path: '/a', rules }])
    expect(sources[0]?.rules.map((r) => r.pattern.pattern)).toEqual(['x'])
    expect(problems).toEqual([expect.stringMatching(TOO_LARGE), expect.stringMatching(TOO_LARGE)])
  })

  test('in a rule of a monitor', () => {
    const rules = ['x', EVIL].map((pattern) => ({ type: 'temporary', reason: 'B', pattern }))
    const { monitor, problems } = parseMonitor({ plugin: 'kmsg', source: 'a', conditions: [], rules })
    expect(monitor?.kind === 'Log' ? monitor.rules.map((r) => r.pattern) : []).toEqual(['x'])
    expect(problems).toEqual([expect.stringMatching(TOO_LARGE)])
  })

  test.each(['timestamp', 'message'])('as the %s of a monitor of a file', (name) => {
    const pluginConfig = { timestamp: '^.{15}', message: '.*', timestampFormat: 'Jan _2 15:04:05', [name]: EVIL }
    const { monitor, problems } = parseMonitor({ plugin: 'filelog', source: 'a', pluginConfig, rules: [] })
    expect(monitor).toBeUndefined()
    expect(problems).toEqual([expect.stringMatching(TOO_LARGE)])
  })
})

test('patterns as people write them are far below the bound', () => {
  const oom =
    'Memory cgroup out of memory: Killed process \\d+ (.+) total-vm:\\d+kB, anon-rss:\\d+kB, file-rss:\\d+kB, shmem-rss:\\d+kB.*'
  expect(regexProblem(oom, { maxProgram: MAX_LOG_PROGRAM / 5 })).toBeUndefined()
})

test('what is spent is gone, and what is over is not spent', () => {
  const steps = new Steps(100)
  expect([10, 6, 4, 1].map((size) => steps.spend({ size }, '0123456789'))).toEqual([true, false, false, false])
  const more = new Steps(100)
  expect([11, 6, 5, 4, 1].map((size) => more.spend({ size }, '0123456789'))).toEqual([false, true, false, true, false])
})

import { appendFileSync, mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync, copyFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '#lib/system-clock.ts'
import { cutLines, MAX_LINE_BYTES, NO_LINE } from './line-reader.ts'
import { parseLogSources } from '#api/agent-config/log-rules.ts'
import { nextClearMs, withComponents, withLine, withoutSilent, type Problems } from './problems.ts'
import { Tail, type Cursor } from './tail.ts'

const at = (mono: number) => ({ wall: 1_000_000 + mono, mono })
const shown = (problems: Problems) =>
  [...problems.values()].map((p) => `${p.type} ${p.isTrue} ${p.reason} since ${p.since - 1_000_000}`)

describe('components become conditions', () => {
  const bad = { reason: 'ComponentFrozen', message: 'stopped' } as const
  const none: Problems = new Map()

  test('a problem shows at once, stays until it was over for long enough, and keeps its time', () => {
    let p = withComponents(none, new Map([['b', bad]]), at(0), 100)
    expect(shown(p)).toEqual([
      'ComponentUnhealthy-b true ComponentFrozen since 0',
      'ComponentUnhealthy true ComponentUnhealthy since 0',
    ])
    p = withComponents(p, new Map([['b', bad]]), at(50), 100)
    p = withComponents(p, new Map([['b', undefined]]), at(120), 100)
    expect(shown(p)[0]).toBe('ComponentUnhealthy-b true ComponentFrozen since 0')
    expect(nextClearMs(p, at(120), 100)).toBe(30)
    p = withComponents(p, new Map([['b', undefined]]), at(150), 100)
    expect(shown(p)).toEqual([
      'ComponentUnhealthy-b false ComponentHealthy since 150',
      'ComponentUnhealthy false AllComponentsHealthy since 150',
    ])
  })

  test('a component that was never ill has no condition of its own', () => {
    expect(shown(withComponents(none, new Map([['b', undefined]]), at(0), 100))).toEqual([
      'ComponentUnhealthy false AllComponentsHealthy since 0',
    ])
  })

  test('a component that is taken away is no problem any more', () => {
    const p = withComponents(none, new Map([['b', bad]]), at(0), 100)
    expect(shown(withComponents(p, new Map(), at(10), 100))[0]).toBe(
      'ComponentUnhealthy-b false ComponentGone since 10',
    )
  })
})

describe('lines become conditions', () => {
  const { sources, problems } = parseLogSources([
    {
      path: '/k',
      rules: [
        { condition: 'Deadlock', reason: 'TaskHung', pattern: 'blocked for more than \\d+', clearAfter: '10s' },
        { condition: 'ReadOnly', reason: 'Remounted', pattern: 'read-only', clearPattern: 'read-write' },
        { condition: 'Bad', reason: 'Bad', pattern: '(?=x)' },
        { condition: 'no good', reason: 'Bad', pattern: 'x' },
      ],
    },
    { path: 'relative', rules: [] },
  ])
  const rules = sources[0]?.rules ?? []

  test('a rule that cannot be used disables only itself, and is named', () => {
    expect(rules.map((r) => r.condition)).toEqual(['Deadlock', 'ReadOnly'])
    expect(problems.map((p) => p.split(':')[0])).toEqual([
      'logs[0].rules[2]',
      'logs[0].rules[3]',
      'logs[1] needs an absolute path without .. and rules',
    ])
  })

  test('a line makes it true, silence or another line ends it', () => {
    let p = withLine(new Map(), rules, 'task x blocked for more than 120', at(0))
    p = withLine(p, rules, 'mounted read-only', at(1))
    p = withLine(p, rules, 'nothing', at(2))
    expect(shown(p)).toEqual(['Deadlock true TaskHung since 0', 'ReadOnly true Remounted since 1'])
    p = withoutSilent(p, rules, at(9_999))
    p = withLine(p, rules, 'mounted read-write', at(9_999))
    expect(shown(p)).toEqual(['Deadlock true TaskHung since 0', 'ReadOnly false Cleared since 9999'])
    expect(shown(withoutSilent(p, rules, at(10_000)))[0]).toBe('Deadlock false Silent since 10000')
  })
})

test('lines come out whole however the bytes are cut, and a line without end is cut off', () => {
  const bytes = Buffer.from(`one\r\ntwo\n${'x'.repeat(3 * MAX_LINE_BYTES)}\nthree\n\xff\nrest`, 'latin1')
  for (const step of [1, 7, 1_000, bytes.length]) {
    let state = NO_LINE
    const lines: string[] = []
    for (let from = 0; from < bytes.length; from += step) {
      const cut = cutLines(state, bytes.subarray(from, from + step))
      lines.push(...cut.lines)
      state = cut.state
    }
    expect(lines.map((l) => l.slice(0, 8))).toEqual(['one\r', 'two', 'xxxxxxxx', 'three', '\ufffd'])
    expect([lines[2]?.length, state.rest.toString()]).toEqual([MAX_LINE_BYTES, 'rest'])
  }
})

describe('a log is followed', () => {
  let folder: string
  let path: string
  let lines: string[]
  let tail: Tail | undefined

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kubenode-tail-'))
    path = join(folder, 'log')
    lines = []
  })
  afterEach(() => {
    tail?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const follow = (cursor?: Cursor): Tail => {
    tail = new Tail({ path, clock: systemClock, cursor, pollMs: 10, onLines: (l) => lines.push(...l) })
    tail.start()
    return tail
  }
  const seen = async (want: readonly string[]) => {
    for (let n = 0; n < 300 && lines.length < want.length; n++) await systemClock.sleep(10)
    expect(lines).toEqual(want)
  }

  test('from its end, over a rotation and into the new file', async () => {
    writeFileSync(path, 'old\n')
    follow()
    appendFileSync(path, 'a\n')
    await seen(['a'])
    appendFileSync(path, 'b\n')
    renameSync(path, `${path}.1`)
    writeFileSync(path, 'c\n')
    await seen(['a', 'b', 'c'])
  })

  test('over a copy that is cut afterwards', async () => {
    writeFileSync(path, 'old old old old\n')
    follow()
    appendFileSync(path, 'a\n')
    await seen(['a'])
    copyFileSync(path, `${path}.1`)
    truncateSync(path, 0)
    await systemClock.sleep(50)
    appendFileSync(path, 'b\n')
    await seen(['a', 'b'])
  })

  test('that is not there yet, from its beginning', async () => {
    follow()
    await systemClock.sleep(20)
    writeFileSync(path, 'first\n')
    await seen(['first'])
  })

  test('by the next agent from where the last one stopped', async () => {
    writeFileSync(path, '')
    const first = follow()
    appendFileSync(path, 'a\nhal')
    await seen(['a'])
    const { cursor } = first
    first.close()
    appendFileSync(path, 'f\nb\n')
    follow(cursor)
    await seen(['a', 'half', 'b'])
  })
})

// What a review says about planted rules, and that the order of rows of one time does not matter.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PAST_START, PastLines, isRow, remedierOf } from '#test/support/worlds/past-lines.ts'
import type { Operation } from '#api/protocol/operations.ts'
import type { HistoryLine } from '#history/lines/line.ts'
import { timestamp } from '#lib/clock.ts'
import { type ReviewNames, reviewFindings } from './findings.ts'
import { reviewMarkdown, reviewText } from './forms.ts'
import type { ReviewResult } from './result.ts'
import { Review, type ReviewOptions } from './review.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const END = PAST_START + 90 * DAY
const OPTIONS: ReviewOptions = { cluster: 'prod-1', windowMs: 90 * DAY }

async function reviewed(lines: readonly HistoryLine[], options: ReviewOptions = OPTIONS): Promise<ReviewResult> {
  const review = new Review(options)
  for (const line of lines) if (line.line !== 'head') await review.take(line)
  return review.end(END)
}

const findings = (result: ReviewResult, names: ReviewNames = {}) => reviewFindings(result, names).findings
const ofKind = (result: ReviewResult, kind: string) => findings(result).filter((f) => f.kind === kind)

function fleet(): PastLines {
  const past = new PastLines()
  for (let n = 0; n < 10; n++) past.node(PAST_START, `n${n}`)
  return past
}

interface Repair {
  readonly at: number
  readonly node: string
  readonly rule: string
  readonly name: string
  readonly dryRun?: boolean
  readonly operation?: Operation
  /** When its step begins; never if left out. */
  readonly acts?: number
  /** When that is observed; at once if left out. */
  readonly observed?: number
  readonly done?: { readonly at: number; readonly outcome: string }
}

function repair(past: PastLines, asked: Repair): void {
  const {
    at,
    node,
    rule,
    name,
    dryRun = false,
    operation = { reboot: {} } as Operation,
    acts,
    observed = acts,
    done,
  } = asked
  const put = (when: number, status: object) =>
    past.put(when, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'RemedyOperationJob',
      metadata: { name, uid: `uid-${name}`, creationTimestamp: timestamp(at) },
      spec: {
        node: { name: node, uid: `uid-${node}` },
        remedierRef: { name: rule, generation: 1 },
        incident: '0123456789abcdef',
        rung: 0,
        attempt: 1,
        operations: [operation],
        timeout: '20m',
        stableFor: '1m',
        dryRun,
      },
      status,
    })
  put(at, { phase: 'Pending' })
  const step = { index: 0, operation: Object.keys(operation)[0], executor: 'Agent', attempts: 1 }
  const begun =
    acts === undefined ? {} : { startedAt: timestamp(acts), steps: [{ ...step, startedAt: timestamp(acts) }] }
  if (observed !== undefined) put(observed, { phase: 'Running', ...begun })
  if (done === undefined) return
  const { at: ended, outcome } = done
  put(ended, { phase: 'Done', outcome, finishedAt: timestamp(ended), ...begun })
}

/** True from a time on, for so many minutes. */
function fault(past: PastLines, at: number, node: string, type: string, minutes: number): void {
  past.condition(at, node, type, 'True')
  past.condition(at + minutes * MINUTE, node, type, 'False')
}

/** A minute-long fault each hour, for which a dry run is recorded: a reboot takes longer. */
function flaky(past: PastLines, times: number): PastLines {
  past.put(PAST_START, remedierOf('flaky', 'Flaky', { mode: 'DryRun' }))
  for (let n = 1; n <= times; n++) {
    const at = PAST_START + n * HOUR
    fault(past, at, `n${n % 10}`, 'Flaky', 1)
    const name = `flaky-${n}`
    const done = { at: at + 12_000, outcome: 'Cancelled' }
    repair(past, { at: at + 10_000, node: `n${n % 10}`, rule: 'flaky', name, dryRun: true, done })
  }
  return past
}

describe('a rule that repairs what ends by itself', () => {
  test('is named, with an example that can be explained', async () => {
    const result = await reviewed(flaky(fleet(), 5).lines())
    expect(result.rules).toMatchObject([{ rule: 'flaky', dryRuns: 5, needless: 5, unknown: 0, times: 5 }])
    expect(findings(result, { history: 'week.jsonl.gz' })).toMatchObject([
      {
        kind: 'Needless',
        name: 'flaky',
        command: 'kubenode why node/n1 --at 2026-10-01T01:00:10Z --history week.jsonl.gz',
      },
    ])
  })

  test('is not named when most of its faults last', async () => {
    const past = flaky(fleet(), 3)
    for (let n = 10; n < 14; n++) {
      const at = PAST_START + n * HOUR
      fault(past, at, 'n5', 'Flaky', 30)
      repair(past, { at: at + 10_000, node: 'n5', rule: 'flaky', name: `long-${n}`, dryRun: true })
    }
    const result = await reviewed(past.lines())
    expect(result.rules).toMatchObject([{ dryRuns: 7, needless: 3, needed: 4, unknown: 0 }])
    expect(findings(result)).toEqual([])
  })

  test('is unknown in a gap, and after the repair began to work', async () => {
    const past = fleet()
    past.put(PAST_START, remedierOf('flaky', 'Flaky'))
    fault(past, PAST_START + HOUR, 'n1', 'Flaky', 2)
    const first = PAST_START + HOUR + 10_000
    repair(past, { at: first, node: 'n1', rule: 'flaky', name: 'a', acts: first + 5_000 })
    fault(past, PAST_START + 5 * HOUR, 'n2', 'Flaky', 2)
    past.gap(PAST_START + 5 * HOUR + 20_000, PAST_START + 5 * HOUR + MINUTE)
    repair(past, { at: PAST_START + 5 * HOUR + 10_000, node: 'n2', rule: 'flaky', name: 'b' })
    const result = await reviewed(past.lines())
    expect(result.rules).toMatchObject([{ repairs: 2, needless: 0, needed: 0, unknown: 2 }])
  })

  test('is needless when the fault ended before a step that can end it began, whenever that was observed', async () => {
    const past = fleet()
    past.put(PAST_START, remedierOf('flaky', 'Flaky'))
    const job = { rule: 'flaky', node: 'n1' }
    const at = PAST_START + HOUR
    fault(past, at, 'n1', 'Flaky', 1)
    const done = { at: at + 2 * MINUTE, outcome: 'Superseded' }
    repair(past, { ...job, at: at + 10_000, name: 'a', done })
    const later = at + 5 * HOUR
    fault(past, later, 'n1', 'Flaky', 1)
    const observed = later + MINUTE + 1_000
    repair(past, { ...job, at: later + 10_000, name: 'b', acts: later + 59_000, observed })
    const result = await reviewed(past.lines())
    expect(result.rules).toMatchObject([{ repairs: 2, needless: 1, needed: 0, unknown: 1 }])
  })
})

describe('a rule that never fired', () => {
  const silent = async (past: PastLines, spec: object = {}) => {
    past.put(PAST_START, remedierOf('dead', 'Dead', spec))
    const [found, ...more] = findings(await reviewed(past.lines()))
    expect(more).toEqual([])
    return found
  }

  test('because no node ever reported its condition', async () => {
    expect(await silent(fleet())).toMatchObject({
      kind: 'NeverFired',
      name: 'dead',
      what: 'never fired in 90d: no node ever reported condition Dead',
      next: 'check that a monitor sets it on the nodes of this rule, or remove the rule',
    })
  })

  test('because it was never true', async () => {
    const past = fleet()
    past.condition(PAST_START + DAY, 'n1', 'Dead', 'False')
    const found = await silent(past)
    expect(found?.what).toBe('never fired in 90d: it was never true of a node')
    expect(found?.next).toMatch(/^keep it if the fault is rare/)
  })

  test('because its faults are shorter than its hold-down', async () => {
    const past = fleet()
    fault(past, PAST_START + DAY, 'n1', 'Dead', 2)
    fault(past, PAST_START + 2 * DAY, 'n2', 'Dead', 3)
    expect((await silent(past, { for: '10m' }))?.what).toBe(
      'never fired in 90d: it was true 2 times, at most for 3m, and it waits for 10m',
    )
  })

  test('because of its mode, or because something held it back', async () => {
    const past = () => {
      const lines = fleet()
      fault(lines, PAST_START + DAY, 'n1', 'Dead', 20)
      return lines
    }
    expect((await silent(past(), { mode: 'Shadow' }))?.next).toContain('DryRun')
    expect(await silent(past())).toMatchObject({
      what: 'never fired in 90d: it was true 1 time, up to 20m, and something held it back',
      command: 'kubenode why node/n1 --at 2026-10-02T00:00:00Z',
    })
  })

  test('for less than was asked for is not removed', async () => {
    const past = fleet()
    past.condition(PAST_START, 'n1', 'Dead', 'False')
    past.put(END - 10 * DAY, remedierOf('dead', 'Dead'))
    expect(findings(await reviewed(past.lines()))).toMatchObject([
      {
        what: 'never fired in 10d: it was never true of a node',
        next: expect.stringContaining('conclude nothing yet'),
      },
    ])
    const unreported = fleet()
    unreported.put(END - 10 * DAY, remedierOf('dead', 'Dead'))
    expect(findings(await reviewed(unreported.lines()))).toMatchObject([
      { next: 'check that a monitor sets it on the nodes of this rule' },
    ])
  })

  test('in a short history concludes nothing', async () => {
    const past = fleet()
    past.condition(PAST_START, 'n1', 'Dead', 'False')
    past.put(END - DAY, remedierOf('dead', 'Dead'))
    const result = await reviewed(past.lines())
    expect(reviewFindings(result, {})).toMatchObject({ findings: [], headline: 'Nothing to do yet.' })
    expect(reviewFindings(result, {}).notes[0]).toBe(
      '1 rule never fired, and was recorded for less than 7d: conclude nothing from that yet.',
    )
    const unreported = fleet()
    unreported.put(END - DAY, remedierOf('dead', 'Dead'))
    expect(findings(await reviewed(unreported.lines()))).toEqual([])
  })
})

test('a recorded condition without a rule is named, unless it has a reason or tells of planned work', async () => {
  const past = flaky(fleet(), 1)
  fault(past, PAST_START + DAY, 'n1', 'DiskWorn', 60)
  fault(past, PAST_START + 2 * DAY, 'n2', 'DiskWorn', 30)
  fault(past, PAST_START + DAY, 'n3', 'Drained', 30)
  past.condition(PAST_START + 3 * DAY, 'n3', 'DiskWorn', 'True')
  const result = await reviewed(past.lines())
  expect(ofKind(result, 'NoRule')).toMatchObject([
    {
      name: 'DiskWorn',
      what: 'has no rule: it was True 3 times on 3 nodes, 87d1h in sum; still so on 1 node',
    },
  ])
  const excused = { unset: undefined, excused: new Set(['DiskWorn']), watched: new Set<string>() }
  expect(ofKind(await reviewed(past.lines(), { ...OPTIONS, fleet: excused }), 'NoRule')).toEqual([])
})

test('the sum over all components has a rule where each component at fault has one', async () => {
  const past = fleet()
  past.put(PAST_START, remedierOf('unwell', 'ComponentUnhealthy-scribe'))
  fault(past, PAST_START + DAY, 'n1', 'ComponentUnhealthy-scribe', 30)
  fault(past, PAST_START + DAY, 'n1', 'ComponentUnhealthy', 30)
  expect(ofKind(await reviewed(past.lines()), 'NoRule')).toEqual([])
  fault(past, PAST_START + 2 * DAY, 'n1', 'ComponentUnhealthy-beacon', 30)
  const names = ofKind(await reviewed(past.lines()), 'NoRule').map(({ name }) => name)
  expect(names.toSorted()).toEqual(['ComponentUnhealthy', 'ComponentUnhealthy-beacon'])
})

test('a rule without a monitor is named even if it fired once, and so is one that the history does not have', async () => {
  const lines = flaky(fleet(), 1).lines()
  const unset = new Map([
    ['flaky', [{ type: 'Flaky', hint: ' (agent.json switches detector memory off)' }]],
    ['added', [{ type: 'Added', hint: '' }]],
  ])
  const result = await reviewed(lines, { ...OPTIONS, fleet: { unset, excused: new Set(), watched: new Set() } })
  expect(findings(result, { fleet: 'commit abc' })).toMatchObject([
    {
      kind: 'NoMonitor',
      name: 'flaky',
      what: 'can never fire: no monitor of commit abc sets condition Flaky (agent.json switches detector memory off)',
    },
    { kind: 'NoMonitor', name: 'added' },
  ])
})

test('repairs that do not help or do not last are named', async () => {
  const past = fleet()
  past.put(PAST_START, remedierOf('bad', 'Bad', { relapseWindow: '1h' }))
  past.put(PAST_START, remedierOf('back', 'Back', { relapseWindow: '1h' }))
  for (let n = 0; n < 4; n++) {
    const at = PAST_START + DAY + n * 30 * MINUTE
    fault(past, at, 'n1', 'Back', 10)
    const done = { at: at + 11 * MINUTE, outcome: 'Succeeded' }
    repair(past, { at: at + MINUTE, node: 'n1', rule: 'back', name: `back-${n}`, acts: at + 2 * MINUTE, done })
    fault(past, at, 'n2', 'Bad', 10)
    const failed = { at: at + 9 * MINUTE, outcome: 'Escalated' }
    repair(past, { at: at + MINUTE, node: 'n2', rule: 'bad', name: `bad-${n}`, acts: at + 2 * MINUTE, done: failed })
  }
  const result = await reviewed(past.lines())
  expect(findings(result).map(({ kind, name }) => `${kind} ${name}`)).toEqual(['Relapsing back', 'SeldomHelps bad'])
  expect(ofKind(result, 'SeldomHelps')[0]?.what).toBe('seldom helps: 0 of 4 repairs ended the fault (4 Escalated)')
})

test('text fits into 80 columns, except for commands, and Markdown has the same findings', async () => {
  const past = flaky(fleet(), 5)
  fault(past, PAST_START + DAY, 'n1', 'DiskWorn', 60)
  past.put(PAST_START, remedierOf('dead', 'Dead'))
  const review = reviewFindings(await reviewed(past.lines()), { history: 'week.jsonl.gz' })
  const lines = reviewText(review, 80).split('\n')
  expect(lines.filter((l) => l.length > 80 && !l.trim().startsWith('kubenode '))).toEqual([])
  expect(lines).toContain('3 to look at')
  const comment = reviewMarkdown(review)
  expect(comment).toContain('**3 to look at**')
  expect(comment.match(/^- (Rule|Condition) `/gm)).toHaveLength(3)
})

const episode = fc.record({
  node: fc.integer({ min: 0, max: 9 }),
  type: fc.constantFrom('Flaky', 'Dead', 'DiskWorn'),
  at: fc.integer({ min: 1, max: 60 }),
  minutes: fc.integer({ min: 1, max: 40 }),
  repairs: fc.constantFrom('none', 'dry', 'real'),
})
type Episode = typeof episode extends fc.Arbitrary<infer T> ? T : never

function pastOf(episodes: readonly Episode[]): PastLines {
  const past = fleet()
  past.put(PAST_START, remedierOf('flaky', 'Flaky', { relapseWindow: '2h' }))
  past.put(PAST_START, remedierOf('dead', 'Dead'))
  const states = episodes.flatMap(({ at, minutes, ...one }) => {
    const from = PAST_START + at * 10 * MINUTE
    return [
      { ...one, at: from, status: 'True' as const },
      { ...one, at: from + minutes * MINUTE, status: 'False' as const },
    ]
  })
  for (const { at, node, type, status } of states.toSorted((a, b) => a.at - b.at))
    past.condition(at, `n${node}`, type, status)
  for (const [n, { at, node, type, minutes, repairs }] of episodes.entries()) {
    if (repairs === 'none' || type === 'DiskWorn') continue
    const from = PAST_START + at * 10 * MINUTE
    const done = { at: from + minutes * MINUTE, outcome: 'Succeeded' }
    const real = repairs === 'real' ? { acts: from + MINUTE, done } : { dryRun: true }
    repair(past, { at: from, node: `n${node}`, rule: type.toLowerCase(), name: `job-${n}`, ...real })
  }
  return past
}

test('rows of one time may come in any order of objects', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(episode, { minLength: 1, maxLength: 10 }),
      fc.infiniteStream(fc.nat(1_000)),
      async (episodes, order) => {
        const lines = pastOf(episodes).lines()
        const subjects = lines.filter((l) => l.line === 'subject')
        const rows = lines.filter(isRow)
        const shuffled = [...Map.groupBy(rows, (r) => r.observed).values()].flatMap((same) =>
          [...Map.groupBy(same, (r) => r.subject).values()]
            .map((ofOne) => ({ ofOne, rank: order.next().value as number }))
            .toSorted((a, b) => a.rank - b.rank)
            .flatMap(({ ofOne }) => ofOne),
        )
        expect(await reviewed([...subjects, ...shuffled])).toEqual(await reviewed([...subjects, ...rows]))
      },
    ),
    { numRuns: 40 },
  )
})

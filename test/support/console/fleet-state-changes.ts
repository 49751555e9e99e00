// Pipeline, commits and clusters of the fleet in its five states: a change that arrived, is on its way, failed, waits for people, or reaches clusters that do not answer.
import type { ClustersTopic, CommitsTopic, PipelineTopic } from '#console/protocol.ts'
import type { ClusterRow, PlaceRow, ReleaseRow, StageRow } from '#console/topics.ts'
import { NOW } from './fixtures.ts'

const minutes = (n: number): number => NOW + n * 60_000

interface ChangeEdits {
  readonly release?: Partial<ReleaseRow>
  readonly stages?: Readonly<Record<string, Partial<StageRow>>>
  /** By cluster. */
  readonly places?: Readonly<Record<string, Partial<PlaceRow>>>
}

/** Nothing waits but what the edits say. */
const pipelineWith =
  ({ release = {}, stages = {}, places = {} }: ChangeEdits) =>
  (t: PipelineTopic): PipelineTopic => ({
    ...t,
    rows: t.rows.map((row) => {
      const { wait: _wait, ...rest } = row
      switch (rest.row) {
        case 'Release':
          return { ...rest, ...release }
        case 'Stage': {
          const { soakFrom: _from, soakUntil: _until, ...stage } = rest
          return { ...stage, ...stages[stage.name] }
        }
        case 'Place':
          return { ...rest, oldFailures: 0, ...places[rest.cluster] }
        default:
          return rest satisfies never
      }
    }),
  })

const passed = (name: string, seen: string, when: 'Before' | 'During' = 'Before') => ({
  name,
  when,
  phase: 'Passed',
  since: minutes(-18),
  seen,
})
const READY = {
  ...passed('ready', '5 of 5 machines are Ready, 98% are needed', 'During'),
  figure: { have: 5, of: 5, needed: 98 },
}
const BOARD = passed('release-board', 'approved by 1 of 1 (group release-board)')
const ASKED = {
  ...BOARD,
  phase: 'Waiting',
  since: minutes(-95),
  seen: 'approved by 0 of 1 (group release-board)',
  figure: { have: 0, of: 1 },
}
const TEST_DONE = {
  phase: 'Succeeded',
  startedAt: minutes(-140),
  finishedAt: minutes(-100),
  healthy: 1,
  gates: [READY],
} satisfies Partial<StageRow>
const HEALTHY = { phase: 'Healthy', since: minutes(-12) } satisfies Partial<PlaceRow>

export const pipelineCalm = pipelineWith({
  release: { phase: 'Succeeded', startedAt: minutes(-140), finishedAt: minutes(-11) },
  stages: {
    test: TEST_DONE,
    prod: { phase: 'Succeeded', startedAt: minutes(-60), healthy: 2, offline: 0, gates: [BOARD] },
  },
  places: { test: HEALTHY, prod: HEALTHY, edge: HEALTHY },
})

export const pipelineRolling = pipelineWith({
  release: { startedAt: minutes(-140) },
  stages: {
    test: TEST_DONE,
    prod: { phase: 'Progressing', startedAt: minutes(-20), healthy: 1, offline: 0, gates: [BOARD] },
  },
  places: { test: HEALTHY, edge: HEALTHY, prod: { phase: 'Verifying', since: minutes(-20) } },
})

const failedWait = {
  predicate: 'StageFailed',
  since: minutes(-5),
  seen: 'failed in stage test; prod not started',
} as const

/** The commit of the failed set of Home. */
export const pipelineFailed =
  (commit: string) =>
  (t: PipelineTopic): PipelineTopic =>
    pipelineWith({
      release: {
        commit,
        subject: 'scribe 2.0.0',
        author: 'Eve',
        track: 'agents',
        object: { cluster: 'hub', kind: 'Release', namespace: 'fleet', name: `agents-${commit.slice(0, 12)}` },
        phase: 'Paused',
        startedAt: minutes(-9),
        approvedBy: [],
        wait: failedWait,
      },
      stages: {
        test: { phase: 'Failed', startedAt: minutes(-9), healthy: 0, failed: 1, gates: [] },
        prod: {
          wait: { predicate: 'EarlierStage', since: minutes(-9), seen: 'stage test must succeed first' },
          offline: 0,
        },
      },
      places: {
        test: { phase: 'Failed', since: minutes(-5), newFailures: 1, message: 'set agents is Blocked' },
        prod: { since: minutes(-9) },
        edge: { phase: 'Waiting', since: minutes(-9) },
      },
    })(t)

/** Stage test is done; people have not approved prod. */
export const pipelineWaiting = pipelineWith({
  release: {
    startedAt: minutes(-140),
    approvedBy: [],
    approvals: [{ digest: 'a'.repeat(64), text: 'commit 3f1c9e0a7b5d beacon 1.1.0 of track machines' }],
  },
  stages: {
    test: TEST_DONE,
    prod: {
      gates: [ASKED],
      offline: 0,
      wait: {
        predicate: 'ApprovalMissing',
        since: minutes(-95),
        seen: 'release-board: approved by 0 of 1 (group release-board)',
        lift: { text: 'kubenode approve release/machines-3f1c9e0a7b5d --reason WHY', isCommand: true },
      },
    },
  },
  places: { test: { ...HEALTHY, since: minutes(-100) }, prod: { since: minutes(-140) }, edge: { phase: 'Waiting' } },
})

export const pipelineLost = pipelineWith({
  release: { startedAt: minutes(-140) },
  stages: {
    test: TEST_DONE,
    prod: {
      phase: 'Progressing',
      startedAt: minutes(-20),
      offline: 2,
      gates: [BOARD],
      wait: {
        predicate: 'ClusterOffline',
        since: minutes(-12),
        seen: 'none of 2 clusters of the stage is healthy',
      },
    },
  },
  places: {
    test: HEALTHY,
    prod: { phase: 'Offline', since: minutes(-12), message: 'connection refused' },
    edge: { phase: 'Offline', since: minutes(-20), message: 'connection refused' },
  },
})

export const commitsWith =
  (phase: string, clusters: Readonly<Record<string, number>>) =>
  (t: CommitsTopic): CommitsTopic => ({
    ...t,
    rows: t.rows.map((row) => ({ ...row, releases: row.releases.map((r) => ({ ...r, phase, clusters })) })),
  })

/** By name of the cluster; those without edits are well. */
export const clustersWith =
  (edits: Readonly<Record<string, Partial<ClusterRow>>>) =>
  (t: ClustersTopic): ClustersTopic => ({
    ...t,
    rows: t.rows.map((row) => {
      const { message: _message, ...rest } = row
      const { total } = row.machines
      return {
        ...rest,
        state: 'Connected',
        rotations: [],
        machines: { total, ready: total, silent: 0, repairing: 0 },
        attention: { act: 0, wait: 0, unknown: 0 },
        ...edits[row.name],
      }
    }),
  })

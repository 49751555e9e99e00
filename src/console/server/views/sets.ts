// A cluster's sets, and one set's ladder: steps, slices, failed and skipped machines. Pure.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { activeMachines, sliceName } from '#api/protocol/part.ts'
import { failureTitle } from '#explain/attention/failure-title.ts'
import { ladderOf } from '#explain/ladder.ts'
import { holdTarget } from '#permits/holds/reach.ts'
import { durationMs } from '#lib/duration.ts'
import type { SetHead, SetMachineRow, SetPartRow, SetRow, SliceRow } from '../../set-topics.ts'
import type { ClusterState } from '../cluster-cache.ts'
import { membersOf, nextSteps, versionCounts } from './set-machines.ts'
import { at, given, holdNotes, stampOr0, waitOf } from './parts.ts'

/** Same limit as in the status. */
const MOST_MACHINES = 200

export const setRows = (cluster: ClusterState, now: number): readonly SetRow[] =>
  cluster.list('sets').map((set) => setRow(cluster, set, now))

/** A complete set has no ladder to compute. */
const rungsOf = (cluster: ClusterState, set: MachineComponentSet): SetRow['rungs'] =>
  set.status?.phase === 'Complete' ? undefined : ladderOf(set, cluster.list('sets'))[0]?.rungs

function setRow(cluster: ClusterState, set: MachineComponentSet, now: number): SetRow {
  const { metadata, spec, status = {} } = set
  const { total = 0, updated = 0, healthy = 0, failed = 0, skipped = 0 } = status.counts ?? {}
  return {
    id: metadata.name ?? '',
    object: { cluster: cluster.name, kind: 'MachineComponentSet', name: metadata.name ?? '' },
    phase: status.phase ?? 'Pending',
    components: spec.components.map(({ name, version }) => ({ name, version })),
    total,
    updated,
    healthy,
    failed,
    skipped,
    isHeld: holdNotes(cluster.list('holds'), [holdTarget('MachineComponentSet', set)], now).length > 0,
    ...given('rungs', rungsOf(cluster, set)),
    ...given('failure', status.phase === 'Blocked' ? failureTitle(set) : undefined),
    ...waitOf(status.waitingFor),
  }
}

export function setHead(cluster: ClusterState, set: MachineComponentSet, now: number): SetHead {
  const { spec, status = {} } = set
  const { rollout } = spec
  const ladders = ladderOf(set, cluster.list('sets'))
  const members = membersOf(set, cluster.list('machines'))
  return {
    ...setRow(cluster, set, now),
    steps: rollout.steps,
    ladders,
    inspections: (rollout.inspections ?? []).map(({ name }) => name),
    soakMs: durationMs(rollout.soak) ?? 0,
    maxUnavailable: rollout.maxUnavailable,
    holds: holdNotes(cluster.list('holds'), [holdTarget('MachineComponentSet', set)], now),
    blocked: (status.revisions?.blocked ?? []).map(({ component, revision, since, reason }) => ({
      component,
      revision,
      since: stampOr0(since),
      reason,
    })),
    ...given('revision', status.revisions?.update),
    ...given('healthyRevision', status.revisions?.current),
    next: nextSteps(set, ladders, members),
    versions: versionCounts(set, members),
  }
}

export function setParts(cluster: ClusterState, set: MachineComponentSet): readonly SetPartRow[] {
  const { slices = [], skipped = [] } = set.status ?? {}
  return [
    ...slices.map((s): SliceRow => ({
      id: `${s.component}/${s.version ?? ''}/${s.step}/${s.number}`,
      row: 'Slice',
      name: sliceName(s),
      component: s.component,
      ...given('version', s.version),
      step: s.step,
      number: s.number,
      phase: s.phase,
      ...given('permit', s.permit),
      machines: activeMachines(s),
      failed: s.failed ?? 0,
      ...at('startedAt', s.startedAt),
      ...at('soakUntil', s.soakUntil),
      isRollback: s.recovery === 'Rollback',
      ...waitOf(s.waitingFor),
    })),
    ...failedMachines(cluster, set.metadata.name ?? ''),
    ...skipped.map((s): SetMachineRow => ({
      id: `Skipped/${s.machine}`,
      row: 'Skipped',
      machine: s.machine,
      text: s.reason,
    })),
  ]
}

const failedMachines = (cluster: ClusterState, set: string): readonly SetMachineRow[] =>
  cluster
    .list('machines')
    .flatMap(({ metadata: { name = '' }, failures }) =>
      failures
        .filter((f) => f.set === set)
        .map(({ component, text, since }): SetMachineRow => ({
          id: `Failed/${name}/${component}`,
          row: 'Failed',
          machine: name,
          component,
          text,
          ...at('since', since),
        })),
    )
    .slice(0, MOST_MACHINES)

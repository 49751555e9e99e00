// One row per cluster: the console's own readings, and its Cluster object on a hub. Pure.
import type { Cluster } from '#api/kinds/cluster.ts'
import { shownPhase } from '#explain/cluster-phase.ts'
import type { ClusterRow } from '../../topics.ts'
import type { ClusterState } from '../cluster-cache.ts'
import type { ClusterAttention } from './home.ts'
import { at, given, stamp, stampOr0 } from './parts.ts'

/** Releases are managed from a cluster that has fleet sources. */
export const isHub = (cluster: ClusterState): boolean =>
  cluster.list('sources').length > 0 || cluster.list('releases').length > 0

interface Declared {
  readonly hub: string
  readonly object: Cluster
}

/** Connected clusters, and those that a hub declares without a connection here. */
export function clusterRows(
  clusters: readonly ClusterState[],
  attention: ReadonlyMap<string, ClusterAttention>,
): readonly ClusterRow[] {
  const declared = new Map<string, Declared>()
  for (const hub of clusters)
    for (const object of hub.list('clusters')) declared.set(object.metadata.name ?? '', { hub: hub.name, object })
  const known = new Set(clusters.map((c) => c.name))
  return [
    ...clusters.map((c) => ({
      ...rowOf(c, attention.get(c.name) ?? NOT_KNOWN),
      ...ofObject(declared.get(c.name)),
    })),
    ...[...declared].filter(([name]) => !known.has(name)).map(([name, d]) => ({ ...strange(name), ...ofObject(d) })),
  ]
}

const NOT_KNOWN: ClusterAttention = { act: 0, wait: 0, unknown: 1 }

const NOTHING = { versions: [], history: [], rotations: [] } as const

const strange = (name: string): ClusterRow => ({
  id: name,
  name,
  state: 'Refused',
  message: 'the console has no connection to this cluster: its kubeconfig has no context of this name',
  isHub: false,
  ...NOTHING,
  machines: { total: 0, ready: 0, silent: 0, repairing: 0 },
  attention: NOT_KNOWN,
})

/** How many machines there are, serve, are silent, and are in repair. */
export function machineCounts(cluster: ClusterState): ClusterRow['machines'] {
  const machines = cluster.list('machines')
  const repairing = new Set(
    cluster.list('jobs').flatMap((j) => (j.status?.phase === 'Done' || j.spec.dryRun ? [] : [j.spec.node.name])),
  )
  return {
    total: machines.length,
    ready: machines.filter((m) => m.state.isReady).length,
    silent: machines.filter((m) => m.state.silent === 'Yes').length,
    repairing: repairing.size,
  }
}

function rowOf(cluster: ClusterState, attention: ClusterAttention): ClusterRow {
  return {
    id: cluster.name,
    name: cluster.name,
    state: cluster.state,
    ...given('message', cluster.message),
    isHub: isHub(cluster),
    ...given('version', cluster.version),
    ...NOTHING,
    machines: machineCounts(cluster),
    attention,
  }
}

function ofObject(declared: Declared | undefined): Partial<ClusterRow> {
  if (declared === undefined) return {}
  const { hub, object } = declared
  const { spec, status = {}, metadata } = object
  return {
    object: { cluster: hub, kind: 'Cluster', name: metadata.name ?? '', ...given('namespace', metadata.namespace) },
    ...given('stage', spec.stage),
    ...given('phase', shownPhase(status)),
    ...given('endpoint', status.endpoint),
    versions: status.versions ?? [],
    history: (status.history ?? []).map((h) => ({
      version: h.version,
      startedAt: stampOr0(h.startedAt),
      ...at('completedAt', h.completedAt),
      ...given('snapshot', h.snapshot),
      ...given('message', h.message),
    })),
    ...at('credentialsEnd', status.credentialsEnd),
    rotations: (status.rotations ?? []).map(({ name, phase, message }) => ({ name, phase, message })),
    ...given('snapshots', snapshotsOf(status.snapshotSchedule)),
    ...given('lastSeen', stamp(status.lastSeen)),
  }
}

const snapshotsOf = (schedule: NonNullable<Cluster['status']>['snapshotSchedule']): ClusterRow['snapshots'] =>
  schedule && {
    ...at('last', schedule.lastAt),
    next: stampOr0(schedule.nextAt),
    ...given('message', schedule.message),
  }

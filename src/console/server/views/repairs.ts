// Repairs and host maintenance of one cluster. Pure.
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { plannerOf } from '#nodes/faults/maintenance.ts'
import type { MaintenanceRow, RepairRow } from '../../topics.ts'
import type { ClusterState } from '../cluster-cache.ts'
import { at, given, pageText, stamp, waitOf } from './parts.ts'

/** Their controller deletes old ones; this bounds a page. */
const MOST = 500
const DAY_MS = 86_400_000
/** The end of a step's output, within a page's limit. */
const MOST_OUTPUT = 500

const createdAt = ({ metadata }: RemedyOperationJob): number => stamp(metadata.creationTimestamp) ?? 0

export function repairRows(cluster: ClusterState): readonly RepairRow[] {
  const jobs = cluster.list('jobs')
  const same = Map.groupBy(jobs, (j) => `${j.spec.node.uid} ${j.spec.remedierRef.name}`)
  const isRelapse = (job: RemedyOperationJob): boolean =>
    (same.get(`${job.spec.node.uid} ${job.spec.remedierRef.name}`) ?? []).some(
      (o) =>
        o.spec.incident !== job.spec.incident &&
        o.status?.outcome === 'Succeeded' &&
        createdAt(o) < createdAt(job) &&
        createdAt(job) - createdAt(o) < DAY_MS,
    )
  return jobs
    .toSorted((a, b) => createdAt(b) - createdAt(a))
    .slice(0, MOST)
    .map((job) => repairRow(cluster.name, job, isRelapse(job)))
}

export function repairRow(cluster: string, job: RemedyOperationJob, isRelapse: boolean): RepairRow {
  const { metadata, spec, status = {} } = job
  const name = metadata.name ?? ''
  return {
    id: name,
    object: { cluster, kind: 'RemedyOperationJob', name },
    incident: spec.incident,
    node: spec.node.name,
    ...given('machine', spec.machine),
    rule: spec.remedierRef.name,
    rung: spec.rung,
    attempt: spec.attempt,
    phase: status.phase ?? 'Pending',
    ...given('outcome', status.outcome),
    isDryRun: spec.dryRun,
    ...at('createdAt', metadata.creationTimestamp),
    ...at('startedAt', status.startedAt),
    ...at('finishedAt', status.finishedAt),
    ...at('verifyUntil', status.verifyUntil),
    ...given('permit', status.permitRef),
    ...given('message', status.message && pageText(status.message)),
    ...given('nextJob', status.nextJob),
    isRelapse,
    steps: (status.steps ?? []).map((s) => ({
      operation: s.operation,
      executor: s.executor,
      ...at('startedAt', s.startedAt),
      ...at('finishedAt', s.finishedAt),
      ...given('outcome', s.outcome),
      ...given('output', s.output?.slice(-MOST_OUTPUT)),
    })),
    ...waitOf(status.waitingFor),
  }
}

export const maintenanceRows = (cluster: ClusterState): readonly MaintenanceRow[] =>
  cluster
    .list('events')
    .slice(0, MOST)
    .map((event) => maintenanceRow(cluster.name, event))

function maintenanceRow(cluster: string, { metadata, spec, status = {} }: MaintenanceEvent): MaintenanceRow {
  const name = metadata.name ?? ''
  return {
    id: name,
    object: { cluster, kind: 'MaintenanceEvent', name },
    machine: spec.machine,
    kind: spec.kind,
    phase: status.phase ?? 'Announced',
    source: plannerOf(spec),
    ...given('description', spec.description),
    ...at('notBefore', spec.notBefore),
    ...at('notAfter', spec.notAfter),
    ...at('startAt', status.startAt),
    ...at('drainedAt', status.drainedAt),
    ...at('missedAt', status.missedAt),
    ...at('endedAt', status.endedAt),
    ...given('permit', status.permitRef),
    ...given('message', status.message && pageText(status.message)),
    ...waitOf(status.waitingFor),
  }
}

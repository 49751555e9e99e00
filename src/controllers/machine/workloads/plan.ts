// Plans components that run as pods: their state, when to check them next, and which pods to replace. Pure.
import type { Authority } from '#permits/under-permit.ts'
import type { MachineAction } from '../actions.ts'
import { type Seen, isClosed } from '../seen.ts'
import { type WorkloadReading, isSettled, workloadReading } from './state.ts'

/** Requeue quickly while pods change: no event announces it. */
const WORKLOAD_REQUEUE_MS = 2_000
const STAGED_REQUEUE_MS = 30_000

export function workloadReadings(seen: Seen, now: number): readonly WorkloadReading[] {
  const { machine, workloads } = seen
  const reports = machine.status?.components ?? []
  return (machine.spec.components ?? []).flatMap((entry): WorkloadReading[] => {
    if (entry.workload !== true) return []
    const before = reports.find((r) => r.name === entry.name)
    if (before !== undefined && isSettled(entry, before)) return [{ kind: 'Report', report: before }]
    const found = workloads.find((w) => w.component === entry.name)
    return [workloadReading({ entry, before, seen: found, isClosed: isClosed(seen), now })]
  })
}

/** A component that waits for its permit gets no events for its pod or template: those are not watched. */
export function untilNextOf(reading: WorkloadReading): number | undefined {
  if (isMoving(reading)) return WORKLOAD_REQUEUE_MS
  return reading.report.state === 'Staged' ? STAGED_REQUEUE_MS : undefined
}

const isMoving = ({ report }: WorkloadReading): boolean =>
  report.state === 'Switching' || report.state === 'Probing' || report.state === 'Fetching'

export function replaceActions({ machine }: Seen, reading: WorkloadReading): MachineAction[] {
  if (reading.kind !== 'Replace') return []
  const { name, version } = { name: reading.report.name, version: reading.report.desired ?? '' }
  const permit = machine.spec.components?.find((c) => c.name === name)?.switch?.permit
  const by: Authority = permit === undefined ? { exempt: 'NotOpenYet' } : { permit }
  return [{ kind: 'ReplacePods', component: name, pods: reading.pods, by, reason: `${name} goes to ${version}` }]
}

// Pure: whether a component has a problem that the node must report, and which one.
import type { ProbeReading, ProcessReading } from '../components/seen.ts'
import type { ComponentRecord } from '../components/record.ts'

export interface ComponentProblem {
  readonly reason: 'ComponentCrashed' | 'ComponentFrozen' | 'ProbeFailing' | 'ComponentFailed'
  readonly message: string
}

export interface ComponentObservation {
  readonly record: ComponentRecord | undefined
  readonly process: ProcessReading
  readonly why: string | undefined
  readonly probes: ProbeReading
  readonly startProblem?: string | undefined
}

/** During a switch nothing counts as a problem: the switch reverts by itself if necessary. */
export function problemOf({
  record,
  process,
  why,
  probes,
  startProblem,
}: ComponentObservation): ComponentProblem | undefined {
  if (record === undefined || record.open !== undefined) return undefined
  if (record.current === undefined)
    return record.state === 'Failed'
      ? { reason: 'ComponentFailed', message: record.message ?? 'no version can run' }
      : undefined
  if (startProblem !== undefined) return { reason: 'ComponentFailed', message: `cannot be started: ${startProblem}` }
  if (process === 'Crashed') return { reason: 'ComponentCrashed', message: why ?? 'the process ended' }
  if (process === 'Frozen') return { reason: 'ComponentFrozen', message: why ?? 'the process is frozen' }
  if (probes.verdict === 'Failing') return { reason: 'ProbeFailing', message: probes.message ?? 'a probe fails' }
  return undefined
}

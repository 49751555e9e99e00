// The options of a drain, from the arguments of its operation. Pure.
import { parseDuration } from '#lib/duration.ts'
import { defined } from '#lib/defined.ts'
import type { Operation } from '#api/protocol/operations.ts'
import type { DrainOptions } from '#nodes/drain.ts'
import type { Pod } from '#nodes/objects.ts'
import type { JobStep } from '../seen.ts'

interface DrainedStep {
  /** The other pods stay. Absent: all pods move. */
  readonly only?: (pod: Pod) => boolean
  readonly step: Pick<JobStep, 'startedAt'>
  readonly now: number
}

/** `by` is absent of a drain that only might be. */
export const drainOptionsOf = (
  { gracePeriod, podWait, deleteEmptyDir, namespaces = [] }: NonNullable<Operation['drain']>,
  by?: DrainedStep,
): DrainOptions => ({
  ...(podWait !== undefined &&
    by?.step.startedAt !== undefined && {
      waits: { since: Date.parse(by.step.startedAt), now: by.now, mostMs: parseDuration(podWait) },
    }),
  ...defined({ only: by?.only }),
  keepsEmptyDir: !deleteEmptyDir,
  namespaces: Object.fromEntries(namespaces.map(({ name, pods }) => [name, pods])),
  ...(gracePeriod !== undefined && { gracePeriodSeconds: Math.floor(parseDuration(gracePeriod) / 1_000) }),
})

// The journal of one job: which steps started and how they ended. Written before and after each step, so that a crash never repeats a step unnoticed.
import { isObject } from '#lib/json.ts'
import { OPERATIONS, type OperationName } from '#api/kinds/operations.ts'
import type { PlacedDevice } from '../placed-devices.ts'

export interface StepRecord {
  readonly index: number
  readonly operation: OperationName
  readonly attempts: number
  /** The boot in which the step started. */
  readonly bootId: string
  readonly startedAt: number
  /** Uptime at the start: waiting steps are measured by it, independent of the clock. */
  readonly startedUpMs?: number
  readonly finishedAt?: number
  readonly outcome?: 'Succeeded' | 'Failed' | 'Skipped' | 'Unknown'
  readonly output?: string
  readonly devices?: readonly PlacedDevice[]
  /** Set when the start could not be recorded with the API server: the step did not run and may start again. */
  readonly isUndone?: boolean
}

export interface JobRecord {
  readonly format: 1
  readonly uid: string
  readonly name: string
  readonly steps: readonly StepRecord[]
}

export function parseJobRecord(v: unknown): JobRecord | undefined {
  const isGood =
    isObject(v) &&
    v['format'] === 1 &&
    typeof v['uid'] === 'string' &&
    typeof v['name'] === 'string' &&
    Array.isArray(v['steps']) &&
    v['steps'].every(
      (s) =>
        isObject(s) &&
        Number.isSafeInteger(s['index']) &&
        Number.isSafeInteger(s['attempts']) &&
        typeof s['bootId'] === 'string' &&
        OPERATIONS.some((o) => o === s['operation']),
    )
  return isGood ? (v as unknown as JobRecord) : undefined
}

export const withStep = (record: JobRecord, step: StepRecord): JobRecord => ({
  ...record,
  steps: [...record.steps.filter((s) => s.index !== step.index), step].sort((a, b) => a.index - b.index),
})

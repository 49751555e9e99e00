// The journal of one job: what was begun and how it ended. Written before a step is done and after, so that a crash never does it twice unseen.
import { isObject } from '#lib/json.ts'
import { OPERATIONS, type OperationName } from '#api/kinds/operations.ts'

export interface StepRecord {
  readonly index: number
  readonly operation: OperationName
  readonly attempts: number
  /** Boot in which it was begun. */
  readonly bootId: string
  readonly startedAt: number
  /** How long the machine had run then: by it a step that waits is measured, whatever the clock does. */
  readonly startedUpMs?: number
  readonly finishedAt?: number
  readonly outcome?: 'Succeeded' | 'Failed' | 'Skipped' | 'Unknown'
  readonly output?: string
  /** Set when it could not be recorded with the API server and so was not done: it may be begun again. */
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

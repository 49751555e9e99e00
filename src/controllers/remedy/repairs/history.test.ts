import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { timestamp } from '#lib/clock.ts'
import { expect, test } from 'vitest'
import { DAY_MS, countRepairs } from './history.ts'

const NOW = Date.parse('2026-05-01T12:00:00Z')
const jobOf = (outcome: string, ...steps: readonly string[]): RemedyOperationJob =>
  ({
    spec: { dryRun: false },
    status: {
      phase: 'Done',
      outcome,
      startedAt: timestamp(NOW - 60_000),
      steps: steps.map((result, index) => ({ index, outcome: result })),
    },
  }) as unknown as RemedyOperationJob

test('a rung that was skipped counts against no limit, and everything that was done does', () => {
  const counts = (job: RemedyOperationJob) => countRepairs([job], DAY_MS, NOW)
  expect(counts(jobOf('Escalated', 'Skipped', 'Skipped'))).toBe(0)
  expect(counts(jobOf('Escalated', 'Skipped', 'Succeeded'))).toBe(1)
  expect(counts(jobOf('Transient', 'Failed'))).toBe(1)
  expect(counts(jobOf('Succeeded', 'Skipped'))).toBe(1)
  expect(counts(jobOf('Escalated'))).toBe(1)
})

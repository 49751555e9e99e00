// What the Defender writes when it grants a permit, for tests in which none runs.
import type { OperationPermit, PermitStatus } from '#api/kinds/operation-permit.ts'
import { timestamp } from '#lib/clock.ts'

export const grantedAt = (now: number, { spec }: OperationPermit): PermitStatus => ({
  phase: 'Granted',
  decidedAt: timestamp(now),
  verdicts: spec.targets.map((t) => ({ target: t.uid, gate: 'All', verdict: 'Granted' })),
})

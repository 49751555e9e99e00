// Times in which a policy allows disruption, and times in which it never does.
import type { GateVerdict } from '../gate.ts'
import type { Ground, Question } from '../question.ts'
import { pass, wait } from '../say.ts'

export function windowGate({ policies }: Question, { snapshot: { wall } }: Ground): readonly GateVerdict[] {
  return policies.flatMap((policy) => {
    const { windows, blackouts } = policy
    if (windows.length === 0 && blackouts.length === 0) return []
    const dark = blackouts.map((b) => b(wall)).find((until) => until !== undefined)
    if (dark !== undefined) {
      const limit = `until ${new Date(dark).toISOString()}`
      return [
        wait('Window', { reason: 'BlackoutActive', policy, field: '/blackouts', limit, retryAfterMs: dark - wall }),
      ]
    }
    if (windows.length > 0 && windows.every((w) => w(wall) === undefined))
      return [
        wait('Window', {
          reason: 'OutsideWindow',
          policy,
          field: '/windows',
          seen: 'no maintenance window is open',
          retryAfterMs: 60_000,
        }),
      ]
    return [pass('Window', { reason: 'PermitGranted', policy })]
  })
}

// What people have to say yes to first.
import { approvalNeed } from '../approvals.ts'
import type { GateVerdict } from '../gate.ts'
import type { Ground, Question } from '../question.ts'
import { pass, wait } from '../say.ts'

export function approvalGate(
  { permit, policies }: Question,
  { snapshot: { approvals, wall } }: Ground,
): readonly GateVerdict[] {
  return policies.flatMap((policy) => {
    const need = approvalNeed(policy.spec.approvals ?? [], permit.spec, approvals, wall)
    if (need === undefined) return []
    const saying = {
      policy,
      seen: `${need.counted.length} approvals`,
      limit: `${need.needed} of ${need.from.join(', ')}`,
    }
    const isMet = need.counted.length >= need.needed
    return [
      isMet
        ? pass('Approval', { reason: 'PermitGranted', ...saying })
        : wait('Approval', { reason: 'ApprovalMissing', ...saying }),
    ]
  })
}

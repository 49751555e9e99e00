// What people have to say yes to first.
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { isOver } from '#faults/maintenance.ts'
import { anyApproval, approvalNeed, type ApprovalNeed } from '../approvals.ts'
import type { GateVerdict } from '../gate.ts'
import type { Ground, Question } from '../question.ts'
import { losesMachine } from '../reservations.ts'
import { pass, wait } from '../say.ts'

export function approvalGate(question: Question, { snapshot }: Ground): readonly GateVerdict[] {
  const { permit, policies } = question
  const { approvals, wall } = snapshot
  const said = policies.flatMap((policy) => {
    const need = approvalNeed(policy.spec.approvals ?? [], permit.spec, approvals, wall)
    return need === undefined ? [] : [verdict(need, { policy })]
  })
  return losesData(question, snapshot)
    ? [...said, verdict(anyApproval(permit.spec, approvals, wall), { policy: policies[0] })]
    : said
}

function verdict(
  need: ApprovalNeed,
  { policy }: { readonly policy: Question['policies'][number] | undefined },
): GateVerdict {
  const saying = {
    ...(policy && { policy }),
    seen: `${need.counted.length} approvals`,
    limit: `${need.needed} of ${need.from.join(', ')}`,
  }
  return need.counted.length >= need.needed
    ? pass('Approval', { reason: 'PermitGranted', ...saying })
    : wait('Approval', { reason: 'ApprovalMissing', ...saying })
}

/** Whatever the policies say: data that a vendor destroys is not given away by a program. */
function losesData({ permit, unit }: Question, { maintenance = [] }: Ground['snapshot']): boolean {
  const { requester } = permit.spec
  if (requester.kind !== maintenanceEvent.kind) return false
  return maintenance.some((e) => e.spec.machine === unit.name && !isOver(e) && losesMachine(e.spec))
}

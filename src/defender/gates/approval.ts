// The gate for operations that people must approve first.
import type { Approval } from '#api/kinds/approval.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { isOver } from '#nodes/faults/maintenance.ts'
import { anyApproval, approvalNeed, type ApprovalNeed, byName } from '../approvals.ts'
import type { GateVerdict } from '../gate.ts'
import type { GateContext, Question } from '../question.ts'
import { losesMachine } from '../reservations.ts'
import { pass, wait } from '../verdict-of.ts'
import { defined } from '#lib/defined.ts'

/** Limit per permit status. */
const MOST_SHOWN = 8

export function approvalGate(question: Question, { snapshot }: GateContext): readonly GateVerdict[] {
  const { permit, policies } = question
  const { approvals, wall } = snapshot
  const verdicts = policies.flatMap((policy) => {
    const need = approvalNeed(policy.spec.approvals ?? [], permit.spec, approvals, wall)
    return need === undefined ? [] : [verdict(need, { policy })]
  })
  return losesData(permit, question.unit.name, snapshot)
    ? [...verdicts, verdict(anyApproval(permit.spec, approvals, wall), { policy: policies[0] })]
    : verdicts
}

function verdict(
  need: ApprovalNeed,
  { policy }: { readonly policy: Question['policies'][number] | undefined },
): GateVerdict {
  const parts = {
    ...defined({ policy }),
    seen: `${need.counted.length} approvals`,
    limit: `${need.needed} of ${need.from.join(', ')}`,
  }
  return need.counted.length >= need.needed
    ? pass('Approval', { reason: 'PermitGranted', ...parts })
    : wait('Approval', { reason: 'ApprovalMissing', ...parts })
}

/** Whatever the policies: no program approves a vendor's destruction of data. */
function losesData(
  { spec: { requester } }: OperationPermit,
  machine: string,
  { maintenance = [] }: GateContext['snapshot'],
): boolean {
  if (requester.kind !== maintenanceEvent.kind) return false
  return maintenance.some((e) => e.spec.machine === machine && !isOver(e) && losesMachine(e.spec))
}

/** For the permit's status. */
export function usedApprovals(permit: OperationPermit, snapshot: GateContext['snapshot']): readonly Approval[] {
  const { policies, approvals, wall } = snapshot
  if (approvals.length === 0) return []
  const rules = policies.flatMap((p) => p.spec.approvals ?? [])
  const isLoss = permit.spec.targets.some(({ name }) => losesData(permit, name, snapshot))
  const counted = new Set([
    ...(rules.length === 0 ? [] : (approvalNeed(rules, permit.spec, approvals, wall)?.counted ?? [])),
    ...(isLoss ? anyApproval(permit.spec, approvals, wall).counted : []),
  ])
  return approvals
    .filter((a) => counted.has(a.metadata.name ?? ''))
    .toSorted(byName)
    .slice(0, MOST_SHOWN)
}

// What users must approve, and which approvals exist. An approval counts for one digest: these operations on these targets for this commit, and
// nothing else.
import type { Approval } from '#api/kinds/approval.ts'
import type { DefenderPolicySpec } from '#api/kinds/defender-policy.ts'
import type { PermitSpec } from '#api/kinds/operation-permit.ts'
import { approvalDigest } from '#permits/approval-digest.ts'
import { isAtLeast, riskOf } from './risk.ts'

export interface ApprovalNeed {
  readonly needed: number
  readonly from: readonly string[]
  /** Names of the Approvals that count. */
  readonly counted: readonly string[]
}

type Rule = NonNullable<DefenderPolicySpec['approvals']>[number]

/** Undefined when no approval is needed. If several rules cover the risk, each must be met. Returns the first unmet one. */
export function approvalNeed(
  rules: readonly Rule[],
  spec: PermitSpec,
  approvals: readonly Approval[],
  now: number,
): ApprovalNeed | undefined {
  const needs = rulesFor(rules, spec).map((r) => need(r, spec, approvals, now))
  return needs.find((n) => n.counted.length < n.needed) ?? needs[0]
}

/** Rules whose risk level the operations reach. */
export function rulesFor(rules: readonly Rule[], { operations }: PermitSpec): readonly Rule[] {
  const risk = riskOf(operations)
  return rules.filter((r) => isAtLeast(risk, r.risk))
}

/** One person counts once. Groups are those of the person: an admission policy enforces that on every Approval. */
function need({ from, count }: Rule, spec: PermitSpec, approvals: readonly Approval[], now: number): ApprovalNeed {
  const digest = approvalDigest(spec)
  const valid = approvals.filter(
    ({ spec: a }) => a.digest === digest && isFrom(a, from) && (a.until === undefined || Date.parse(a.until) > now),
  )
  const byPerson = new Map(valid.toSorted(byName).map((a) => [a.spec.by, a.metadata.name ?? '']))
  return { needed: count, from, counted: [...byPerson.values()].toSorted() }
}

export const ANY_APPROVER = 'any user who may approve'

/** By any user who may approve. One is enough. */
export function anyApproval(spec: PermitSpec, approvals: readonly Approval[], now: number): ApprovalNeed {
  const digest = approvalDigest(spec)
  const valid = approvals.filter(
    ({ spec: a }) => a.digest === digest && (a.until === undefined || Date.parse(a.until) > now),
  )
  return { needed: 1, from: [ANY_APPROVER], counted: valid.map((a) => a.metadata.name ?? '').toSorted() }
}

const GROUP = 'group:'

const isFrom = ({ by, groups = [] }: Approval['spec'], from: readonly string[]): boolean =>
  from.some((f) => (f.startsWith(GROUP) ? groups.includes(f.slice(GROUP.length)) : f === by))

export const byName = (a: Approval, b: Approval): number => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1)

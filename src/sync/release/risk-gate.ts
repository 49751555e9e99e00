// Adds the gate for high-risk changes to a stage whose clusters wait with one. Pure.
import type { SeenCluster } from './cluster-seen.ts'
import type { Release } from '#api/kinds/release.ts'
import { isApprovalText, type Stage } from './gates.ts'
import type { StageStatus } from './release-seen.ts'
import { gateAbout, isOfRiskGate, mayAsk, riskGate } from './risk.ts'

/** Whether users approved the Release before the cluster's stage opened. */
export function isApprovedTurn({ status }: Pick<Release, 'status'>, cluster: string): boolean {
  const stage = status?.clusters?.find((c) => c.name === cluster)?.stage
  const gates = status?.stages?.find(({ name }) => name === stage)?.gates ?? []
  return gates.some(({ when, phase, seen = '' }) => when === 'Before' && phase === 'Passed' && isApprovalText(seen))
}

/**
 * The stage with the gate, as long as a member waits with such a change, and after it passed: its evidence stays. What restores healthy content needs no
 * Approval: the way back must not wait for a person.
 */
export function withRiskGate(stage: Stage, members: readonly SeenCluster[], old: StageStatus | undefined): Stage {
  const risks = members.flatMap(({ risks = [], isReturn, isUnderway }) =>
    isReturn === true || isUnderway === true ? [] : risks,
  )
  const had = old?.gates?.find((r) => r.when === 'Before' && r.phase === 'Passed' && isOfRiskGate(r.name, r.seen ?? ''))
  const gate = riskGate(stage, risks) ?? (had !== undefined && mayAsk(stage) ? gateAbout(stage, '') : undefined)
  return gate === undefined ? stage : { ...stage, before: [...(stage.before ?? []), gate] }
}

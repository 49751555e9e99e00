// Whether the rule would still request a repair, as it is declared now. A job waits for up to a day: a commit that stops a rule, or takes an operation from
// its ladder, must also stop the jobs that the rule requested before. Pure.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { jsonEqual } from '#lib/json.ts'
import type { ActiveRule } from '#nodes/faults/active-rule.ts'

/** Undefined: it would, or there is no rule. */
export function outdatedBy(
  { spec }: Pick<RemedyOperationJob, 'spec'>,
  active: Pick<ActiveRule, 'name' | 'generation' | 'spec'> | undefined,
): string | undefined {
  if (active === undefined || spec.dryRun) return undefined
  const { name, generation } = active
  if (active.spec.mode !== 'Enforce') return `rule ${name} is in mode ${active.spec.mode} now`
  if (generation === spec.remedierRef.generation) return undefined
  const declared = active.spec.ladder[spec.rung]?.operations
  return declared !== undefined && isMadeOf(spec, declared)
    ? undefined
    : `rule ${name} was edited: rung ${spec.rung} has other operations now`
}

/** Apart from what every job gets: evidence first, and the test that accepts the node. */
function isMadeOf(
  { operations, acceptance }: RemedyOperationJob['spec'],
  declared: RemedyOperationJob['spec']['operations'],
): boolean {
  const own = operations.filter((_, index) => index !== acceptance)
  return jsonEqual(own, declared) || (own[0]?.collectEvidence !== undefined && jsonEqual(own.slice(1), declared))
}

// What a changed DefenderPolicy, rollout or FleetSource lets through that it blocked before. Pure.
import type { DefenderPolicySpec } from '#api/kinds/defender-policy.ts'
import type { FleetSourceSpec } from '#api/kinds/fleet-source.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { jsonEqual } from '#lib/json.ts'
import { added, approversFound, type Found, lowered, raised, shortened, windowsFound } from './compare.ts'

type Limited = NonNullable<DefenderPolicySpec['budgets']>[number] | NonNullable<DefenderPolicySpec['rates']>[number]

const limitName = (limit: Limited): string =>
  'of' in limit ? `budget ${limit.of} per ${limit.per}` : `rate of ${limit.window} per ${limit.per}`

/** Each limit of the kind applies on its own, so the strictest of a name counts. */
function limitsFound(before: readonly Limited[] = [], after: readonly Limited[] = []): Found {
  return before.flatMap((old) => {
    const now = after.filter((l) => limitName(l) === limitName(old))
    if (now.length === 0) return [`${limitName(old)} (${old.max}) is removed`]
    return now.some((l) => raised('', old.max, l.max).length === 0) ? [] : raised(limitName(old), old.max, now[0]?.max)
  })
}

export function policyFound(before: DefenderPolicySpec, after: DefenderPolicySpec): Found {
  if (before.mode === 'Audit') return []
  const approvals = (before.approvals ?? []).flatMap((old) => {
    const now = after.approvals?.find((a) => a.risk === old.risk)
    const what = `the approval for ${old.risk.toLowerCase()} risk`
    return now === undefined ? [`${what} is removed`] : approversFound(what, old, now)
  })
  const isLess = (name: 'protect' | 'blackouts' | 'rules') =>
    (before[name] ?? []).some((old: unknown) => !(after[name] ?? []).some((now: unknown) => jsonEqual(old, now)))
  const exempt = added(before.exemptRecoveries, after.exemptRecoveries)
  return [
    ...(after.mode === 'Audit' ? ['mode Enforce → Audit'] : []),
    ...(jsonEqual(before.selector, after.selector) && jsonEqual(before.operations, after.operations)
      ? []
      : ['it applies to other targets or operations']),
    ...limitsFound(before.budgets, after.budgets),
    ...limitsFound(before.rates, after.rates),
    ...approvals,
    ...lowered('healthFloor', before.healthFloor, after.healthFloor),
    ...windowsFound(before.windows, after.windows),
    ...(['protect', 'blackouts', 'rules'] as const).flatMap((name) =>
      isLess(name) ? [`an entry of ${name} is removed or changed`] : [],
    ),
    ...(before.breaker !== undefined && after.breaker === undefined ? ['its breaker is removed'] : []),
    ...(before.breaker !== undefined && after.breaker !== undefined
      ? raised('breaker.failures', before.breaker.failures, after.breaker.failures)
      : []),
    ...(exempt.length > 0 ? [`recoveries are exempt from ${exempt.join(', ')} too`] : []),
  ]
}

export function rolloutFound(
  { spec: { rollout: old } }: Pick<MachineComponentSet, 'spec'>,
  { spec: { rollout: now } }: Pick<MachineComponentSet, 'spec'>,
): Found {
  const inspections = (old.inspections ?? []).flatMap((i) => {
    const kept = now.inspections?.find((n) => n.name === i.name)
    if (kept === undefined) return [`inspection ${i.name} is removed`]
    return jsonEqual(i, kept) ? [] : [`inspection ${i.name} checks something else`]
  })
  // The last step repeats.
  const isLarger = Array.from({ length: Math.max(old.steps.length, now.steps.length) }).some(
    (_, n) => raised('', old.steps[n] ?? old.steps.at(-1), now.steps[n] ?? now.steps.at(-1)).length > 0,
  )
  return [
    ...(isLarger ? [`larger steps: ${old.steps.join(', ')} → ${now.steps.join(', ')}`] : []),
    ...shortened('soak', old.soak, now.soak),
    ...raised('maxUnavailable', old.maxUnavailable, now.maxUnavailable),
    ...(now.maxFailures === undefined ? [] : raised('maxFailures', old.maxFailures, now.maxFailures)),
    ...inspections,
    ...windowsFound(old.windows, now.windows),
  ]
}

const STRICTNESS = { All: 3, FirstParent: 2, Head: 1, Off: 0, None: 0 } as const

export function sourceFound(before: FleetSourceSpec, after: FleetSourceSpec): Found {
  const [was, is] = [before.verify?.mode ?? 'Off', after.verify?.mode ?? 'Off']
  const signers = added(
    before.verify?.signers?.map((s) => s.principal),
    after.verify?.signers?.map((s) => s.principal),
  )
  const tracks = before.tracks.flatMap(({ name, pipelineRef }) => {
    const now = after.tracks.find((t) => t.name === name)
    if (now === undefined || now.pipelineRef.name === pipelineRef.name) return []
    return [`track ${name} goes through pipeline ${now.pipelineRef.name} in place of ${pipelineRef.name}`]
  })
  return [
    ...(STRICTNESS[is] < STRICTNESS[was] ? [`verify.mode ${was} → ${is}`] : []),
    ...(signers.length > 0 && STRICTNESS[was] > 0 ? [`commits of ${signers.join(', ')} are followed too`] : []),
    ...raised('prune.guard', before.prune.guard, after.prune.guard),
    ...(before.requirePlan === true && after.requirePlan !== true ? ['requirePlan is removed'] : []),
    ...(before.drift === 'Correct' && after.drift !== 'Correct' ? [`drift Correct → ${after.drift}`] : []),
    ...tracks,
  ]
}

// What a changed pipeline no longer demands. Pure.
import { without } from '#lib/without.ts'
import type { ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import { jsonEqual } from '#lib/json.ts'
import { added, approversFound, type Found, lowered, raised, shortened, windowsFound } from './compare.ts'

export type Stage = ReleasePipelineSpec['stages'][number]
type Gate = NonNullable<Stage['gates']>[number]

const MOMENTS = ['before', 'gates', 'after'] as const
const AT = { before: ' (before)', gates: '', after: ' (after)' } as const

const gatesOf = (stage: Stage): readonly Gate[] => MOMENTS.flatMap((m) => stage[m] ?? [])

export function pipelineFound(before: ReleasePipelineSpec, after: ReleasePipelineSpec): Found {
  const olds = new Map(before.stages.map((s) => [s.name, s]))
  const news = new Map(after.stages.map((s) => [s.name, s]))
  const hadGates = before.stages.some((s) => gatesOf(s).length > 0)
  const more = added(before.revert?.exempt, after.revert?.exempt)
  return [
    ...before.stages.flatMap((old) => {
      const now = news.get(old.name)
      return now === undefined
        ? [`stage ${old.name} is removed`]
        : stageFound(old, now).map((text) => `stage ${old.name}: ${text}`)
    }),
    ...after.stages.flatMap((now) =>
      hadGates && !olds.has(now.name) && gatesOf(now).length === 0 ? [`stage ${now.name} is new and has no gates`] : [],
    ),
    ...(more.length > 0 ? [`reverts are exempt from ${more.join(', ')} too`] : []),
    ...(before.revert?.to !== 'Direct' && after.revert?.to === 'Direct'
      ? ['reverts are written to the followed branch itself']
      : []),
  ]
}

export const stageFound = (old: Stage, now: Stage): Found => [
  ...MOMENTS.flatMap((moment) => (old[moment] ?? []).flatMap((gate) => gateFound(gate, now, moment))),
  ...(gatesOf(old).length > 0 && gatesOf(now).length === 0 ? ['it has no gates left'] : []),
  ...shortened('minSuccessTime', old.minSuccessTime, now.minSuccessTime),
  ...shortened('offlineDeadline', old.offlineDeadline, now.offlineDeadline),
  ...raised('maxConcurrency', old.maxConcurrency, now.maxConcurrency),
  ...raised('maxFailures', old.maxFailures, now.maxFailures),
  ...raised('maxNewFailures', old.maxNewFailures, now.maxNewFailures),
  ...windowsFound(old.windows, now.windows),
  ...added(old.withoutApproval, now.withoutApproval).map((change) => `${change} of Clusters need no approval`),
]

/** A gate that moves to another moment is removed from this one. */
function gateFound(old: Gate, stage: Stage, moment: (typeof MOMENTS)[number]): Found {
  const now = stage[moment]?.find((g) => g.name === old.name)
  const what = `gate ${old.name}`
  if (now === undefined) return [`${what}${AT[moment]} is removed`]
  if (old.machinesReady !== undefined && now.machinesReady !== undefined)
    return lowered(`${what}: machinesReady.minPercent`, old.machinesReady.minPercent, now.machinesReady.minPercent)
  if (old.componentsConsistent !== undefined && now.componentsConsistent !== undefined) {
    const [a, b] = [old.componentsConsistent.minPercent, now.componentsConsistent.minPercent]
    return lowered(`${what}: componentsConsistent.minPercent`, a, b)
  }
  if (old.noNewRepairs !== undefined && now.noNewRepairs !== undefined)
    return shortened(`${what}: noNewRepairs.within`, old.noNewRepairs.within, now.noNewRepairs.within)
  if (old.approval !== undefined && now.approval !== undefined) return approversFound(what, old.approval, now.approval)
  return jsonEqual(without(old, 'timeout'), without(now, 'timeout')) ? [] : [`${what} checks something else`]
}

// Evaluates the rules of custom gates for each cluster that was read in this pass. Without side effects: an unreadable value is unknown, and unknown
// keeps a gate closed.
import type { Release } from '#api/kinds/release.ts'
import type { ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Baseline } from '#api/kinds/inventory.ts'
import { messageOf } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { shortened } from '#lib/shortened.ts'
import { compileRule } from '#policy/compile-rule.ts'
import { evaluate } from '#policy/evaluate.ts'
import { notTrueBecause } from '#policy/not-true-because.ts'
import { describeProblem } from '#policy/problem.ts'
import type { Facts } from '#policy/reading.ts'
import { releaseVocabulary } from '#policy/release-vocabulary.ts'
import { createRuleset } from '#policy/ruleset.ts'
import { machinesBefore, namesBefore } from './baseline.ts'
import type { SeenCluster } from './cluster-seen.ts'
import type { GateMoment } from './gate-machine.ts'
import type { ClusterReadings, Finding, Gate } from './gates.ts'
import type { StageStatus } from './release-seen.ts'
import { openStages, ruleKey, type Survey } from './stage-gates.ts'

export interface CustomSeen {
  readonly release: Release
  readonly pipeline: ReleasePipelineSpec
  readonly clusters: ReadonlyMap<string, SeenCluster>
  readonly surveys: ReadonlyMap<string, Survey>
  readonly now: number
}

const MAX_SEEN = 160
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** By `ruleKey`. */
export async function customFindings(seen: CustomSeen): Promise<ReadonlyMap<string, Finding>> {
  const { release, pipeline, clusters, surveys, now } = seen
  const found = new Map<string, Finding>()
  const { status = {} } = release
  for (const { stage, status: its } of openStages(status, pipeline)) {
    const moments: readonly (readonly [GateMoment, readonly Gate[]])[] = [
      ['Before', stage.before ?? []],
      ['During', stage.gates ?? []],
      ['After', stage.after ?? []],
    ]
    const rules = moments.flatMap(([when, gates]) =>
      gates.flatMap(({ name, custom }) => (custom === undefined ? [] : [{ when, name, rule: custom.when }])),
    )
    if (rules.length === 0) continue
    for (const { name: cluster } of (status.clusters ?? []).filter((c) => c.stage === stage.name)) {
      const member = clusters.get(cluster)
      const survey = surveys.get(cluster)
      const answer = member?.answer?.kind === 'Seen' ? member.answer : undefined
      for (const { when, name, rule } of rules) {
        const read = when === 'Before' ? (survey?.kind === 'Read' ? survey : undefined) : answer
        if (member === undefined || read === undefined) continue
        const baseline = when === 'Before' ? undefined : answer?.baseline
        const facts = {
          cluster: clusterFacts(cluster, read.readings, { baseline, now }),
          labels: member.labels,
          stage: stageFacts(its, now),
          release: releaseFacts(release, now),
        }
        found.set(ruleKey(stage.name, when, name, cluster), await judgeRule(name, rule, facts, now))
      }
    }
  }
  return found
}

/** The engine decides whether the rule is true; its explanation gives the reason if not. */
export async function judgeRule(name: string, when: unknown, facts: Facts, now: number): Promise<Finding> {
  const compiled = compileRule(name, when, releaseVocabulary)
  if (!compiled.ok) return shut(`invalid rule: ${compiled.problems.slice(0, 1).map(describeProblem).join('')}`)
  try {
    const evaluation = await evaluate(createRuleset([compiled.rule]), facts, now)
    if (evaluation.fired.includes(name)) return { holds: true, seen: 'the rule is true' }
    const explanation = evaluation.explain(name)
    return shut((explanation && notTrueBecause(explanation)) ?? 'the rule is not true')
  } catch (error) {
    return shut(`cannot be evaluated: ${messageOf(error)}`)
  }
}

const shut = (why: string): Finding => ({ holds: false, seen: shortened(printableLine(why), MAX_SEEN) })

interface Moment {
  readonly baseline: Baseline | undefined
  readonly now: number
}

function clusterFacts(name: string, { machines, repairs }: ClusterReadings, { baseline, now }: Moment): Facts {
  return {
    name,
    ...(machines && machineFacts(machines, baseline)),
    ...(repairs && repairFacts(repairs, baseline, now)),
  }
}

function machineFacts(
  { total, notReady, inconsistent, skipped }: NonNullable<ClusterReadings['machines']>,
  baseline: Baseline | undefined,
): Facts {
  const wereNotReady = machinesBefore(baseline, 'NotReady')
  const were = machinesBefore(baseline, 'NotReadyOrInconsistent')
  const later = new Set(skipped)
  const ready = total - notReady.length
  const consistent = total - inconsistent.length
  return {
    machines: total,
    ready,
    consistent,
    // A share of nothing is unknown, not zero.
    ...(total > 0 && { readyShare: ready / total, consistentShare: consistent / total }),
    newNotReady: notReady.filter((uid) => !wereNotReady.has(uid)).length,
    newInconsistent: inconsistent.filter((uid) => !were.has(uid) && !later.has(uid)).length,
    skipped: skipped.length,
  }
}

function repairFacts(
  repairs: NonNullable<ClusterReadings['repairs']>,
  baseline: Baseline | undefined,
  now: number,
): Facts {
  const within = (ms: number) => repairs.filter(({ at }) => now - at <= ms).length
  const before = namesBefore(baseline)
  const since = baseline === undefined ? Number.NEGATIVE_INFINITY : Date.parse(baseline.takenAt)
  return {
    repairsLastHour: within(HOUR_MS),
    repairsLastDay: within(24 * HOUR_MS),
    newRepairs: repairs.filter(({ at, names }) => at >= since && !names.some((n) => before.has(n))).length,
  }
}

const minutesSince = (time: string | undefined, now: number): number | undefined => {
  const at = Date.parse(time ?? '')
  return Number.isNaN(at) ? undefined : Math.max(0, Math.floor((now - at) / MINUTE_MS))
}

const stageFacts = ({ name, healthy, failed, offline, total, startedAt }: StageStatus, now: number): Facts => ({
  name,
  healthy,
  failed,
  offline,
  total,
  minutes: minutesSince(startedAt, now),
})

const releaseFacts = ({ spec, status }: Release, now: number): Facts => ({
  track: spec.track,
  signer: spec.signer,
  isRevert: spec.revertOf !== undefined,
  clusters: Object.keys(spec.digests).length,
  changed: spec.changed,
  minutes: minutesSince(status?.startedAt, now),
})

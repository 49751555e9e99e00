// What a stage's gates evaluate: before it opens, for each of its clusters, and before it counts as done. Also which external queries they need. Pure.
import type { ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { shortened } from '#lib/shortened.ts'
import type { Taken } from '#runtime/background-reads.ts'
import { approveOrRevert } from '#runtime/waiting.ts'
import type { CheckResult } from '#runtime/outbound/external-checks.ts'
import type { ClusterStatus, SeenCluster } from './cluster-seen.ts'
import { type GateMoment, type GateRecord, type GatesResult, havePassed, passGates } from './gate-machine.ts'
import {
  type Approver,
  type ClusterReadings,
  type Finding,
  type Gate,
  isOfClusters,
  isRemote,
  judgeGate,
  type Stage,
  timeoutOf,
  unblockOf,
} from './gates.ts'

type StageStatus = NonNullable<ReleaseStatus['stages']>[number]

/** A cluster's report before anything of the release is applied there. */
export type Survey =
  | { readonly kind: 'Read'; readonly readings: ClusterReadings }
  | { readonly kind: 'Unreachable'; readonly message: string }

export interface GateSight {
  readonly approvedBy: readonly Approver[]
  /** Answers of other systems, by `checkKey`. */
  readonly checks: ReadonlyMap<string, Taken<CheckResult>>
  /** By cluster. */
  readonly surveys: ReadonlyMap<string, Survey>
  /** Keys of checks and surveys that are being read without a result so far. Bounded: a query that takes too long is dropped. */
  readonly pending?: ReadonlySet<string>
  /** Results of custom rules with the readings of this pass, by `ruleKey`. */
  readonly rules?: ReadonlyMap<string, Finding>
}

export const checkKey = (stage: string, when: GateMoment, gate: string): string => `${stage}/${when}/${gate}`

export const ruleKey = (stage: string, when: GateMoment, gate: string, cluster: string): string =>
  `${checkKey(stage, when, gate)}/${cluster}`

export interface MomentInput {
  readonly stage: Stage
  readonly old: Pick<StageStatus, 'gates'> | undefined
  readonly sight: GateSight
  readonly now: number
  readonly isRetried: boolean
}

const recordsOf = ({ old }: Pick<MomentInput, 'old'>): readonly GateRecord[] => old?.gates ?? []

/** A failed gate stays failed, whatever happens meanwhile. For a waiting gate, the time restarts with its next check. */
export const keptRecords = (old: Pick<StageStatus, 'gates'> | undefined, when: GateMoment): readonly GateRecord[] => {
  const own = (old?.gates ?? []).filter((r) => r.when === when)
  return own.some((r) => r.phase === 'Failed') ? own : []
}

/** Before the stage opens. After that, these gates are not checked again. */
export function gatesBefore(input: MomentInput, members: readonly SeenCluster[]): GatesResult {
  const { stage, now, isRetried } = input
  const gates = stage.before ?? []
  const records = recordsOf(input)
  if (havePassed(gates, 'Before', records))
    return { state: 'Passed', records: records.filter((r) => r.when === 'Before') }
  const find = (gate: Gate): Finding =>
    isOfClusters(gate) ? surveyed(gate, input, members) : judge(gate, undefined, input, { when: 'Before' })
  return passGates({ when: 'Before', gates, records, find, now, isRetried })
}

const stays = (member: SeenCluster | undefined): boolean => member?.isLeaving !== true
const ONLY_LEAVING: Finding = { holds: true, seen: 'all clusters of the stage leave the fleet' }

/** A cluster that does not answer will not be changed now either; at least one must answer. */
function surveyed(gate: Gate, input: MomentInput, members: readonly SeenCluster[]): Finding {
  const found: Finding[] = []
  let away = 0
  const judged = members.filter(stays)
  if (judged.length === 0) return ONLY_LEAVING
  for (const { name } of judged) {
    const survey = input.sight.surveys.get(name)
    if (survey === undefined)
      return { holds: false, seen: `reading cluster ${name}`, isPending: input.sight.pending?.has(name) === true }
    if (survey.kind === 'Unreachable') {
      away++
      continue
    }
    const { holds, seen } = judge(gate, survey.readings, input, { when: 'Before', cluster: name })
    if (!holds) return { holds, seen: `${name}: ${seen}` }
    found.push({ holds, seen: `${name}: ${seen}` })
  }
  const [first] = found
  if (first === undefined) return { holds: false, seen: `none of ${counted(judged.length, 'cluster')} responds` }
  const left = away === 0 ? '' : `; ${counted(away, 'cluster')} not responding`
  return { holds: true, seen: `${first.seen}${found.length > 1 ? ` (and ${found.length - 1} more)` : ''}${left}` }
}

function judge(
  gate: Gate,
  readings: ClusterReadings | undefined,
  { stage, sight: { approvedBy, checks, pending, rules }, now }: MomentInput,
  { when, cluster }: { readonly when: GateMoment; readonly cluster?: string },
): Finding {
  const key = checkKey(stage.name, when, gate.name)
  const check = checks.get(key)?.value
  const rule = cluster === undefined ? undefined : rules?.get(ruleKey(stage.name, when, gate.name, cluster))
  const { holds, seen } = judgeGate(gate, readings, { now, approvedBy, check, rule })
  return { holds, seen, isPending: check === undefined && pending?.has(key) === true }
}

/** After the soak, for the clusters that completed it. */
export function gatesAfter(input: MomentInput, clusters: readonly (SeenCluster | undefined)[]): GatesResult {
  const { stage, now, sight, isRetried } = input
  const find = (gate: Gate): Finding => {
    if (!isOfClusters(gate)) return judge(gate, undefined, input, { when: 'After' })
    const judged = clusters.filter(stays)
    if (clusters.length > 0 && judged.length === 0) return ONLY_LEAVING
    const found = judged.map((c) => {
      const answer = c?.answer?.kind === 'Seen' ? c.answer : undefined
      const rule = sight.rules?.get(ruleKey(stage.name, 'After', gate.name, c?.name ?? ''))
      const facts = { now, approvedBy: sight.approvedBy, baseline: answer?.baseline, rule }
      const { holds, seen } = judgeGate(gate, answer?.readings, facts)
      return { holds, seen: `${c?.name ?? ''}: ${seen}` }
    })
    return found.find((f) => !f.holds) ?? found[0] ?? { holds: false, seen: 'no healthy cluster' }
  }
  return passGates({ when: 'After', gates: stage.after ?? [], records: recordsOf(input), find, now, isRetried })
}

const JUDGED: ReadonlySet<string> = new Set(['Verifying', 'Healthy', 'Failed'])

/** The evidence of gates that each cluster passes separately: the first that does not pass, or that all do. */
export function gatesDuring(
  { stage, old, sight, now }: MomentInput,
  members: readonly SeenCluster[],
  clusters: readonly ClusterStatus[],
): readonly GateRecord[] {
  const phases = new Map(clusters.map((c) => [c.name, c.phase]))
  return (stage.gates ?? []).flatMap((gate): readonly GateRecord[] => {
    const before = old?.gates?.find((r) => r.when === 'During' && r.name === gate.name)
    const found = members.filter(stays).flatMap(({ name, answer }) => {
      if (answer?.kind !== 'Seen' || !JUDGED.has(phases.get(name) ?? '')) return []
      const remote = sight.checks.get(checkKey(stage.name, 'During', gate.name))?.value
      const rule = sight.rules?.get(ruleKey(stage.name, 'During', gate.name, name))
      const facts = { now, approvedBy: sight.approvedBy, baseline: answer.baseline, check: remote, rule }
      return [{ ...judgeGate(gate, answer.readings, facts), cluster: name }]
    })
    const shown = found.find((f) => !f.holds) ?? found[0]
    if (shown === undefined) return before === undefined ? [] : [before]
    const { holds, seen, cluster } = shown
    return [
      {
        when: 'During',
        name: gate.name,
        phase: holds ? 'Passed' : 'Waiting',
        since: before?.since ?? timestamp(now),
        seen: shortened(`${cluster}: ${seen}`, MAX_SEEN),
      },
    ]
  })
}

const MAX_SEEN = 200

/** The text of a stage that waits for a gate, limited to one sentence. */
export function closedText(
  { gate, seen, failsAt }: NonNullable<GatesResult['closed']>,
  { metadata, spec }: Pick<Release, 'metadata' | 'spec'>,
) {
  const end = `; the stage fails at ${timestamp(failsAt)}`
  const withEnd = (text: string): string => `${shortened(text, MAX_SEEN - end.length)}${end}`
  const command = unblockOf(gate, metadata.name ?? '')
  const [observed, unblock] = [
    `${gate.name}: ${seen}`,
    gate.about === undefined ? command : approveOrRevert(command, spec),
  ]
  // Commands are typed as shown, so the deadline must not follow them.
  return gate.approval === undefined
    ? { seen: shortened(observed, MAX_SEEN), unblock: withEnd(unblock) }
    : { seen: withEnd(observed), unblock }
}

export const failedText = ({ gate, seen }: NonNullable<GatesResult['closed']>, release: string) => ({
  seen: shortened(`gate ${gate.name} did not pass within ${timeoutOf(gate)}: ${seen}`, MAX_SEEN),
  unblock:
    `a commit corrects or reverts the change; to check the gate again, run kubenode release retry ${release} --reason WHY`.slice(
      0,
      MAX_SEEN,
    ),
})

export interface AskedCheck {
  readonly key: string
  readonly gate: Gate
}

type Known = Pick<ReleaseStatus, 'stages' | 'clusters'>

export const openStages = ({ stages = [] }: Known, pipeline: ReleasePipelineSpec) =>
  pipeline.stages.flatMap((stage) => {
    const status = stages.find((s) => s.name === stage.name)
    return status === undefined || status.phase === 'Succeeded' || status.phase === 'Skipped' ? [] : [{ stage, status }]
  })

const isAsked = (gates: readonly Gate[] | undefined, when: GateMoment, { gates: records = [] }: StageStatus): boolean =>
  records.some((r) => r.when === when) && !havePassed(gates ?? [], when, records)

/** External queries to run now: for gates that were checked once, and for clusters with content to judge. */
export function checksFor(status: Known, pipeline: ReleasePipelineSpec): readonly AskedCheck[] {
  return openStages(status, pipeline).flatMap(({ stage, status: its }) => {
    const remote = (when: GateMoment, gates: readonly Gate[] = []) =>
      gates.filter(isRemote).map((gate) => ({ key: checkKey(stage.name, when, gate.name), gate }))
    const isDuring = (status.clusters ?? []).some((c) => c.stage === stage.name && JUDGED.has(c.phase))
    return [
      ...(isAsked(stage.before, 'Before', its) ? remote('Before', stage.before) : []),
      ...(isDuring ? remote('During', stage.gates) : []),
      ...(isAsked(stage.after, 'After', its) ? remote('After', stage.after) : []),
    ]
  })
}

/** Clusters that are read before anything is applied there. */
export function clustersToSurvey(status: Known, pipeline: ReleasePipelineSpec): readonly string[] {
  return openStages(status, pipeline).flatMap(({ stage, status: its }) =>
    isAsked(stage.before, 'Before', its) && (stage.before ?? []).some(isOfClusters)
      ? (status.clusters ?? []).filter((c) => c.stage === stage.name).map((c) => c.name)
      : [],
  )
}

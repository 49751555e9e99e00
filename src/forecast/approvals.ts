// Approvals that a commit needs before it is everywhere, and how many of them are still missing: those of the Defender's policies for each batch, and those of
// the stages for the release. Pure.
import { API_GROUP, type ApiKind } from '#api/kind.ts'
import type { Approval } from '#api/kinds/approval.ts'
import { type Cluster, cluster } from '#api/kinds/cluster.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { type ReleasePipeline, releasePipeline } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import { HUB_TARGET } from '#api/names.ts'
import type { Targets } from '#delivery/desired.ts'
import { approvalNeed } from '#defender/approvals.ts'
import { compilePolicy } from '#defender/compile-policy.ts'
import type { Unit } from '#defender/unit.ts'
import { applyDefaults } from '#schema/default.ts'
import { type Approver, type Gate, type Stage, approversOf } from '#sync/release/gates.ts'
import { splitByTrack, targetDigest, targetsDigest } from '#sync/release/tracks.ts'
import type { Inventory, NewestContent, SourceRules } from './inventory.ts'
import { isInStage } from './stage-members.ts'

export interface NeededApproval {
  /** A policy of the Defender, or a gate. */
  readonly asker: string
  readonly from: readonly string[]
  /** For each batch, or for the release. */
  readonly count: number
  /** Absent: the release needs them once. */
  readonly batches?: number
  /** In all batches. */
  readonly missing: number
}

export interface PermitsSeen {
  readonly permits: readonly OperationPermit[]
  readonly policies: readonly DefenderPolicy[]
  readonly approvals: readonly Approval[]
  readonly unitOf: (uid: string) => Unit | undefined
  readonly now: number
}

/** Each batch is one permit, and an approval is for one permit: what was given for batches that are on their way already counts. */
export function permitApprovals(seen: PermitsSeen): readonly NeededApproval[] {
  return seen.policies.flatMap((policy) => {
    if (policy.spec.mode === 'Audit') return []
    const compiled = compilePolicy(policy)
    const mine = seen.permits.filter(
      ({ spec }) => compiled.decides(spec.operations) && spec.targets.some((t) => isSelected(compiled, t.uid, seen)),
    )
    return (policy.spec.approvals ?? []).flatMap((rule) => {
      const needs = mine.flatMap(({ spec }) => approvalNeed([rule], spec, seen.approvals, seen.now) ?? [])
      const missing = needs.reduce((n, { needed, counted }) => n + Math.max(0, needed - counted.length), 0)
      const { from, count } = rule
      const asker = `policy ${policy.metadata.name ?? ''}`
      return needs.length === 0 ? [] : [{ asker, from, count, batches: needs.length, missing }]
    })
  })
}

const isSelected = (policy: ReturnType<typeof compilePolicy>, uid: string, { unitOf }: PermitsSeen): boolean => {
  const unit = unitOf(uid)
  return unit === undefined || policy.selects(unit)
}

export interface ReleaseWish {
  readonly before: Targets
  readonly after: Targets
  readonly inventories: readonly Inventory[]
  readonly now: number
}

/** By the pipelines as they are before the commit: it can't drop its own gates. */
export function releaseApprovals(wish: ReleaseWish): readonly NeededApproval[] {
  const { before, after, inventories, now } = wish
  const old = onHub(releasePipeline, before)
  const pipelines = (old.length > 0 ? old : onHub(releasePipeline, after)) as readonly ReleasePipeline[]
  const clusters = onHub(cluster, after) as readonly Cluster[]
  const valid = inventories.flatMap((i) => i.approvals).filter(({ spec: { until } }) => !isPast(until, now))
  return releasesOf(wish).flatMap(({ pipeline, changed, digest, since }) => {
    const given = valid.filter((a) => a.spec.digest === digest && !(madeAt(a) < since))
    const people = given.map(({ spec: { by, groups = [] } }) => ({ by, groups }))
    const reached = clusters.filter((c) => changed.has(c.metadata.name ?? ''))
    return pipelines
      .filter((p) => pipeline === undefined || p.metadata.name === pipeline)
      .flatMap(({ spec }) => spec.stages.filter((stage) => reached.some((c) => isInStage(stage, c))))
      .flatMap((stage) => gatesOf(stage).flatMap((gate) => gateApproval(stage.name, gate, people)))
  })
}

const gatesOf = ({ before = [], gates = [], after = [] }: Stage): readonly Gate[] => [...before, ...gates, ...after]

function gateApproval(stage: string, gate: Gate, people: readonly Approver[]): readonly NeededApproval[] {
  if (gate.approval === undefined) return []
  const { from, count } = gate.approval
  const missing = Math.max(0, count - new Set(approversOf(gate, people)).size)
  return [{ asker: `gate ${gate.name} of stage ${stage}`, from, count, missing }]
}

const madeAt = ({ metadata }: Approval): number => Date.parse(metadata.creationTimestamp ?? '')

const isPast = (until: string | undefined, now: number): boolean => until !== undefined && Date.parse(until) <= now

const onHub = (kind: ApiKind, targets: Targets): readonly unknown[] =>
  (targets.get(HUB_TARGET)?.objects ?? [])
    .filter(({ ref }) => ref.group === API_GROUP && ref.kind === kind.kind)
    .map(({ object }) => applyDefaults(kind.schema, object))

interface PlannedRelease {
  /** Undefined: which pipeline a track has is in no inventory. */
  readonly pipeline: string | undefined
  readonly changed: ReadonlySet<string>
  /** What an Approval of it names. */
  readonly digest: string | undefined
  /** Approvals from before do not count: they were for a rollout of the same content that other content has replaced. */
  readonly since: number
}

/** One for each track whose objects change. */
function releasesOf({ before, after, inventories }: ReleaseWish): readonly PlannedRelease[] {
  const sources = inventories.flatMap((i) => i.sources ?? [])
  if (sources.length === 0)
    return [{ pipeline: undefined, changed: changedIn(before, after), digest: undefined, since: ALWAYS }]
  return sources.flatMap(({ tracks, newest }: SourceRules) => {
    const [old, now] = [splitByTrack(before, tracks).tracks, splitByTrack(after, tracks).tracks]
    return tracks.flatMap(({ name, pipelineRef }) => {
      const [mine, earlier] = [now.get(name) ?? NO_TARGETS, old.get(name) ?? NO_TARGETS]
      const changed = changedIn(earlier, mine)
      if (changed.size === 0) return []
      const digest = targetsDigest({ spec: { digests: digestsOf(mine) } })
      const since = sinceWhen(
        digest,
        newest?.find((n) => n.track === name),
      )
      return [{ pipeline: pipelineRef.name, changed, digest, since }]
    })
  })
}

const ALWAYS = Number.NEGATIVE_INFINITY

function sinceWhen(digest: string, newest: NewestContent | undefined): number {
  const since = newest?.digest === digest ? newest.approvedSince : newest?.otherSince
  return since === undefined ? ALWAYS : Date.parse(since)
}

const NO_TARGETS: Targets = new Map()

const digestsOf = (targets: Targets): Release['spec']['digests'] =>
  Object.fromEntries([...targets].filter(([name]) => name !== HUB_TARGET).map(([name, t]) => [name, targetDigest(t)]))

const changedIn = (before: Targets, after: Targets): ReadonlySet<string> => {
  const [old, now] = [digestsOf(before), digestsOf(after)]
  return new Set([...Object.keys(old), ...Object.keys(now)].filter((name) => old[name] !== now[name]))
}

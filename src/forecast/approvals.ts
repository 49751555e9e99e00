// Approvals that a commit needs before it is rolled out everywhere, and how many are missing: those of Defender policies for each batch, and those of stages
// for the release. Pure.
import type { Approval } from '#api/kinds/approval.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { type Cluster, cluster as clusterKind } from '#api/kinds/cluster.ts'
import type { ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import { HUB_TARGET } from '#api/names.ts'
import { stagePart } from '#api/protocol/part.ts'
import { createdMs, namespacedName } from '#api/schema/object-meta.ts'
import { declaredOnHub } from '#delivery/declared-on-hub.ts'
import type { Targets } from '#delivery/desired.ts'
import { takesMachines } from '#delivery/machine-loss.ts'
import { approvalNeed } from '#defender/approvals.ts'
import { compilePolicy } from '#defender/compile-policy.ts'
import type { Unit } from '#defender/unit.ts'
import { type Approver, type Gate, type Stage, approversOf } from '#sync/release/gates.ts'
import { deletionRisk, moveRisk, type Risk, riskGate, risksOf } from '#sync/release/risk.ts'
import { LEAVING, splitByTrack, targetDigest, targetsDigest } from '#sync/release/tracks.ts'
import { memberOf } from '#sync/release/members.ts'
import { withTurns } from '#sync/release/turns.ts'
import type { Inventory, NewestContent, SourceRules } from './inventory.ts'
import { bindingHub, isInStage, isMember } from './stage-members.ts'

export interface NeededApproval {
  /** A Defender policy, or a gate. */
  readonly asker: string
  readonly from: readonly string[]
  /** Per batch, or for the release. */
  readonly count: number
  /** If left out: the release needs them once. */
  readonly batches?: number
  /** Across all batches. */
  readonly missing: number
}

export interface PermitsSeen {
  readonly permits: readonly OperationPermit[]
  readonly policies: readonly DefenderPolicy[]
  readonly approvals: readonly Approval[]
  readonly unitOf: (uid: string) => Unit | undefined
  readonly now: number
}

/** Each batch is one permit and needs its own approval. Approvals for batches in progress count. */
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

export interface ReleaseChange {
  readonly before: Targets
  readonly after: Targets
  readonly inventories: readonly Inventory[]
  readonly now: number
}

/** Uses the pipelines and cluster stages from before the commit: a commit cannot drop its own gates. */
export function releaseApprovals(request: ReleaseChange): readonly NeededApproval[] {
  const { before, after, inventories, now } = request
  const { pipelines, clusters } = bindingHub(before, after)
  const wanted = new Map(declaredOnHub(clusterKind, after).map((c) => [namespacedName(c), c]))
  const valid = inventories.flatMap((i) => i.approvals).filter(({ spec: { until } }) => !isPast(until, now))
  return releasesOf(request, pipelines).flatMap(({ pipelines: mine, changed, digest, since }) => {
    const given = valid.filter((a) => a.spec.digest === digest && !(createdMs(a) < since))
    const people = given.map(({ spec: { by, groups = [] } }) => ({ by, groups }))
    const reached = clusters.filter(({ metadata: { name = '' } }) => changed.has(name))
    const isReached = (stage: Stage) =>
      stage.clusters.hub === true ? changed.has(HUB_TARGET) : reached.some((c) => isInStage(stage, c))
    const stages = mine.flatMap(({ spec }) => spec.stages)
    const allRisks = (stage: Stage) =>
      reached
        .filter((c) => isInStage(stage, c))
        .flatMap((c) => risksIn(c, wanted.get(namespacedName(c)), stages, inventories))
    return mine
      .flatMap(({ spec }) => spec.stages.filter(isReached))
      .flatMap((stage) =>
        [...gatesOf(stage), riskGate(stage, allRisks(stage)) ?? []]
          .flat()
          .flatMap((gate) => gateApproval(stage.name, gate, people)),
      )
  })
}

/** A stage asks for an Approval of them, unless the pipeline says otherwise. */
function risksIn(
  old: Cluster,
  wanted: Cluster | undefined,
  stages: readonly Stage[],
  inventories: readonly Inventory[],
): readonly Risk[] {
  const { namespace = '', name = '' } = old.metadata
  const live = inventories.flatMap((i) => i.planes ?? []).find((p) => p.name === name && p.namespace === namespace)
  const machines = live?.machines
  if (wanted === undefined)
    return [deletionRisk(name, takesMachines(old.spec) ? (machines ?? 'Unknown') : 0)].flatMap((risk) => risk ?? [])
  const move = moveRisk(name, { stages, from: memberOf(old), to: memberOf(wanted), machines })
  return [...risksOf(name, wanted.spec, { spec: old.spec, machines }), ...(move === undefined ? [] : [move])]
}

const gatesOf = ({ before = [], gates = [], after = [] }: Stage): readonly Gate[] => [...before, ...gates, ...after]

function gateApproval(stage: string, gate: Gate, people: readonly Approver[]): readonly NeededApproval[] {
  if (gate.approval === undefined) return []
  const { from, count } = gate.approval
  const missing = Math.max(0, count - new Set(approversOf(gate, people)).size)
  return [{ asker: `gate ${gate.name} of ${stagePart(stage)}`, from, count, missing }]
}

const isPast = (until: string | undefined, now: number): boolean => until !== undefined && Date.parse(until) <= now

interface PlannedRelease {
  /** All pipelines if no inventory shows which one a track uses. */
  readonly pipelines: readonly ReleasePipeline[]
  readonly changed: ReadonlySet<string>
  /** The digest that an Approval must name. */
  readonly digest: string | undefined
  /** Earlier approvals do not count: they were for the same content before other content replaced it. */
  readonly since: number
}

/** One per track with changed objects. */
function releasesOf(
  { before, after, inventories }: ReleaseChange,
  pipelines: readonly ReleasePipeline[],
): readonly PlannedRelease[] {
  const sources = inventories.flatMap((i) => i.sources ?? [])
  if (sources.length === 0)
    return [
      {
        pipelines,
        changed: changedIn(...inTurns(before, after, after), isHubStaged(pipelines)),
        digest: undefined,
        since: ALWAYS,
      },
    ]
  return sources.flatMap(({ source, tracks, newest }: SourceRules) => {
    const [old, now] = [splitByTrack(before, tracks).tracks, splitByTrack(after, tracks).tracks]
    return tracks.flatMap(({ name, pipelineRef }) => {
      const [namespace] = source.split('/')
      const [earlier, mine] = inTurns(old.get(name) ?? NO_TARGETS, now.get(name) ?? NO_TARGETS, after, namespace)
      const ofTrack = pipelines.filter((p) => p.metadata.name === pipelineRef.name)
      const isStaged = isHubStaged(ofTrack)
      const changed = changedIn(earlier, mine, isStaged)
      if (changed.size === 0) return []
      const digest = targetsDigest({ spec: { digests: digestsOf(mine, isStaged) } })
      const since = sinceWhen(
        digest,
        newest?.find((n) => n.track === name),
      )
      return [{ pipelines: ofTrack, changed, digest, since }]
    })
  })
}

/** Then the hub's objects are part of the Release and of its approved digest. */
const isHubStaged = (pipelines: readonly ReleasePipeline[]): boolean =>
  pipelines.some(({ spec }) => spec.stages.some(({ clusters }) => clusters.hub === true))

const ALWAYS = Number.NEGATIVE_INFINITY

function sinceWhen(digest: string, newest: NewestContent | undefined): number {
  const since = newest?.digest === digest ? newest.approvedSince : newest?.otherSince
  return since === undefined ? ALWAYS : Date.parse(since)
}

const NO_TARGETS: Targets = new Map()

/** The targets of a track before and after the commit, with each Cluster added to its own cluster's content. `all`: what the commit declares in all tracks. */
function inTurns(
  before: Targets,
  after: Targets,
  all: Targets,
  namespace?: string,
): readonly [before: Targets, after: Targets] {
  const old = withTurns(before, { namespace, had: () => false })
  const own = declaredOnHub(clusterKind, before).flatMap(({ metadata: { name = '' } }) => name)
  const leaving = own.filter((name) => old.has(name) && !isMember(name, all))
  const mine = new Map(withTurns(after, { namespace, had: (cluster) => old.has(cluster) }))
  for (const name of leaving) mine.set(name, LEAVING)
  return [old, mine]
}

const digestsOf = (targets: Targets, isStaged: boolean): Release['spec']['digests'] =>
  Object.fromEntries(
    [...targets].filter(([name]) => name !== HUB_TARGET || isStaged).map(([name, t]) => [name, targetDigest(t)]),
  )

const changedIn = (before: Targets, after: Targets, isStaged: boolean): ReadonlySet<string> => {
  const [old, now] = [digestsOf(before, isStaged), digestsOf(after, isStaged)]
  return new Set([...Object.keys(old), ...Object.keys(now)].filter((name) => old[name] !== now[name]))
}

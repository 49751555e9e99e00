// Runs one Release through its pipeline: reads the clusters that matter now, lets the plan decide, and records progress before it continues.
import { MAX_RECORDED_APPROVERS, type Release } from '#api/kinds/release.ts'
import { keyFrom, namespacedName } from '#api/schema/object-meta.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import { doneOrAfter, done, requeueAfter, type Outcome } from '#runtime/outcome.ts'
import type { BrakeBook } from '../brake/book.ts'
import { turnWait } from '../brake/turns.ts'
import type { ApplyReport } from '../cluster/apply.ts'
import { reachedBefore } from '../release/chain.ts'
import { customFindings } from '../release/custom-gates.ts'
import { LIFT } from '../release/cluster-trouble.ts'
import { type Braked, isOver, isRetried, type ReleaseSeen } from '../release/release-seen.ts'
import { releaseApprovers } from '../release/release-approvers.ts'
import { planRelease } from '../release/stages.ts'
import { returnsOf, revertedBefore } from '../revert/known-bad.ts'
import { isReverted } from '../revert/policy.ts'
import { approvingUsers } from './approvals.ts'
import { GateReads } from './gate-reads.ts'
import { promotionsOf, retriesOf } from './holds.ts'
import { exemptionsOf, holdsOf } from './exempt-revert.ts'
import type { InForce } from './pipeline-before.ts'
import { ClusterPasses, seenCluster } from './release-apply.ts'
import { rendering } from './release-rendering.ts'
import { conditionsOf, notRendered, recordEvents, report, stalled } from './release-report.ts'
import { chainNow, newerThan, ofClustersNow, type Work } from './release-work.ts'
import { revertFailed } from './revert.ts'
import type { HubShared } from './shared.ts'

/** Requeue delay of a Release that waits for a missing object. */
const MISSING_MS = 10_000

/** The loop's dependencies: the shared ones, and its own memory. */
export interface ReleaseLoop extends HubShared {
  readonly passes: ClusterPasses
  /** What gates query from other systems and clusters. */
  readonly gateReads: GateReads
}

/** `wake` is called with the key of a Release that has new readings. */
export const releaseLoop = (shared: HubShared, wake: (key: string) => void): ReleaseLoop => ({
  ...shared,
  passes: new ClusterPasses(shared),
  gateReads: new GateReads(shared.context, wake),
})

export async function reconcileRelease(loop: ReleaseLoop, key: string, context: ReconcileContext): Promise<Outcome> {
  const written = loop.releases.get(keyFrom(key))
  if (written === undefined || written.metadata.deletionTimestamp !== undefined) {
    loop.passes.forget(key)
    return done
  }
  const release = ofClustersNow(loop.clusters, written)
  const { namespace } = release.metadata
  const { source: sourceName, pipeline: pipelineName } = release.spec
  const source = loop.sources.get({ namespace, name: sourceName })
  const live = loop.pipelines.get({ namespace, name: pipelineName })
  if (isOver(release)) {
    forget(loop, release)
    loop.passes.forget(key)
    return done
  }
  if (source === undefined || live === undefined) {
    const missing = source === undefined ? `FleetSource ${sourceName}` : `ReleasePipeline ${pipelineName}`
    await report(
      loop,
      release,
      { ...release.status },
      [stalled('ReferenceMissing', `${missing} not found`)],
      context.signal,
    )
    return requeueAfter(MISSING_MS)
  }
  const work: Work = { release, source, pipeline: live, signal: context.signal }
  const isNewest = newerThan(loop, release) === undefined
  const inForce: InForce = isNewest ? await loop.pipelinesBefore.inForce(source, release, live) : live
  if ('spec' in inForce) {
    return advance(loop, { ...work, pipeline: { spec: inForce.spec } }, context)
  }
  await report(loop, release, { ...release.status }, notRendered(inForce.reason, inForce.problem), context.signal)
  return requeueAfter(MISSING_MS)
}

/** Forgets what is only needed while the Release is open. */
function forget({ gateReads, pipelinesBefore }: ReleaseLoop, { metadata: { uid = '' } }: Release): void {
  gateReads.forget(uid)
  pipelinesBefore.forget(uid)
}

async function advance(loop: ReleaseLoop, work: Work, { log }: ReconcileContext): Promise<Outcome> {
  const { release, source, pipeline, signal } = work
  const { clock, events } = loop.context
  const rendered = newerThan(loop, release) === undefined ? await rendering(loop, work) : undefined
  if (rendered !== undefined && 'problem' in rendered) {
    await report(loop, release, { ...release.status }, notRendered(rendered.reason, rendered.problem), signal)
    return requeueAfter(MISSING_MS)
  }
  const asked = loop.gateReads.read(release, namespacedName(release), pipeline, (name, signal) =>
    loop.passes.connectTo(work, name, signal),
  )
  const isStill =
    isReverted(release.status ?? {}) &&
    !isRetried({ release, retries: retriesOf(loop.holds.list(), release, clock.now()) })
  const exempt = await exemptionsOf(loop.pipelinesBefore, work, chainNow(loop, release))
  const returns = returnsOf(chainNow(loop, release), release)
  const budgetExempt = exempt.has('Budgets') ? returns : new Set<string>()
  const isHeld = holdsOf(loop.holds.list(), work, clock.now(), exempt, returns).paused !== undefined
  const reports =
    rendered === undefined || isStill
      ? new Map<string, ApplyReport>()
      : await loop.passes.applyToOpen({ ...work, budgetExempt, isHeld }, rendered)
  // Uses the current chain: reading the clusters took a while.
  const before = chainNow(loop, release)
  const clusters = new Map(
    Object.entries(release.spec.digests).map(([name, digest]) => [
      name,
      seenCluster(loop.clusters, work, before, {
        name,
        digest,
        reports,
        returns,
        target: rendered?.targets.get(name),
        declared: rendered?.clusters.get(name),
      }),
    ]),
  )
  const now = clock.now()
  const rules = await customFindings({ release, pipeline: pipeline.spec, clusters, surveys: asked.surveys, now })
  // A newer Release may exist by now: then this one must draw no conclusions.
  const newer = newerThan(loop, release)
  const chain = chainNow(loop, release)
  const holds = holdsOf(loop.holds.list(), work, now, exempt, returns)
  const { paused } = holds
  const plan = planRelease(
    {
      release,
      pipeline: pipeline.spec,
      clusters,
      newer,
      paused,
      exempt,
      revertedBy: revertedBy(chain, release),
      revertedBefore: revertedBefore(chain, release),
      reached: reachedBefore(chain, release),
      sight: {
        approvedBy: releaseApprovers({ approvals: loop.approvals.list(), chain, release }, now),
        ...asked,
        rules,
      },
      retries: retriesOf(loop.holds.list(), release, now),
      promotions: promotionsOf(loop.holds.list(), release, now),
      braked: (cluster) => brakedBy(loop.brake, release, cluster),
      deletions: deletionsIn(reports, approvingUsers(loop.approvals.list(), now)),
    },
    now,
  )
  for (const [cluster, report] of reports) recordEvents(events, release, cluster, report)
  if (plan.status.phase !== release.status?.phase)
    log.info('release', { phase: plan.status.phase, reason: plan.status.waitingFor?.predicate ?? 'Progressing' })
  const status =
    newer === undefined
      ? await revertFailed(loop, { release, source, chain, isPaused: paused !== undefined, signal }, plan.status)
      : plan.status
  if (status.revertCommit !== release.status?.revertCommit)
    log.info('release', { phase: status.phase, reason: 'Reverted', commit: status.revertCommit })
  await report(loop, release, status, conditionsOf({ ...plan, status }, { newer, ...holds }), signal)
  // Apply objects immediately after they were recorded as begun.
  const hasBegun = (plan.status.clusters ?? []).some(
    (c) => c.phase === 'Applying' && phaseOf(release, c.name) !== 'Applying',
  )
  return hasBegun || loop.passes.hasLeft(namespacedName(release)) ? requeueAfter(0) : doneOrAfter(plan.requeueAfter)
}

/** The commit's content is stopped, or the fleet is at its limit of changing clusters. */
function brakedBy(brake: BrakeBook, { metadata, spec }: Release, cluster: string): Braked | undefined {
  const stop = brake.stopOf(spec.commit)
  if (stop !== undefined)
    return { predicate: 'FleetStopped', seen: `${stop.name} ${stop.version} ${stop.seen}`, unblock: LIFT }
  if (brake.mayBegin(`${metadata.namespace ?? ''}/${cluster}`)) return undefined
  return { predicate: 'FleetBudget', ...turnWait(brake.spec?.turns?.length ?? 0, brake.limits.maxChanging ?? 0) }
}

function deletionsIn(
  reports: ReadonlyMap<string, ApplyReport>,
  approved: ReadonlyMap<string, ReadonlySet<string>>,
): NonNullable<ReleaseSeen['deletions']> {
  return new Map(
    [...reports].flatMap(([name, { plan }]) => {
      if (plan?.approved === undefined) return []
      const { digest, count } = plan.approved
      const approvedBy = [...(approved.get(digest) ?? [])].toSorted().slice(0, MAX_RECORDED_APPROVERS)
      return [[name, { digest, count, approvedBy }] as const]
    }),
  )
}

/** The commit of the newest Release, if it reverts this one. */
function revertedBy(chain: readonly Release[], { spec, metadata }: Release): string | undefined {
  const newest = chain.at(-1)
  return newest?.spec.revertOf === spec.commit && newest.metadata.name !== metadata.name
    ? newest.spec.commit
    : undefined
}

const phaseOf = ({ status }: Release, cluster: string) => status?.clusters?.find((c) => c.name === cluster)?.phase

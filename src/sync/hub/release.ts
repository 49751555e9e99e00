// Runs one Release through its pipeline: reads the clusters that matter now, lets the plan decide, and records its progress before it continues.
import { MAX_RECORDED_APPROVERS, type Release } from '#api/kinds/release.ts'
import { parseDuration } from '#lib/duration.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import { doneOrAfter, done, requeueAfter, type Outcome } from '#runtime/outcome.ts'
import type { ApplyReport } from '../cluster/apply.ts'
import { customFindings } from '../release/custom-gates.ts'
import { isOver, isRetried, type ReleaseSeen } from '../release/release-seen.ts'
import { releaseApprovers } from '../release/release-approvers.ts'
import { planRelease } from '../release/stages.ts'
import { returnsOf, revertedBefore } from '../revert/known-bad.ts'
import { isReverted } from '../revert/policy.ts'
import { approvingUsers, promotionsOf, retriesOf, type HubParts } from './parts.ts'
import { keyOf, keyParts } from './keys.ts'
import { exemptionsOf, holdsOf, isHeldNow } from './exempt-revert.ts'
import { type InForce, pipelineInForce } from './pipeline-before.ts'
import { connectTo, applyToOpen, applyToEach, seenCluster } from './release-apply.ts'
import { type Rendering, rendering } from './release-rendering.ts'
import { conditionsOf, report, stalled, tell } from './release-report.ts'
import { chainNow, ofClustersNow, type Work } from './release-work.ts'
import { revertFailed } from './revert.ts'

/** A Release that cannot continue because another object is missing. */
const MISSING_MS = 10_000
/** How often the clusters of a finished Release are compared with it. */
const DRIFT_MS = 60_000

export async function reconcileRelease(parts: HubParts, key: string, context: ReconcileContext): Promise<Outcome> {
  const written = parts.releases.get(keyParts(key))
  if (written === undefined || written.metadata.deletionTimestamp !== undefined) {
    parts.passLeft.delete(key)
    return done
  }
  const release = ofClustersNow(parts, written)
  const { namespace } = release.metadata
  const { source: sourceName, pipeline: pipelineName } = release.spec
  const source = parts.sources.get({ namespace, name: sourceName })
  const live = parts.pipelines.get({ namespace, name: pipelineName })
  const isNewest = newerThan(parts, release) === undefined
  if (isOver(release) && !(isNewest && release.status?.phase === 'Succeeded')) {
    forget(parts, release)
    parts.passLeft.delete(key)
    return done
  }
  if (source === undefined || live === undefined) {
    const missing = source === undefined ? `FleetSource ${sourceName}` : `ReleasePipeline ${pipelineName}`
    await report(
      parts,
      release,
      { ...release.status },
      [stalled('ReferenceMissing', `${missing} not found`)],
      context.signal,
    )
    return requeueAfter(MISSING_MS)
  }
  const work: Work = { parts, release, source, pipeline: live, signal: context.signal }
  if (isOver(release)) {
    forget(parts, release)
    return keepFromDrifting(work)
  }
  const inForce: InForce = isNewest ? await pipelineInForce(parts, source, release, live) : live
  if ('spec' in inForce) {
    const { spec, labelsBefore = new Map() } = inForce
    return advance({ ...work, pipeline: { spec }, labelsBefore }, context)
  }
  await report(parts, release, { ...release.status }, [stalled('RenderFailed', inForce.problem)], context.signal)
  return requeueAfter(MISSING_MS)
}

/** What is only needed while it is open. */
function forget(parts: HubParts, { metadata: { uid = '' } }: Release): void {
  parts.gateReads.forget(uid)
  parts.pipelinesBefore.delete(uid)
  parts.driftLooks.delete(uid)
}

/** The name of the Release that supersedes this one. */
function newerThan(parts: HubParts, release: Release): string | undefined {
  const newest = chainNow(parts, release).at(-1)?.metadata.name
  return newest === undefined || newest === release.metadata.name ? undefined : newest
}

async function advance(work: Work, { log }: ReconcileContext): Promise<Outcome> {
  const { parts, release, source, pipeline, signal } = work
  const { clock } = parts.context
  const rendered = newerThan(parts, release) === undefined ? await rendering(work) : undefined
  if (rendered !== undefined && 'problem' in rendered) {
    await report(parts, release, { ...release.status }, [stalled('RenderFailed', rendered.problem)], signal)
    return requeueAfter(MISSING_MS)
  }
  const asked = parts.gateReads.read(release, keyOf(release), pipeline, (name, signal) => connectTo(work, name, signal))
  const isStill =
    isReverted(release.status ?? {}) && !isRetried({ release, retries: retriesOf(parts, release, clock.now()) })
  const exempt = await exemptionsOf(work, chainNow(parts, release))
  const returns = returnsOf(chainNow(parts, release), release)
  const budgetExempt = exempt.has('Budgets') ? returns : new Set<string>()
  const isHeld = holdsOf(work, clock.now(), exempt, returns).paused !== undefined
  const looks =
    rendered === undefined || isStill
      ? new Map<string, ApplyReport>()
      : await applyToOpen({ ...work, budgetExempt, isHeld }, rendered)
  // As it is by now: reading the clusters took a while.
  const before = chainNow(parts, release)
  const clusters = new Map(
    Object.entries(release.spec.digests).map(([name, digest]) => [
      name,
      seenCluster(work, before, { name, digest, looks, returns }),
    ]),
  )
  const now = clock.now()
  const rules = await customFindings({ release, pipeline: pipeline.spec, clusters, surveys: asked.surveys, now })
  // A newer one may exist by now: then this one must draw no conclusions.
  const newer = newerThan(parts, release)
  const chain = chainNow(parts, release)
  const holds = holdsOf(work, now, exempt, returns)
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
      sight: {
        approvedBy: releaseApprovers({ approvals: parts.approvals.list(), chain, release }, now),
        ...asked,
        rules,
      },
      retries: retriesOf(parts, release, now),
      promotions: promotionsOf(parts, release, now),
      deletions: deletionsIn(looks, approvingUsers(parts, now)),
    },
    now,
  )
  for (const [cluster, report] of looks) tell(parts, release, cluster, report)
  if (plan.status.phase !== release.status?.phase)
    log.info('release', { phase: plan.status.phase, reason: plan.status.waitingFor?.predicate ?? 'Progressing' })
  const status =
    newer === undefined
      ? await revertFailed({ parts, release, source, chain, isPaused: paused !== undefined, signal }, plan.status)
      : plan.status
  if (status.revertCommit !== release.status?.revertCommit)
    log.info('release', { phase: status.phase, reason: 'Reverted', commit: status.revertCommit })
  await report(parts, release, status, conditionsOf({ ...plan, status }, { newer, ...holds }), signal)
  if (newer === undefined && rendered !== undefined && status.phase === 'Succeeded')
    await keepSettledFromDrifting({ ...work, release: { ...release, status } }, rendered)
  // Objects just recorded as begun are applied at once.
  const hasBegun = (plan.status.clusters ?? []).some(
    (c) => c.phase === 'Applying' && phaseOf(release, c.name) !== 'Applying',
  )
  return hasBegun || parts.passLeft.has(keyOf(release)) ? requeueAfter(0) : doneOrAfter(plan.requeueAfter)
}

function deletionsIn(
  looks: ReadonlyMap<string, ApplyReport>,
  approved: ReadonlyMap<string, ReadonlySet<string>>,
): NonNullable<ReleaseSeen['deletions']> {
  return new Map(
    [...looks].flatMap(([name, { plan }]) => {
      if (plan?.approved === undefined) return []
      const { digest, count } = plan.approved
      const approvedBy = [...(approved.get(digest) ?? [])].toSorted().slice(0, MAX_RECORDED_APPROVERS)
      return [[name, { digest, count, approvedBy }] as const]
    }),
  )
}

/** The commit of the newest Release, if that reverts this one. */
function revertedBy(chain: readonly Release[], { spec, metadata }: Release): string | undefined {
  const newest = chain.at(-1)
  return newest?.spec.revertOf === spec.commit && newest.metadata.name !== metadata.name
    ? newest.spec.commit
    : undefined
}

const phaseOf = ({ status }: Release, cluster: string) => status?.clusters?.find((c) => c.name === cluster)?.phase

/** Reverts, or reports, changes by other clients in the clusters of the newest Release after it is done. */
async function keepFromDrifting(work: Work): Promise<Outcome> {
  const { parts, release, source } = work
  const everyMs = driftEveryMs(source)
  if (source.spec.drift === 'Off') return done
  const finished = Date.parse(release.status?.finishedAt ?? '')
  if (parts.context.clock.now() - finished < everyMs) return requeueAfter(everyMs)
  const rendered = await rendering(work)
  if ('problem' in rendered) return requeueAfter(everyMs)
  await compareSettled(work, rendered)
  return requeueAfter(parts.passLeft.has(keyOf(release)) ? 0 : everyMs)
}

/** One cluster that is offline for weeks, or has no stage, does not leave the others unprotected. */
async function keepSettledFromDrifting(work: Work, rendered: Rendering): Promise<void> {
  const { parts, release, source } = work
  const { uid = '' } = release.metadata
  const now = parts.context.clock.now()
  const last = parts.driftLooks.get(uid) ?? Date.parse(release.status?.finishedAt ?? '')
  if (source.spec.drift === 'Off' || isOver(release) || now - last < driftEveryMs(source)) return
  parts.driftLooks.set(uid, now)
  await compareSettled(work, rendered)
}

/** Also those to which it brought nothing new: it is the newest of the track, and so the only one that protects them. */
const SETTLED: ReadonlySet<string> = new Set(['Healthy', 'Unchanged'])

async function compareSettled(work: Work, rendered: Rendering): Promise<void> {
  const { parts, release } = work
  const settled = (release.status?.clusters ?? []).filter((c) => SETTLED.has(c.phase)).map((c) => c.name)
  const held: Work = { ...work, isHeld: isHeldNow(work) }
  for (const [name, report] of await applyToEach(held, settled, rendered, true)) tell(parts, release, name, report)
}

const driftEveryMs = ({ spec }: Work['source']): number => Math.max(DRIFT_MS, parseDuration(spec.interval))

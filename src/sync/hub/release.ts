// Runs one Release through its pipeline: reads the clusters that matter now, lets the plan decide, and records its progress before it continues.
import { inParallel } from '#lib/pool.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import { release as releaseKind, type Release, type ReleaseStatus } from '#api/kinds/release.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { parseDuration } from '#lib/duration.ts'
import { isKubeNodeError, messageOf, numbered } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { writeStatus, writtenOrThrow } from '#runtime/write-status.ts'
import { setConditions, type WantedCondition } from '#kube/conditions.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import { doneOrAfter, done, requeueAfter, type Outcome } from '#runtime/outcome.ts'
import { unreachableReason } from '../cluster/unreachable.ts'
import { lookAtCluster, type LookReport } from '../cluster/look.ts'
import { refText } from '#delivery/object-ref.ts'
import { chainOf, previousOf } from '../release/chain.ts'
import { pruneText, type SeenCluster } from '../release/cluster-phase.ts'
import { historyOf } from '../release/history.ts'
import { clustersToLookAt, isOver, isRetried, planRelease, type ReleasePlan } from '../release/stages.ts'
import { declaredRefs, splitByTrack, targetDigest, targetFor } from '../release/tracks.ts'
import type { RenderedTarget, Targets } from '#delivery/desired.ts'
import { returnsOf, revertedBefore } from '../revert/known-bad.ts'
import { type Exemption, isReverted } from '../revert/policy.ts'
import { type InForce, pipelineInForce, revertPolicyBefore } from './pipeline-before.ts'
import { revertFailed } from './revert.ts'
import { HUB } from './source/seen.ts'
import { standingProblem, withinScope } from '../sources/scope.ts'
import {
  actingUser,
  approvedDigests,
  clusterConfig,
  keyOf,
  keyParts,
  pausedBy,
  releasesIn,
  promotionsOf,
  retriesOf,
  type HubParts,
} from './parts.ts'

interface Work {
  readonly parts: HubParts
  readonly release: Release
  readonly source: FleetSource
  /** As it is in force for the Release. */
  readonly pipeline: Pick<ReleasePipeline, 'spec'>
  readonly signal: AbortSignal
}

/** Clusters processed in parallel for one Release. */
const PARALLEL_LOOKS = 8
/** A Release that cannot continue because another object is missing. */
const MISSING_MS = 10_000
/** How often the clusters of a finished Release are compared with it. */
const DRIFT_MS = 60_000

export async function reconcileRelease(parts: HubParts, key: string, context: ReconcileContext): Promise<Outcome> {
  const release = parts.releases.get(keyParts(key))
  if (release === undefined || release.metadata.deletionTimestamp !== undefined) return done
  const { namespace } = release.metadata
  const { source: sourceName, pipeline: pipelineName } = release.spec
  const source = parts.sources.get({ namespace, name: sourceName })
  const live = parts.pipelines.get({ namespace, name: pipelineName })
  const isNewest = newerThan(parts, release) === undefined
  if (isOver(release) && !(isNewest && release.status?.phase === 'Succeeded')) {
    forget(parts, release)
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
  if ('spec' in inForce) return advance({ ...work, pipeline: inForce }, context)
  await report(parts, release, { ...release.status }, [stalled('RenderFailed', inForce.problem)], context.signal)
  return requeueAfter(MISSING_MS)
}

/** What is only needed while it is open. */
function forget(parts: HubParts, { metadata: { uid = '' } }: Release): void {
  parts.gateReads.forget(uid)
  parts.pipelinesBefore.delete(uid)
}

/** The Releases of its track as last written. Read when needed: while a cluster is being read, others proceed. */
const chainNow = (parts: HubParts, { metadata, spec }: Release): readonly Release[] =>
  chainOf(releasesIn(parts, metadata.namespace), spec)

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
  const looks = rendered === undefined || isStill ? new Map<string, LookReport>() : await lookAround(work, rendered)
  const now = clock.now()
  // A newer one may exist by now: then this one must draw no conclusions.
  const newer = newerThan(parts, release)
  const chain = chainNow(parts, release)
  const exempt = await exemptionsOf(work, chain)
  const returns = returnsOf(chain, release)
  const paused = pauseOf(work, now, exempt, returns)
  const plan = planRelease(
    {
      release,
      pipeline: pipeline.spec,
      clusters: new Map(
        Object.entries(release.spec.digests).map(([name, digest]) => [
          name,
          seenCluster(work, { name, digest, looks, returns }),
        ]),
      ),
      newer,
      paused,
      exempt,
      revertedBy: revertedBy(chain, release),
      revertedBefore: revertedBefore(chain, release),
      sight: { approvedBy: approvedDigests(parts, now).get(targetsDigest(release)) ?? [], ...asked },
      retries: retriesOf(parts, release, now),
      promotions: promotionsOf(parts, release, now),
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
  await report(parts, release, status, conditionsOf({ ...plan, status }, newer), signal)
  // Objects just recorded as begun are applied at once.
  const hasBegun = (plan.status.clusters ?? []).some(
    (c) => c.phase === 'Applying' && phaseOf(release, c.name) !== 'Applying',
  )
  return hasBegun ? requeueAfter(0) : doneOrAfter(plan.requeueAfter)
}

/** The commit of the newest Release, if that reverts this one. */
function revertedBy(chain: readonly Release[], { spec, metadata }: Release): string | undefined {
  const newest = chain.at(-1)
  return newest?.spec.revertOf === spec.commit && newest.metadata.name !== metadata.name
    ? newest.spec.commit
    : undefined
}

/** By the pipeline as it was before the commit that is reverted: neither that one nor the revert exempts itself. */
async function exemptionsOf(
  { parts, release, source }: Work,
  chain: readonly Release[],
): Promise<ReadonlySet<Exemption>> {
  const { revertOf } = release.spec
  const reverted = revertOf === undefined ? undefined : chain.findLast((r) => r.spec.commit === revertOf)
  const policy = reverted === undefined ? undefined : await revertPolicyBefore(parts, source, reverted)
  return policy?.exempt ?? new Set()
}

/** A Pause hold does not stop a revert that is exempt from holds, where it brings back only what was healthy. A freeze does. */
function pauseOf(
  { parts, release, source }: Work,
  now: number,
  exempt: ReadonlySet<Exemption>,
  returns: ReadonlySet<string>,
): string | undefined {
  const isExempt = exempt.has('Holds') && Object.keys(release.spec.digests).every((name) => returns.has(name))
  const effects = isExempt ? (['Freeze'] as const) : undefined
  return pausedBy(parts, release, now, effects) ?? pausedBy(parts, source, now, effects)
}

const phaseOf = ({ status }: Release, cluster: string) => status?.clusters?.find((c) => c.name === cluster)?.phase

/** The content that an Approval of a Release covers: everything it would apply. */
export const targetsDigest = ({ spec }: Pick<Release, 'spec'>): string =>
  targetDigest({
    objects: Object.entries(spec.digests).map(([name, digest]) => ({
      ref: { group: '', kind: 'Cluster', namespace: '', name },
      digest,
      object: { apiVersion: '', kind: '', metadata: {} },
    })),
    rejected: [],
  })

interface Rendering {
  readonly targets: Targets
  /** By target: the source's declarations in other tracks. */
  readonly elsewhere: (target: string) => ReadonlySet<string>
  /** Its declarations for the hub, which may be one of the clusters. */
  readonly onHub: ReadonlySet<string>
}

/** The commit is rendered again after a restart; the result must equal what the Release was made for. */
async function rendering({ parts, release, source }: Work): Promise<Rendering | { readonly problem: string }> {
  try {
    const { targets } = await parts.renders.render(source, release.spec.commit)
    const standing = standingProblem(source, parts.sources.list())
    if (standing !== undefined) return { problem: numbered(standing) }
    const { tracks } = splitByTrack(withinScope(targets, source), source.spec.tracks)
    // A track that the source no longer has declares nothing; a Release of it that deletes everything is still carried out.
    const own = tracks.get(release.spec.track) ?? new Map<string, RenderedTarget>()
    const wanted = new Map<string, RenderedTarget>()
    for (const [name, digest] of Object.entries(release.spec.digests)) {
      const target = targetFor(own, name, digest)
      if (target === undefined)
        return {
          problem: tracks.has(release.spec.track)
            ? `commit ${release.spec.commit.slice(0, 12)} now renders different objects for ${name} than when the Release was created`
            : `the source no longer has track ${release.spec.track}`,
        }
      wanted.set(name, target)
    }
    const others = [...tracks].filter(([name]) => name !== release.spec.track)
    const elsewhere = (target: string) =>
      new Set(others.flatMap(([, t]) => (t.get(target)?.objects ?? []).map((o) => refText(o.ref))))
    return { targets: wanted, elsewhere, onHub: declaredRefs(tracks, HUB) }
  } catch (error) {
    if (!isKubeNodeError(error)) throw error
    return { problem: printableLine(messageOf(error)) }
  }
}

async function connectTo({ parts, release, source }: Work, name: string, signal: AbortSignal) {
  const cluster = parts.clusters.get({ namespace: release.metadata.namespace, name })
  if (cluster === undefined) throw new Error(`Cluster ${name} not found on the hub`)
  return parts.connections.to(cluster, actingUser(source), signal)
}

async function lookAround(work: Work, rendered: Rendering): Promise<ReadonlyMap<string, LookReport>> {
  const looks = new Map<string, LookReport>()
  await inParallel(clustersToLookAt(work.release), PARALLEL_LOOKS, async (name) => {
    const report = await lookAt(work, name, rendered)
    if (report !== undefined) looks.set(name, report)
  })
  return looks
}

async function lookAt(
  { parts, release, source, pipeline, signal }: Work,
  name: string,
  rendered: Rendering,
): Promise<LookReport | undefined> {
  const { clock } = parts.context
  const { namespace } = release.metadata
  const target = rendered.targets.get(name)
  const cluster = parts.clusters.get({ namespace, name })
  if (target === undefined) return undefined
  if (cluster === undefined)
    return {
      look: { kind: 'Unreachable', because: 'ReferenceMissing', message: `Cluster ${name} not found on the hub` },
    }
  const { track, commit } = release.spec
  const gates = pipeline.spec.stages.flatMap((s) => [...(s.gates ?? []), ...(s.after ?? [])])
  const config = clusterConfig(source, commit)
  try {
    const connection = await parts.connections.to(cluster, actingUser(source), signal)
    return await parts.locks.hold(`${name}/${keyOf(source)}/${track}`, async () => {
      // While it waited for its turn a newer Release may have been created: then this one must not apply.
      const chain = chainNow(parts, release)
      if (chain.at(-1)?.metadata.name !== release.metadata.name) return undefined
      return lookAtCluster(connection, {
        target,
        owner: { source: keyOf(source), track, target: 'Member', cluster: name },
        declaredIn: () => rendered.onHub,
        mark: { commit, release: release.metadata.name, appliedAt: timestamp(clock.now()) },
        config,
        elsewhere: rendered.elsewhere(name),
        approved: new Set(approvedDigests(parts, clock.now()).keys()),
        needs: {
          machines: gates.some((g) => g.machinesReady !== undefined || g.componentsConsistent !== undefined),
          repairs: gates.some((g) => g.noNewRepairs !== undefined),
        },
        // Objects that are only protected from drift were judged before.
        ...(isOver(release)
          ? {}
          : { history: { release: release.metadata.name ?? '', ...historyOf(chain, release, name) } }),
        signal,
      })
    })
  } catch (error) {
    if (signal.aborted) throw error
    return {
      look: { kind: 'Unreachable', because: unreachableReason(error), message: printableLine(messageOf(error)) },
    }
  }
}

interface ClusterNow {
  readonly name: string
  readonly digest: string
  readonly looks: ReadonlyMap<string, LookReport>
  readonly returns: ReadonlySet<string>
}

function seenCluster({ parts, release }: Work, { name, digest, looks, returns }: ClusterNow): SeenCluster {
  const cluster = parts.clusters.get({ namespace: release.metadata.namespace, name })
  const stage = cluster?.spec.stage
  // The spec has it as a field; selectors of stages use labels.
  const labels = cluster && {
    ...(stage === undefined ? {} : { 'kubenode.io/stage': stage }),
    ...cluster.metadata.labels,
  }
  const previous = previousOf(chainNow(parts, release), release, name)
  return { name, labels, digest, look: looks.get(name)?.look, previous, isReturn: returns.has(name) }
}

/** Reverts, or reports, changes by other clients in the clusters of the newest Release after it is done. */
async function keepFromDrifting(work: Work): Promise<Outcome> {
  const { parts, release, source } = work
  const everyMs = Math.max(DRIFT_MS, parseDuration(source.spec.interval))
  if (source.spec.drift === 'Off') return done
  const finished = Date.parse(release.status?.finishedAt ?? '')
  if (parts.context.clock.now() - finished < everyMs) return requeueAfter(everyMs)
  const rendered = await rendering(work)
  if ('problem' in rendered) return requeueAfter(everyMs)
  for (const { name, phase } of release.status?.clusters ?? []) {
    if (phase === 'Waiting' || phase === 'Failed') continue
    const report = await lookAt(work, name, rendered)
    if (report !== undefined) tell(parts, release, name, report)
  }
  return requeueAfter(everyMs)
}

function tell({ context }: HubParts, release: Release, cluster: string, { plan, result, look }: LookReport): void {
  const say = (type: 'Normal' | 'Warning', reason: string, note: string) =>
    context.events.record(release, { type, reason, action: 'Apply', note: `${cluster}: ${note}`.slice(0, 1_000) })
  if (result !== undefined && result.applied + result.pruned > 0)
    say('Normal', 'Applied', `${result.applied} applied, ${result.pruned} deleted`)
  if (look.kind === 'Seen' && look.failures[0] !== undefined) say('Warning', 'ApplyFailed', look.failures[0])
  const blocked = plan?.blocked
  if (blocked !== undefined)
    say(
      'Warning',
      'PruneGuard',
      `${pruneText(blocked)}; to allow it: kubenode approve release/${release.metadata.name ?? ''} (digest ${blocked.digest})`,
    )
  const deferred = plan?.skips.find((s) => s.reason === 'PruneDeferred')
  if (deferred !== undefined)
    say('Normal', 'StillReferenced', `${refText(deferred.ref)} is kept: ${deferred.detail ?? ''}`)
  const drift = plan?.skips.find((s) => s.reason === 'DriftDetected')
  if (drift !== undefined) say('Warning', 'DriftDetected', `${refText(drift.ref)}: ${drift.detail ?? ''}`)
}

type Wanted = Omit<WantedCondition, 'observedGeneration'>

const stalled = (reason: string, message: string): Wanted => ({ type: 'Stalled', status: 'True', reason, message })

function conditionsOf({ status }: ReleasePlan, newer: string | undefined): readonly Wanted[] {
  const { phase, waitingFor } = status
  const is = (type: string, holds: boolean, reason: string, message: string): Wanted => ({
    type,
    status: holds ? 'True' : 'False',
    reason,
    message,
  })
  const waits = waitingFor?.seen ?? waitingFor?.predicate ?? 'the next reconcile'
  const progress =
    phase === 'Succeeded'
      ? 'all stages succeeded'
      : newer !== undefined && waitingFor === undefined
        ? `superseded by ${newer}`
        : `waiting for ${waits}`
  const reason =
    newer === undefined
      ? (waitingFor?.predicate ?? (phase === 'Succeeded' ? 'ReleaseComplete' : 'Progressing'))
      : 'NewerRelease'
  const isGate = waitingFor?.predicate === 'GateClosed' || waitingFor?.predicate === 'GateFailed'
  const needsPerson = phase === 'Paused' || waitingFor?.predicate === 'PruneGuard'
  return [
    is('Ready', phase === 'Succeeded', reason, progress),
    is('Reconciling', phase === 'Progressing', reason, progress),
    is('Stalled', needsPerson, reason, needsPerson ? waits : 'no manual intervention needed'),
    is('GatesPassed', !isGate, isGate ? waitingFor.predicate : 'AsDeclared', isGate ? waits : 'all gates open'),
    is(
      'Superseded',
      newer !== undefined,
      newer === undefined ? 'AsDeclared' : 'NewerRelease',
      newer === undefined ? 'this is the newest release' : `superseded by ${newer}`,
    ),
  ]
}

async function report(
  parts: HubParts,
  release: Release,
  wanted: ReleaseStatus,
  conditions: readonly Wanted[],
  signal: AbortSignal,
): Promise<void> {
  const { context } = parts
  const { generation } = release.metadata
  const full = conditions.map((c) => (generation === undefined ? c : { ...c, observedGeneration: generation }))
  const status = { ...wanted, conditions: setConditions(release.status?.conditions, full, context.clock.now()) }
  // What a Release has begun binds the next one, also before the watch tells of it.
  const own = { client: context.client, type: releaseKind, fieldManager: FIELD_MANAGERS.sync, cache: parts.releases }
  writtenOrThrow(await writeStatus({ ...own, object: release, status, signal }))
}

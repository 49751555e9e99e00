// Applies a Release to the clusters whose turn it is, and reports the state of each.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { Release } from '#api/kinds/release.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { matchesLabels } from '#kube/selector.ts'
import { applyToCluster, type ApplyOrder, type ApplyReport } from '../cluster/apply.ts'
import { unreachable } from '../cluster/unreachable.ts'
import { previousOf } from '../release/chain.ts'
import type { SeenCluster } from '../release/cluster-phase.ts'
import { readingNeeds } from '../release/gates.ts'
import { historyOf, isLeftUnderway } from '../release/history.ts'
import { contentOf } from '../release/live-clusters.ts'
import { openClusters, isOver } from '../release/release-seen.ts'
import { HUB } from '../release/tracks.ts'
import { actingUser, approvedDigests, labelsOfCluster } from './parts.ts'
import { clusterConfig, keyOf } from './keys.ts'
import { prunePermits } from './prune-permit.ts'
import { rest } from './connections.ts'
import { inTime } from './in-time.ts'
import { passShare } from './pass-share.ts'
import type { Rendering } from './release-rendering.ts'
import { chainNow, type Work } from './release-work.ts'

export async function connectTo({ parts, release, source }: Work, name: string, signal: AbortSignal) {
  if (name === HUB) return parts.hub.as(actingUser(source))
  const cluster = parts.clusters.get({ namespace: release.metadata.namespace, name })
  if (cluster === undefined) throw new Error(`Cluster ${name} not found on the hub`)
  return parts.connections.to(cluster, actingUser(source), signal)
}

export function applyToOpen(work: Work, rendered: Rendering): Promise<ReadonlyMap<string, ApplyReport>> {
  return applyToEach(work, openClusters(work.release), rendered, isOver(work.release))
}

/**
 * `isSettled`: the clusters were judged before, and are only protected from drift. A cluster that the pass had no time for has no entry, and is among the first
 * of the next pass.
 */
export async function applyToEach(
  work: Work,
  names: readonly string[],
  rendered: Rendering,
  isSettled: boolean,
): Promise<ReadonlyMap<string, ApplyReport>> {
  const looks = new Map<string, ApplyReport>()
  const largest = names.reduce((most, name) => Math.max(most, rendered.targets.get(name)?.objects.length ?? 0), 0)
  const { clusters, requestsEach } = passShare(names.length, largest)
  const { parts, signal } = work
  const key = keyOf(work.release)
  const pass = { clock: parts.context.clock, atOnce: clusters, signal, first: parts.passLeft.get(key) ?? [] }
  const left = await inTime(names, pass, async (name, own) => {
    const report = await applyTo({ ...work, signal: own }, name, rendered, { isSettled, atOnce: requestsEach })
    if (report !== undefined && !own.aborted) looks.set(name, report)
  })
  if (left.length > 0) parts.passLeft.set(key, left)
  else parts.passLeft.delete(key)
  return looks
}

async function applyTo(
  work: Work,
  name: string,
  rendered: Rendering,
  { isSettled, atOnce }: { readonly isSettled: boolean; readonly atOnce: number },
): Promise<ApplyReport | undefined> {
  const { parts, release, source, pipeline, signal, budgetExempt } = work
  const { clock } = parts.context
  const { namespace } = release.metadata
  const target = rendered.targets.get(name)
  if (target === undefined) return undefined
  // The hub is no Cluster of its own: what is approved there needs no permit for a target.
  const cluster = name === HUB ? undefined : parts.clusters.get({ namespace, name })
  if (name !== HUB && cluster === undefined)
    return {
      look: { kind: 'Unreachable', because: 'ReferenceMissing', message: `Cluster ${name} not found on the hub` },
    }
  // Whatever is applied there would go with it, and machines that are made there would outlive it on their hosts.
  if (cluster?.metadata.deletionTimestamp !== undefined)
    return { look: { kind: 'Unreachable', because: 'Deleting', message: `Cluster ${name} is being deleted` } }
  const { track, commit } = release.spec
  const gates = pipeline.spec.stages.flatMap((s) => [...(s.gates ?? []), ...(s.after ?? [])])
  const hold = work.isHeld === true ? { hold: isSettled ? ('DriftAndPrune' as const) : ('Drift' as const) } : {}
  const config = { ...clusterConfig(source, commit), ...hold }
  try {
    const connection = await connectTo(work, name, signal)
    const report = await parts.locks.run(`${name}/${keyOf(source)}/${track}`, async () => {
      // While it waited for its turn a newer Release may have been created: then this one must not apply.
      const chain = chainNow(parts, release)
      if (chain.at(-1)?.metadata.name !== release.metadata.name) return undefined
      return applyToCluster(connection, {
        target,
        ...placeOf(keyOf(source), track, name, rendered),
        mark: {
          commit,
          release: release.metadata.name,
          appliedAt: timestamp(clock.now()),
          isBudgetExempt: !isSettled && budgetExempt?.has(name) === true,
        },
        config,
        elsewhere: rendered.elsewhere(name),
        approved: new Set(approvedDigests(parts, clock.now()).keys()),
        ...(cluster !== undefined && {
          permits: prunePermits({ client: parts.context.client, now: () => clock.now(), cluster, release, signal }),
        }),
        needs: readingNeeds(gates),
        atOnce,
        ...(isSettled ? {} : { history: { release: release.metadata.name ?? '', ...historyOf(chain, release, name) } }),
        signal,
      })
    })
    if (name !== HUB) rest(connection)
    return report
  } catch (error) {
    if (signal.aborted) throw error
    return { look: { kind: 'Unreachable', ...unreachable(error) } }
  }
}

/** A hub may be a member of its fleet: each of the two leaves alone what is declared for the other. */
function placeOf(source: string, track: string, name: string, { declaredFor }: Rendering): Place {
  if (name !== HUB)
    return { owner: { source, track, target: 'Member', cluster: name }, declaredIn: () => declaredFor(HUB) }
  return {
    owner: { source, track, target: 'Hub' },
    declaredIn: (cluster) => (cluster === undefined ? new Set() : declaredFor(cluster)),
  }
}

type Place = Pick<ApplyOrder, 'owner' | 'declaredIn'>

export interface ClusterNow {
  readonly name: string
  readonly digest: string
  readonly looks: ReadonlyMap<string, ApplyReport>
  readonly returns: ReadonlySet<string>
}

export function seenCluster(
  work: Work,
  chain: readonly Release[],
  { name, digest, looks, returns }: ClusterNow,
): SeenCluster {
  const { parts, release } = work
  const cluster = parts.clusters.get({ namespace: release.metadata.namespace, name })
  const labels = cluster && labelsFor(cluster, work)
  return {
    name,
    labels,
    content: cluster && contentOf(cluster),
    isDeleting: cluster?.metadata.deletionTimestamp !== undefined,
    digest,
    look: looks.get(name)?.look,
    previous: previousOf(chain, release, name),
    isReturn: returns.has(name),
    isUnderway: name !== HUB && isLeftUnderway(chain, release, name),
  }
}

/** A commit cannot move a cluster out of the stage whose gates it has to pass; one that had no stage had no gates. */
function labelsFor(cluster: Cluster, { release, pipeline, labelsBefore }: Work): Readonly<Record<string, string>> {
  const now = labelsOfCluster(cluster)
  const isOwn = cluster.metadata.annotations?.[ANNOTATIONS.commit] === release.spec.commit
  const before = isOwn ? labelsBefore?.get(cluster.metadata.name ?? '') : undefined
  const hadStage = pipeline.spec.stages.some(
    ({ clusters: { selector } }) => before !== undefined && selector !== undefined && matchesLabels(selector, before),
  )
  return before !== undefined && hadStage ? before : now
}

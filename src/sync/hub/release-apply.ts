// Applies a Release to the clusters whose turn it is, and reports the state of each.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { Release } from '#api/kinds/release.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { applyToCluster, type ApplyOrder, type ApplyReport } from '../cluster/apply.ts'
import { unreachable } from '../cluster/unreachable.ts'
import { previousOf, soakedBefore, standingIn } from '../release/chain.ts'
import { judgeFailures } from '../release/baseline.ts'
import type { SeenCluster } from '../release/cluster-seen.ts'
import { countOf } from '../release/cluster-trouble.ts'
import { readingNeeds } from '../release/gates.ts'
import { historyOf, isLeftUnderway, mayHaveTouched, SETTLED, statusIn, wasPassedWith } from '../release/history.ts'
import { contentOf } from '../release/live-clusters.ts'
import { memberOf } from '../release/members.ts'
import { labelsIn, risksIn, stageBegun, stageOfTurn } from '../release/membership.ts'
import { openClusters } from '../release/release-seen.ts'
import { areNodesFirst, takeTurn } from '../release/plane-state.ts'
import { DIGEST_OF_LEAVING, HUB, LEAVING } from '../release/tracks.ts'
import { hasHadTurn, ofCluster, ofHub } from '../release/turns.ts'
import type { RenderedTarget } from '#delivery/desired.ts'
import type { ClusterConnection } from '#delivery/connection.ts'
import { EndedPermits } from '#permits/ended-for.ts'
import { approvedDigests } from './approvals.ts'
import { isHeldNow } from './exempt-revert.ts'
import { actingUser, clusterConfig } from './source-writes.ts'
import { PlaneTurns } from './plane-turns.ts'
import { prunePermits } from './prune-permit.ts'
import { rest } from './connections.ts'
import { inTime } from './in-time.ts'
import { passShare } from './pass-share.ts'
import type { Rendering } from './release-rendering.ts'
import { chainAt, type Work } from './release-work.ts'
import type { HubCaches, HubShared } from './shared.ts'

type Shared = Pick<
  HubShared,
  'context' | 'clusters' | 'releases' | 'approvals' | 'holds' | 'connections' | 'hub' | 'locks'
>

/** By cluster: what it gets, and from which Release. */
export type Orders = ReadonlyMap<string, { readonly work: Work; readonly rendered: Rendering }>

const NOT_JUDGED = { machines: false, repairs: false }

/** Passes over the clusters of Releases; remembers which ones the last pass had no time for. */
export class ClusterPasses {
  readonly #shared: Shared
  /** By Release key. */
  readonly #left = new Map<string, readonly string[]>()
  readonly #endedPermits: EndedPermits
  readonly #planes: PlaneTurns

  constructor(shared: Shared) {
    this.#shared = shared
    this.#endedPermits = new EndedPermits(shared.context.clock)
    this.#planes = new PlaneTurns(shared)
  }

  /** Whether its last pass ran out of time for some cluster. */
  hasLeft(key: string): boolean {
    return this.#left.has(key)
  }

  forget(key: string): void {
    this.#left.delete(key)
    this.#planes.forget(key)
  }

  async connectTo({ release, source }: Work, name: string, signal: AbortSignal): Promise<ClusterConnection> {
    const { hub, clusters, connections } = this.#shared
    if (name === HUB) return hub.as(actingUser(source))
    const cluster = clusters.get({ namespace: release.metadata.namespace, name })
    if (cluster === undefined) throw new Error(`Cluster ${name} not found on the hub`)
    return connections.to(cluster, actingUser(source), signal)
  }

  /** Applies to the clusters that the plan must read. */
  applyToOpen(work: Work, rendered: Rendering): Promise<ReadonlyMap<string, ApplyReport>> {
    const orders = new Map(openClusters(work.release).map((name) => [name, { work, rendered }]))
    return this.#applyToEach(work, orders, false)
  }

  /** Only protects from drift: these clusters were judged before. */
  keep(work: Pick<Work, 'release' | 'signal'>, orders: Orders): Promise<ReadonlyMap<string, ApplyReport>> {
    return this.#applyToEach(work, orders, true)
  }

  /** A cluster that the pass had no time for has no entry, and is among the first in the next pass. */
  async #applyToEach(
    { release, signal }: Pick<Work, 'release' | 'signal'>,
    orders: Orders,
    isSettled: boolean,
  ): Promise<ReadonlyMap<string, ApplyReport>> {
    const reports = new Map<string, ApplyReport>()
    const sizes = [...orders].map(([name, { rendered }]) => rendered.targets.get(name)?.objects.length ?? 0)
    const largest = sizes.reduce((most, size) => Math.max(most, size), 0)
    const { clusters, requestsEach } = passShare(orders.size, largest)
    const key = namespacedName(release)
    const { clock } = this.#shared.context
    const pass = { clock, atOnce: clusters, signal, first: this.#left.get(key) ?? [] }
    const left = await inTime([...orders.keys()], pass, async (name, own) => {
      const order = orders.get(name)
      if (order === undefined) return
      const applying = { isSettled, atOnce: requestsEach }
      const report = await this.#applyTo({ ...order.work, signal: own }, name, order.rendered, applying)
      if (report !== undefined && !own.aborted) reports.set(name, report)
    })
    if (left.length > 0) this.#left.set(key, left)
    else this.#left.delete(key)
    return reports
  }

  async #applyTo(
    work: Work,
    name: string,
    rendered: Rendering,
    { isSettled, atOnce }: { readonly isSettled: boolean; readonly atOnce: number },
  ): Promise<ApplyReport | undefined> {
    const { release, source } = work
    const { context, clusters, approvals } = this.#shared
    const { namespace } = release.metadata
    const target = rendered.targets.get(name)
    if (target === undefined) return undefined
    // The hub has no Cluster of its own: approved changes there need no permit for a target.
    const cluster = name === HUB ? undefined : clusters.get({ namespace, name })
    const hold = work.isHeld === true ? { hold: 'Drift' as const } : {}
    const config = { ...clusterConfig(source, release.spec.commit), ...hold }
    const approved = new Set(approvedDigests(approvals.list(), context.clock.now()).keys())
    const { declaredIn } = placeOf(namespacedName(source), release.spec.track, HUB, rendered)
    const order = { config, approved, ...defined({ declaredIn }), elsewhere: rendered.elsewhere(HUB) }
    if (target === LEAVING) return isSettled ? undefined : this.#planes.remove(work, { name, live: cluster, order })
    if (name !== HUB && cluster === undefined)
      return {
        answer: { kind: 'Unreachable', because: 'ReferenceMissing', message: `Cluster ${name} not found on the hub` },
      }
    // Anything applied there would be deleted with it, and machines created there would outlive it on their hosts.
    if (cluster?.metadata.deletionTimestamp !== undefined)
      return { answer: { kind: 'Unreachable', because: 'Deleting', message: `Cluster ${name} is being deleted` } }
    const applying = { isSettled, atOnce, config, approved }
    if (name === HUB) {
      const { target: own, skips } = ofHub(rendered.targets, namespace ?? '', (each) => this.#isDue(work, each))
      return this.#deliverTo(work, HUB, rendered, { ...applying, target: own, skips, cluster })
    }
    const { plane, content } = ofCluster(name, target)
    const deliver = () => this.#deliverTo(work, name, rendered, { ...applying, target: content, cluster })
    // A settled Cluster is protected from drift together with the hub's other objects.
    if (plane === undefined || cluster === undefined || isSettled) return deliver()
    return takeTurn({
      areNodesFirst: areNodesFirst((plane.object as Cluster).spec, cluster),
      bring: () => this.#planes.bring(work, { name, plane, live: cluster, order }),
      deliver,
      isDone: ({ answer }) => isWell(answer, stageOf(work, name)),
    })
  }

  /** Whether the hub may get the newest version of this Cluster: it is new there, or its turn is over. */
  #isDue({ release }: Work, name: string): boolean {
    const { namespace } = release.metadata
    const live = this.#shared.clusters.get({ namespace, name })
    return live === undefined || hasHadTurn(release, name, release.spec.digests[name])
  }

  /** Holds are read as late as possible: they protect what a person is editing. Until a Release has succeeded, kept clusters are not for its deletions. */
  #asKept(work: Work, config: ApplyOrder['config']): Pick<ApplyOrder, 'config' | 'restoresOnly'> {
    const { holds, context } = this.#shared
    const { release, awaited } = work
    const isHeld = isHeldNow(holds.list(), { ...work, release: awaited?.release ?? release }, context.clock.now())
    return {
      config: isHeld ? { ...config, hold: 'DriftAndPrune' } : config,
      restoresOnly: awaited?.later ?? (release.status?.phase === 'Succeeded' ? undefined : 'Newest'),
    }
  }

  async #deliverTo(
    work: Work,
    name: string,
    rendered: Rendering,
    { isSettled, cluster, ...applying }: Applying,
  ): Promise<ApplyReport | undefined> {
    const { release, source, pipeline, signal, budgetExempt } = work
    const { context, locks } = this.#shared
    const { clock, client } = context
    const { track, commit } = release.spec
    const gates = pipeline.spec.stages.flatMap((s) => [...(s.gates ?? []), ...(s.after ?? [])])
    try {
      const connection = await this.connectTo(work, name, signal)
      const report = await locks.run(`${name}/${namespacedName(source)}/${track}`, async () => {
        const chain = chainAt(this.#shared, release, name)
        if (!isInForce(work, chain, name, isSettled)) return undefined
        return applyToCluster(connection, {
          ...applying,
          ...(isSettled && this.#asKept(work, applying.config)),
          ...placeOf(namespacedName(source), track, name, rendered),
          mark: {
            commit,
            release: release.metadata.name,
            appliedAt: timestamp(clock.now()),
            isBudgetExempt: !isSettled && budgetExempt?.has(name) === true,
          },
          elsewhere: rendered.elsewhere(name),
          ...(cluster !== undefined && {
            permits: prunePermits({
              client,
              now: () => clock.now(),
              ended: this.#endedPermits,
              cluster,
              release,
              signal,
            }),
          }),
          needs: isSettled ? NOT_JUDGED : readingNeeds(gates),
          ...(isSettled
            ? {}
            : { history: { release: release.metadata.name ?? '', ...historyOf(chain, release, name) } }),
          signal,
        })
      })
      if (name !== HUB) rest(connection)
      return report
    } catch (error) {
      if (signal.aborted) throw error
      return { answer: { kind: 'Unreachable', ...unreachable(error) } }
    }
  }
}

/** Includes clusters that the Release did not change: it is the newest of the track, so no other one protects them. */
export const settledIn = ({ status }: Release): ReadonlySet<string> =>
  new Set((status?.clusters ?? []).filter((c) => SETTLED.has(c.phase)).map((c) => c.name))

/** While it waited for its turn, a newer Release may have been created, or have begun there: then this one must not apply. */
function isInForce(
  { release, awaited }: Work,
  chain: readonly Release[],
  cluster: string,
  isSettled: boolean,
): boolean {
  const newest = chain.at(-1)
  if (newest === undefined || newest.metadata.name !== (awaited?.release ?? release).metadata.name) return false
  if (awaited !== undefined) return standingIn(chain, newest, cluster)?.metadata.name === release.metadata.name
  return !isSettled || settledIn(newest).has(cluster)
}

const stageOf = ({ release, pipeline }: Work, cluster: string) => {
  const stage = release.status?.clusters?.find((c) => c.name === cluster)?.stage
  return pipeline.spec.stages.find(({ name }) => name === stage)
}

/** Without its stage, no machine failures are allowed. */
const isWell = (answer: ApplyReport['answer'], stage: ReturnType<typeof stageOf>): boolean =>
  answer.kind === 'Seen' &&
  answer.isApplied &&
  judgeFailures(answer.failing, answer.baseline, countOf(stage?.maxNewFailures ?? 0, answer.machines)).state ===
    'Current'

interface Applying extends Pick<ApplyOrder, 'target' | 'skips' | 'config' | 'approved' | 'atOnce'> {
  readonly isSettled: boolean
  readonly cluster: Cluster | undefined
}

/** A hub may be a member of its own fleet: each of the two ignores objects that are declared for the other. */
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
  readonly reports: ReadonlyMap<string, ApplyReport>
  readonly returns: ReadonlySet<string>
  /** Absent: this pass rendered nothing. */
  readonly target?: RenderedTarget | undefined
  /** Its Cluster, wherever the source declares it. */
  readonly declared?: Cluster | undefined
}

/** What the Release declares for the hub is there, or is applied without a stage. Until then, no stage waits for a new Cluster: that of the hub may come later. */
function isMade(release: Release): boolean {
  const hub = statusIn(release, HUB)
  return release.spec.digests[HUB] === undefined || (hub !== undefined && mayHaveTouched(hub))
}

export function seenCluster(
  clusters: HubCaches['clusters'],
  work: Work,
  chain: readonly Release[],
  { name, digest, reports, returns, target, declared }: ClusterNow,
): SeenCluster {
  const { release } = work
  const cluster = clusters.get({ namespace: release.metadata.namespace, name })
  const isLeaving = digest === DIGEST_OF_LEAVING
  const own = cluster && {
    stages: work.pipeline.spec.stages,
    live: cluster,
    declared: target && (ofCluster(name, target).plane?.object as Cluster | undefined),
    isLeaving,
  }
  return {
    name,
    // A Cluster that is not in the cache yet: without it, its stage would look empty, and be skipped for good.
    labels: own !== undefined ? labelsIn(own) : isMade(release) ? declared && memberOf(declared).labels : undefined,
    stage: isLeaving ? stageBegun(release, name) : cluster && stageOfTurn(release, cluster),
    content: cluster && contentOf(cluster),
    isLeaving,
    isDeleting: cluster?.metadata.deletionTimestamp !== undefined,
    digest,
    answer: reports.get(name)?.answer,
    previous: previousOf(chain, release, name),
    wasPassed: wasPassedWith(chain, release, name),
    soaked: soakedBefore(chain, release, name),
    isReturn: returns.has(name),
    isUnderway: name !== HUB && isLeftUnderway(chain, release, name),
    ...(own && { risks: risksIn(own) }),
  }
}

// Applies a cluster's Cluster on the hub when its turn comes, and watches its control plane.
import { cluster as clusterKind, type Cluster } from '#api/kinds/cluster.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { timestamp } from '#lib/clock.ts'
import type { DesiredObject } from '#delivery/desired.ts'
import type { Failure } from '#delivery/failures.ts'
import { refText } from '#delivery/object-ref.ts'
import { matchesDeclared } from '#delivery/observe.ts'
import { dropsFields } from '#delivery/owned-fields.ts'
import { isDelete, isWrite } from '#delivery/operation.ts'
import { pruneDigest } from '#delivery/prune-guard.ts'
import { applyToCluster, type ApplyOrder, type ApplyReport } from '../cluster/apply.ts'
import { isNewToStage, planeTrouble } from '../release/plane-state.ts'
import { isApprovedTurn } from '../release/risk-gate.ts'
import { clusterRef, HUB } from '../release/tracks.ts'
import { actingUser } from './source-writes.ts'
import { chainNow, newerThan, type Work } from './release-work.ts'
import type { HubShared } from './shared.ts'

type Shared = Pick<HubShared, 'context' | 'clusters' | 'releases' | 'hub' | 'locks'>

interface Done {
  readonly digest: string
  /** The Release changed it: until the cache has the new version, nothing is known. */
  readonly isChanged: boolean
}

export interface PlaneOrder {
  readonly name: string
  readonly plane: DesiredObject
  readonly live: Cluster
  readonly order: Pick<ApplyOrder, 'config' | 'elsewhere' | 'declaredIn' | 'approved'>
}

export class PlaneTurns {
  readonly #shared: Shared
  /** What this process applied, by Release key, then by cluster. Read again after a restart. */
  readonly #done = new Map<string, Map<string, Done>>()
  /** By cluster: the commit of this process's last change to its Cluster. A cache without it is stale. */
  readonly #wrote = new Map<string, string>()

  constructor(shared: Shared) {
    this.#shared = shared
  }

  forget(key: string): void {
    this.#done.delete(key)
  }

  /** `Current`: the control plane matches its declaration, and the cluster's objects follow. Undefined: a newer Release has replaced this one. */
  async bring(work: Work, { name, plane, live, order }: PlaneOrder): Promise<ApplyReport | 'Current' | undefined> {
    const { release, source, signal } = work
    const { clock } = this.#shared.context
    const { track, commit } = release.spec
    const key = namespacedName(release)
    const done = this.#done.get(key)?.get(name)
    if (done?.digest === plane.digest) {
      if (done.isChanged && live.metadata.annotations?.[ANNOTATIONS.commit] !== commit)
        return answerOf(notObserved(plane))
    } else if (!this.#isApplied(plane, live, namespacedName(source)) || (await this.#keepsFields(work, plane, live))) {
      const own = refText(plane.ref)
      const owner = { source: namespacedName(source), track, target: 'Hub' as const }
      const report = await this.#shared.locks.run(`${HUB}/${owner.source}/${track}`, async () => {
        if (newerThan(this.#shared, release) !== undefined) return undefined
        return applyToCluster(this.#shared.hub.as(actingUser(source)), {
          ...order,
          target: { objects: [plane], rejected: [] },
          skips: (ref) => refText(ref) !== own,
          owner,
          mark: { commit, release: undefined, appliedAt: timestamp(clock.now()) },
          needs: { machines: false, repairs: false },
          signal,
        })
      })
      if (report === undefined) return undefined
      const { answer, plan } = report
      if (answer.kind !== 'Seen' || !answer.isApplied) return report
      const isChanged = plan?.operations.some((o) => isWrite(o) && o.commit === commit) === true
      this.#note(key, name, { digest: plane.digest, isChanged })
      if (isChanged) {
        this.#wrote.set(namespacedName(live), commit)
        return answerOf(notObserved(plane), report)
      }
    } else this.#note(key, name, { digest: plane.digest, isChanged: false })
    const isNew = isNewToStage(chainNow(this.#shared, release), release, live)
    const trouble = planeTrouble({ cluster: live, isNew, now: clock.now() })
    return trouble === undefined ? 'Current' : answerOf(trouble)
  }

  /** Deletes a Cluster that its commit removes. `Gone`: nothing is left to do. Undefined: a newer Release has replaced this one. */
  async remove(work: Work, { name, live, order }: LeavingOrder): Promise<ApplyReport | undefined> {
    const { release, source, signal } = work
    if (live === undefined) return LEFT
    const ref = clusterRef(live)
    const own = refText(ref)
    if (live.metadata.deletionTimestamp !== undefined) return answerOf(leavingTrouble(live, own))
    const owner = { source: namespacedName(source), track: release.spec.track, target: 'Hub' as const }
    const digest = pruneDigest([{ ref, uid: live.metadata.uid ?? '' }])
    const report = await this.#shared.locks.run(`${HUB}/${owner.source}/${owner.track}`, async () => {
      if (newerThan(this.#shared, release) !== undefined) return undefined
      return applyToCluster(this.#shared.hub.as(actingUser(source)), {
        ...order,
        approved: isApprovedTurn(release, name) ? new Set([...order.approved, digest]) : order.approved,
        target: NOTHING,
        skips: (each) => refText(each) !== own,
        owner,
        mark: {
          commit: release.spec.commit,
          release: undefined,
          appliedAt: timestamp(this.#shared.context.clock.now()),
        },
        needs: { machines: false, repairs: false },
        signal,
      })
    })
    const { answer, plan } = report ?? {}
    if (report === undefined || answer?.kind !== 'Seen' || answer.prune !== undefined || !answer.isApplied)
      return report
    const isOpen = plan?.operations.some((o) => isDelete(o) || (o.kind === 'Defer' && OPEN.has(o.reason))) === true
    return isOpen ? answerOf(leavingTrouble(live, own), report) : LEFT
  }

  #note(key: string, name: string, done: Done): void {
    this.#done.set(key, (this.#done.get(key) ?? new Map<string, Done>()).set(name, done))
  }

  /** Whether the Cluster still has fields that its declaration no longer names. Read once for each Release: caches have no managers of fields. */
  async #keepsFields({ source, signal }: Work, { object }: DesiredObject, { metadata }: Cluster): Promise<boolean> {
    const { namespace = '', name = '' } = metadata
    const { client } = this.#shared.hub.as(actingUser(source))
    const live = await client.get(clusterKind, { namespace, name }, { signal })
    return live !== undefined && dropsFields(object, live)
  }

  /**
   * Decided from the cache: a Release changes few control planes, and a pass over hundreds of clusters cannot read the hub once for each. The
   * cache may lack the writes of others; this process tracks its own writes.
   */
  #isApplied({ object }: DesiredObject, live: Cluster, source: string): boolean {
    const { annotations = {}, deletionTimestamp } = live.metadata
    const wrote = this.#wrote.get(namespacedName(live))
    return (
      deletionTimestamp === undefined &&
      annotations[ANNOTATIONS.source] === source &&
      (wrote === undefined || annotations[ANNOTATIONS.commit] === wrote) &&
      matchesDeclared(object, live)
    )
  }
}

const NOTHING = { objects: [], rejected: [] }

/** Deferred deletions that the next pass continues. Others leave the Cluster: a setting of the source keeps it. */
const OPEN: ReadonlySet<string> = new Set(['Unreadable', 'BeingDeleted'])

export interface LeavingOrder {
  readonly name: string
  /** Undefined once it was deleted. */
  readonly live: Cluster | undefined
  readonly order: PlaneOrder['order']
}

const LEFT: ApplyReport = {
  answer: {
    kind: 'Seen',
    isOfPlane: true,
    isApplied: true,
    failures: [],
    failing: [],
    machines: 0,
    baseline: undefined,
    readings: {},
  },
}

/** Its controller waits for permits, machines and a last snapshot, which bound themselves. */
function leavingTrouble({ status }: Cluster, object: string): Failure {
  const { waitingFor: wait } = status ?? {}
  const why = wait === undefined ? '' : `: ${wait.seen ?? wait.predicate}`
  return {
    object,
    state: 'InProgress',
    reason: 'Deleting',
    message: `it is being deleted${why}`,
    outside: 'ControlPlaneChanging',
  }
}

const notObserved = ({ ref }: DesiredObject): Failure => ({
  object: refText(ref),
  state: 'InProgress',
  reason: 'Applied',
  message: 'applied; its controller has not observed it yet',
})

/** Reports only the hub: the cluster's content is neither read nor judged before its turn. */
const answerOf = (trouble: Failure, report?: ApplyReport): ApplyReport => ({
  ...report,
  answer: {
    kind: 'Seen',
    isOfPlane: true,
    isApplied: true,
    failures: [],
    failing: [trouble],
    machines: 0,
    baseline: undefined,
    readings: {},
  },
})

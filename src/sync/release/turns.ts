// A commit's change to the spec of a Cluster waits for that cluster's turn: it counts in the cluster's digest, and reaches the hub with the cluster's
// stage. Without a stage it waits for one, so no commit can move a cluster past its gates. A new Cluster is applied with the hub's objects, because
// creating it disrupts nothing. Pure.
import { API_GROUP } from '#api/kind.ts'
import { type Cluster, cluster as clusterKind } from '#api/kinds/cluster.ts'
import type { Release } from '#api/kinds/release.ts'
import type { DesiredObject, RenderedTarget, Targets } from '#delivery/desired.ts'
import { type ObjectRef, refText } from '#delivery/object-ref.ts'
import { mayHaveTouched, SETTLED } from './history.ts'
import { HUB, LEAVING } from './tracks.ts'

/** Replaces the digest in the hub's content: a changed Cluster spec does not change the hub's content, but an added or removed Cluster does. */
const IN_ITS_TURN = 'in its turn'

const NOTHING: RenderedTarget = { objects: [], rejected: [] }

export interface Fleet {
  /** The source's namespace: Clusters in other namespaces do not count. Absent when unknown: all count. */
  readonly namespace?: string | undefined
  /** Whether the previous Release had the cluster: removing its stage does not end its turn. */
  readonly had: (cluster: string) => boolean
}

/** The track's targets, with each Cluster added to its own cluster's content. */
export function withTurns(targets: Targets, { namespace, had }: Fleet): Targets {
  const hub = targets.get(HUB)
  if (hub === undefined) return targets
  const takesTurns = (desired: DesiredObject): boolean =>
    isClusterRef(desired.ref) &&
    (namespace === undefined || desired.ref.namespace === namespace) &&
    (targets.has(desired.ref.name) || had(desired.ref.name) || hasPlane(desired.object as Cluster))
  const own = hub.objects.filter(takesTurns)
  if (own.length === 0) return targets
  const all = new Map(targets)
  all.set(HUB, { ...hub, objects: hub.objects.map((o) => (takesTurns(o) ? { ...o, digest: IN_ITS_TURN } : o)) })
  for (const desired of own) {
    const { name } = desired.ref
    const { objects, rejected } = targets.get(name) ?? NOTHING
    all.set(name, { objects: [desired, ...objects], rejected })
  }
  return all
}

/** A registered cluster without declared objects has nothing to disrupt. */
const hasPlane = ({ spec }: Cluster): boolean => spec.controlPlane !== undefined

const isClusterRef = ({ group, kind }: ObjectRef): boolean => group === API_GROUP && kind === clusterKind.kind

/** The Clusters of this namespace that the targets declare. */
export const clustersIn = (targets: Targets, namespace: string): readonly Cluster[] =>
  (targets.get(HUB) ?? NOTHING).objects.flatMap(({ ref, object }) =>
    isClusterRef(ref) && ref.namespace === namespace ? [object as Cluster] : [],
  )

export interface OfCluster {
  /** Its Cluster, applied on the hub. */
  readonly plane?: DesiredObject
  /** Objects applied in the cluster. */
  readonly content: RenderedTarget
}

/** Splits one target of `withTurns` by where it is applied. */
export function ofCluster(name: string, target: RenderedTarget): OfCluster {
  const isPlane = ({ ref }: DesiredObject): boolean => isClusterRef(ref) && ref.name === name
  const plane = name === HUB ? undefined : target.objects.find(isPlane)
  if (plane === undefined) return { content: target }
  return { plane, content: { ...target, objects: target.objects.filter((o) => o !== plane) } }
}

export interface OfHub {
  readonly target: RenderedTarget
  /** Clusters that wait for their turn: neither applied nor deleted. */
  readonly skips: (ref: ObjectRef) => boolean
}

/** Objects applied to the hub now. A Cluster that leaves is deleted in its turn. `namespace`: that of the source. */
export function ofHub(targets: Targets, namespace: string, isDue: (cluster: string) => boolean): OfHub {
  const { objects, rejected } = targets.get(HUB) ?? NOTHING
  const waiting = new Set<string>()
  const now = objects.flatMap((desired): readonly DesiredObject[] => {
    if (desired.digest !== IN_ITS_TURN) return [desired]
    const { name } = desired.ref
    const plane = ofCluster(name, targets.get(name) ?? NOTHING).plane
    if (plane !== undefined && isDue(name)) return [plane]
    waiting.add(refText(desired.ref))
    return []
  })
  const isLeaving = (ref: ObjectRef): boolean =>
    isClusterRef(ref) && ref.namespace === namespace && targets.get(ref.name) === LEAVING
  return { target: { objects: now, rejected }, skips: (ref) => waiting.has(refText(ref)) || isLeaving(ref) }
}

/**
 * The cluster's turn in this Release, with this content, is over. Until then the passes of the Release bring the Cluster: on the way to an older version only
 * after the nodes. One that lost its stage by an edit gets it back.
 */
export const hasHadTurn = (release: Release | undefined, cluster: string, digest: string | undefined): boolean =>
  digest !== undefined &&
  release?.spec.digests[cluster] === digest &&
  (release.status?.clusters ?? []).some(
    (c) => c.name === cluster && (SETTLED.has(c.phase) || (c.phase === 'Waiting' && mayHaveTouched(c))),
  )

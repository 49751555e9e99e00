// What a commit changes in the spec of a Cluster belongs to the turn of that cluster: it counts in the cluster's digest, and reaches the hub with the cluster's
// stage. A Cluster that is new goes with the hub's objects: making it disrupts nothing. Pure.
import { API_GROUP } from '#api/kind.ts'
import { type Cluster, cluster as clusterKind } from '#api/kinds/cluster.ts'
import type { Release } from '#api/kinds/release.ts'
import { LABELS } from '#api/names.ts'
import type { DesiredObject, RenderedTarget, Targets } from '#delivery/desired.ts'
import { type ObjectRef, refText } from '#delivery/object-ref.ts'
import { mayHaveTouched } from './history.ts'
import { HUB } from './tracks.ts'

/** In place of the digest in what the hub gets: another spec of the Cluster is no other content of the hub, and another Cluster is. */
const IN_ITS_TURN = 'in its turn'

const NOTHING: RenderedTarget = { objects: [], rejected: [] }

export interface Fleet {
  /** Of the source: Clusters elsewhere are no clusters of it. Absent where it is not known: all are. */
  readonly namespace?: string | undefined
  /** Whether the Release before had the cluster: removing its stage does not take it out of its turn. */
  readonly had: (cluster: string) => boolean
}

/** With each Cluster among what its cluster gets, of one track. */
export function withTurns(targets: Targets, { namespace, had }: Fleet): Targets {
  const hub = targets.get(HUB)
  if (hub === undefined) return targets
  const takesTurns = (desired: DesiredObject): boolean =>
    isClusterRef(desired.ref) &&
    (namespace === undefined || desired.ref.namespace === namespace) &&
    (targets.has(desired.ref.name) || had(desired.ref.name) || isStaged(desired.object as Cluster))
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

/** A registered cluster for which nothing is declared has nothing that could be disrupted. */
const isStaged = ({ metadata, spec }: Cluster): boolean =>
  spec.controlPlane !== undefined && (spec.stage ?? metadata.labels?.[LABELS.stage]) !== undefined

const isClusterRef = ({ group, kind }: ObjectRef): boolean => group === API_GROUP && kind === clusterKind.kind

export interface OfCluster {
  /** Its Cluster, which is applied on the hub. */
  readonly plane?: DesiredObject
  /** Objects applied in the cluster. */
  readonly content: RenderedTarget
}

/** What one target of `withTurns` brings where. */
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

/** Objects applied to the hub now. */
export function ofHub(targets: Targets, isDue: (cluster: string) => boolean): OfHub {
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
  return { target: { objects: now, rejected }, skips: (ref) => waiting.has(refText(ref)) }
}

/** The turn of the cluster has come in this Release, with this content. */
export const hasTurn = (release: Release | undefined, cluster: string, digest: string | undefined): boolean =>
  digest !== undefined &&
  release?.spec.digests[cluster] === digest &&
  (release.status?.clusters ?? []).some((c) => c.name === cluster && mayHaveTouched(c))

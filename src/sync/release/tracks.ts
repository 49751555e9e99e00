// Which rendered objects belong to which track, and the digest of each cluster's part. Pure.
import { API_GROUP } from '#api/kind.ts'
import { type Cluster, cluster as clusterKind } from '#api/kinds/cluster.ts'
import type { FleetSourceSpec } from '#api/kinds/fleet-source.ts'
import type { Release } from '#api/kinds/release.ts'
import { ANNOTATIONS } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { isObject } from '#lib/json.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import { matchesLabels } from '#kube/selector.ts'
import { refText, type ObjectRef } from '#delivery/object-ref.ts'
import type { DesiredObject, Rejected, RenderedTarget, Targets } from '#delivery/desired.ts'

/** The target for the hub itself. */
export const HUB = 'hub'

type Track = FleetSourceSpec['tracks'][number]

export interface TrackTargets {
  /** By track, then by target. */
  readonly tracks: ReadonlyMap<string, Targets>
  /** Objects that no track selects, as `target: ref`. */
  readonly unmatched: readonly string[]
}

/** An object belongs to the first track that matches. */
export function splitByTrack(targets: Targets, tracks: readonly Track[]): TrackTargets {
  const unmatched: string[] = []
  const out = new Map(tracks.map(({ name }) => [name, new Map<string, RenderedTarget>()]))
  for (const [target, { objects, rejected }] of targets) {
    const groups = Map.groupBy(objects, (o) => trackOf(tracks, o.object) ?? '')
    // Invalid objects are matched only by kind, or belong to the last track: they only have to be reported somewhere.
    const bad = Map.groupBy(rejected, ({ ref }) => trackOfRejected(tracks, ref.kind))
    for (const lost of groups.get('') ?? []) unmatched.push(`${target}: ${refText(lost.ref)}`)
    for (const [name, byTarget] of out) {
      const mine = groups.get(name) ?? []
      const myBad = bad.get(name) ?? []
      if (mine.length + myBad.length > 0) byTarget.set(target, { objects: mine, rejected: myBad })
    }
  }
  return { tracks: out, unmatched }
}

/** The first track that matches it. */
export const trackOf = (tracks: readonly Track[], object: KubeObject): string | undefined =>
  tracks.find((track) => matches(track, object))?.name

/** What the tracks declare for a target, valid or not, by `refText`. */
export const declaredRefs = (tracks: TrackTargets['tracks'], target: string): ReadonlySet<string> =>
  new Set(
    [...tracks.values()].flatMap((t) => {
      const { objects, rejected } = t.get(target) ?? NOTHING
      return [...objects, ...rejected].map(({ ref }) => refText(ref))
    }),
  )

const trackOfRejected = (tracks: readonly Track[], kind: string): string =>
  (
    tracks.find((t) => t.match.kinds?.includes(kind)) ??
    tracks.find((t) => t.match.kinds === undefined) ??
    tracks.at(-1)
  )?.name ?? ''

function matches({ match }: Track, object: KubeObject): boolean {
  const { kinds, selector, components } = match
  if (kinds !== undefined && !kinds.includes(object.kind)) return false
  if (selector !== undefined && !matchesLabels(selector, object.metadata.labels ?? {})) return false
  return components === undefined || componentsOf(object).some((c) => components.includes(c))
}

function componentsOf({ spec }: DesiredObject['object']): readonly string[] {
  if (!isObject(spec)) return []
  if (typeof spec['component'] === 'string') return [spec['component']]
  const list = spec['components']
  return Array.isArray(list)
    ? list.flatMap((c: unknown) => (isObject(c) && typeof c['name'] === 'string' ? [c['name']] : []))
    : []
}

/** In place of a cluster's content: the commit removes its Cluster, which is deleted when its turn comes. */
export const LEAVING: RenderedTarget = { objects: [], rejected: [] }
export const DIGEST_OF_LEAVING = sha256OfJson(['leaves the fleet'])

/** Equal digests: the cluster gets the same objects. */
export function targetDigest(target: RenderedTarget): string {
  if (target === LEAVING) return DIGEST_OF_LEAVING
  const { objects, rejected } = target
  const lines = objects.map(({ ref, digest }) => `${refText(ref)} ${digest}`)
  const bad = rejected.map(({ ref }: Rejected) => `${refText(ref)} rejected`)
  return sha256OfJson([...lines, ...bad].toSorted())
}

/** The content that an Approval of a Release covers: everything that it would apply. */
export const targetsDigest = ({ spec }: { readonly spec: Pick<Release['spec'], 'digests'> }): string =>
  targetDigest({
    objects: Object.entries(spec.digests).map(([name, digest]) => ({
      ref: { group: '', kind: 'Cluster', namespace: '', name },
      digest,
      object: { apiVersion: '', kind: '', metadata: {} },
    })),
    rejected: [],
  })

/** The commit declares nothing for the cluster: everything that the track applied there will be deleted. */
const NOTHING: RenderedTarget = { objects: [], rejected: [] }
export const DIGEST_OF_NOTHING = targetDigest(NOTHING)

/** Clusters that had content from the track and get none now are still targets: otherwise their remaining objects would never be deleted. */
export function withEmptied(
  targets: Targets,
  before: Readonly<Record<string, string>>,
  isInFleet: (cluster: string) => boolean,
): Targets {
  const emptied = Object.keys(before).filter((name) => !targets.has(name) && isInFleet(name))
  return emptied.length === 0 ? targets : new Map([...targets, ...emptied.map((name) => [name, NOTHING] as const)])
}

/** The content of a Release for the cluster; undefined when the rendering does not match the Release. */
export function targetFor(targets: Targets, cluster: string, digest: string): RenderedTarget | undefined {
  if (digest === DIGEST_OF_LEAVING) return LEAVING
  const target = targets.get(cluster) ?? (digest === DIGEST_OF_NOTHING ? NOTHING : undefined)
  return target !== undefined && targetDigest(target) === digest ? target : undefined
}

/**
 * Clusters whose Cluster the commit removes from this track, and that the previous Release had. The Cluster is deleted when its turn comes.
 */
export function leavingOf(
  before: Readonly<Record<string, string>>,
  { declared, live, source, isOwn }: LeavingSeen,
): readonly string[] {
  const stays = new Set([...(declared?.objects ?? []), ...(declared?.rejected ?? [])].map(({ ref }) => refText(ref)))
  return Object.keys(before).filter((name) => {
    const cluster = name === HUB ? undefined : live(name)
    return (
      cluster !== undefined &&
      cluster.metadata.annotations?.[ANNOTATIONS.source] === source &&
      !stays.has(refText(clusterRef(cluster))) &&
      isOwn(cluster)
    )
  })
}

export interface LeavingSeen {
  /** What all tracks declare for the hub. */
  readonly declared: RenderedTarget | undefined
  readonly live: (name: string) => Cluster | undefined
  readonly source: string
  /** The Cluster belongs to this track. */
  readonly isOwn: (cluster: Cluster) => boolean
}

export const clusterRef = ({ metadata: { namespace = '', name = '' } }: Pick<Cluster, 'metadata'>): ObjectRef => ({
  group: API_GROUP,
  kind: clusterKind.kind,
  namespace,
  name,
})

/** The content that a Release is compared with: a cluster that it deleted has none any more. */
export const withoutGone = (
  digests: Readonly<Record<string, string>>,
  isThere: (cluster: string) => boolean,
): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(digests).filter(([name, d]) => d !== DIGEST_OF_LEAVING || isThere(name)))

/** A cluster that git removes keeps its content, because it may be handed over. A cluster registered by other means is in the fleet as long as it exists. */
export function isInFleet(
  name: string,
  { declared, live, source }: { declared: RenderedTarget | undefined; live: Cluster | undefined; source: string },
): boolean {
  const isIt = ({ ref }: { readonly ref: ObjectRef }) =>
    ref.group === API_GROUP && ref.kind === 'Cluster' && ref.name === name
  if (declared !== undefined && [...declared.objects, ...declared.rejected].some(isIt)) return true
  const { annotations, deletionTimestamp } = live?.metadata ?? {}
  return live !== undefined && deletionTimestamp === undefined && annotations?.[ANNOTATIONS.source] !== source
}

// Which rendered objects belong to which track, and the digest of what each cluster gets from it. Pure.
import type { FleetSourceSpec } from '#api/kinds/fleet-source.ts'
import { isObject } from '#lib/json.ts'
import { matchesLabels } from '#kube/selector.ts'
import { refText } from '../object-ref.ts'
import { digestOf, type DesiredObject, type Rejected, type RenderedTarget, type Targets } from '../render/rendered.ts'

type Track = FleetSourceSpec['tracks'][number]

export interface TrackTargets {
  /** By track, then by target. */
  readonly tracks: ReadonlyMap<string, Targets>
  /** Objects that no track wants, as `target: ref`. */
  readonly unmatched: readonly string[]
}

/** An object belongs to the first track that matches. */
export function splitByTrack(targets: Targets, tracks: readonly Track[]): TrackTargets {
  const unmatched: string[] = []
  const out = new Map(tracks.map(({ name }) => [name, new Map<string, RenderedTarget>()]))
  for (const [target, { objects, rejected }] of targets) {
    const trackOf = (object: Pick<DesiredObject, 'ref' | 'object'>) => tracks.find((t) => matches(t, object))?.name
    const groups = Map.groupBy(objects, (o) => trackOf(o) ?? '')
    // What could not be checked goes by its kind alone, or to the last track: it only has to be named somewhere.
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

const trackOfRejected = (tracks: readonly Track[], kind: string): string =>
  (
    tracks.find((t) => t.match.kinds?.includes(kind)) ??
    tracks.find((t) => t.match.kinds === undefined) ??
    tracks.at(-1)
  )?.name ?? ''

function matches({ match }: Track, { object }: Pick<DesiredObject, 'object'>): boolean {
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

/** Equal digests: the cluster gets the same, object by object. */
export function targetDigest({ objects, rejected }: RenderedTarget): string {
  const lines = objects.map(({ ref, digest }) => `${refText(ref)} ${digest}`)
  const bad = rejected.map(({ ref }: Rejected) => `${refText(ref)} rejected`)
  return digestOf([...lines, ...bad].toSorted())
}

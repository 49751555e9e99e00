// Which commit brought a finding, what a blocked set stops, and which findings are that one cause. Pure.
import type { Release } from '#api/kinds/release.ts'
import { defined } from '#lib/defined.ts'
import type { FleetFinding, FoundCommit } from './finding.ts'
import type { ObservedCluster } from './observed.ts'

type Place = NonNullable<NonNullable<Release['status']>['clusters']>[number]

/** A release that stopped because a set is blocked in a cluster is blocked by that set; it is not a second task. */
export function withCauses(
  findings: readonly FleetFinding[],
  clusters: readonly ObservedCluster[],
): readonly FleetFinding[] {
  const held = new Map<FleetFinding, readonly FleetFinding[]>()
  for (const one of findings) {
    if (one.object.kind !== 'Release' || one.weight !== 'Act') continue
    const failed = new Set(placesOf(releaseOf(one, clusters), ({ phase }) => phase === 'Failed'))
    const roots = findings.filter(
      ({ object, urgency, weight }) =>
        object.kind === 'MachineComponentSet' &&
        urgency === 'Blocked' &&
        weight === 'Act' &&
        failed.has(object.cluster),
    )
    if (roots.length > 0) held.set(one, roots)
  }
  if (held.size === 0) return findings
  return findings
    .filter((one) => !held.has(one))
    .map((one) => {
      const waits = [...held].filter(([, roots]) => roots.includes(one)).map(([release]) => release)
      if (waits.length === 0) return one
      const holdsUp = waits.map(({ object, text }) => `${text} (${object.cluster})`)
      const stops = [
        `set ${one.object.name} in ${one.object.cluster}`,
        ...new Set(waits.flatMap((release) => [`release ${release.object.name}`, ...(release.stops ?? [])])),
      ]
      return { ...one, ...defined({ commit: waits[0]?.commit }), stops, holdsUp }
    })
}

/** Releases with their commit and the stages behind them, and a set with the commit of the only release that its cluster is working on. */
export function withCommits(
  findings: readonly FleetFinding[],
  clusters: readonly ObservedCluster[],
): readonly FleetFinding[] {
  const working = new Map<string, Set<Release>>()
  const releases = new Map<FleetFinding, Release>()
  for (const one of findings) {
    const release = one.object.kind === 'Release' ? releaseOf(one, clusters) : undefined
    if (release === undefined) continue
    releases.set(one, release)
    for (const cluster of placesOf(release, ({ phase }) => WORKING.has(phase)))
      working.set(cluster, (working.get(cluster) ?? new Set()).add(release))
  }
  if (releases.size === 0) return findings
  return findings.map((one) => {
    const release = releases.get(one)
    if (release !== undefined) {
      const stops = one.weight === 'Act' ? stagesBehind(release) : []
      return { ...one, commit: commitOf(release), ...(stops.length > 0 && { stops }) }
    }
    if (one.object.kind !== 'MachineComponentSet') return one
    const [only, ...others] = working.get(one.object.cluster) ?? []
    return only === undefined || others.length > 0 ? one : { ...one, commit: commitOf(only) }
  })
}

/** The cluster has the commit, and is not healthy with it yet. */
const WORKING: ReadonlySet<string> = new Set<Place['phase']>(['Applying', 'Verifying', 'Failed'])

const commitOf = ({ spec: { commit, subject, author } }: Release): FoundCommit => ({
  commit,
  ...defined({ subject, author }),
})

/** Stages without a cluster stop for nothing. */
const stagesBehind = ({ status }: Release): readonly string[] =>
  (status?.stages ?? []).flatMap(({ name, phase, total = 0 }) =>
    phase === 'Waiting' && total > 0 ? [`stage ${name}`] : [],
  )

const releaseOf = ({ object }: FleetFinding, clusters: readonly ObservedCluster[]): Release | undefined =>
  clusters
    .find(({ name }) => name === object.cluster)
    ?.list('releases')
    .find(({ metadata }) => metadata.name === object.name && metadata.namespace === object.namespace)

const placesOf = (release: Release | undefined, is: (place: Place) => boolean): readonly string[] =>
  (release?.status?.clusters ?? []).flatMap((place) => (is(place) ? [place.name] : []))

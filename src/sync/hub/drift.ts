// Keeps clusters as git declares them: reverts, or reports, changes by other clients. A stage may wait for days, so clusters that the newest Release has not
// reached are kept at what they have. Never brings content to a cluster that did not have it.
import type { Release } from '#api/kinds/release.ts'
import { createdMs, keyFrom, namespacedName } from '#api/schema/object-meta.ts'
import { counted } from '#lib/counted.ts'
import { parseDuration } from '#lib/duration.ts'
import { messageOf } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { shortened } from '#lib/shortened.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import { done, requeueAfter, type Outcome } from '#runtime/outcome.ts'
import { commitsAfter, releasesIn, standingIn } from '../release/chain.ts'
import { openClusters } from '../release/release-seen.ts'
import { HUB } from '../release/tracks.ts'
import { isReverted } from '../revert/policy.ts'
import { ClusterPasses, type Orders, settledIn } from './release-apply.ts'
import { type Rendering, rendering } from './release-rendering.ts'
import { recordEvents } from './release-report.ts'
import { chainNow, newerThan, ofClustersNow, type Work } from './release-work.ts'
import type { HubShared } from './shared.ts'

/** How often clusters are compared with what was released there, at most. */
const DRIFT_MS = 60_000

export interface DriftLoop extends HubShared {
  readonly passes: ClusterPasses
  /** By track of a source: commits that come faster than comparisons must not put them off. */
  readonly comparedAt: Map<string, number>
  /** By track, then by commit: when the clusters that wait with this commit were last compared. */
  readonly turnsAt: Map<string, Map<string, number>>
}

/** Clusters that the newest Release has not reached, by the Release that they have. */
type Standing = readonly (readonly [Release, readonly string[]])[]

export function driftLoop(shared: HubShared): DriftLoop {
  const comparedAt = new Map<string, number>()
  const turnsAt: DriftLoop['turnsAt'] = new Map()
  shared.sources.onChange((old, now) => {
    if (old === undefined || now !== undefined) return
    for (const known of [comparedAt, turnsAt])
      for (const track of known.keys()) if (track.startsWith(`${namespacedName(old)}/`)) known.delete(track)
  })
  return { ...shared, passes: new ClusterPasses(shared), comparedAt, turnsAt }
}

export async function keepFromDrifting(loop: DriftLoop, key: string, { signal }: ReconcileContext): Promise<Outcome> {
  const { clock, events } = loop.context
  const written = loop.releases.get(keyFrom(key))
  const work = written && newerThan(loop, written) === undefined ? workOf(loop, written, signal) : undefined
  if (work === undefined) {
    loop.passes.forget(key)
    return done
  }
  const { release } = work
  const track = `${namespacedName(work.source)}/${release.spec.track}`
  const everyMs = Math.max(DRIFT_MS, parseDuration(work.source.spec.interval))
  const last = loop.comparedAt.get(track) ?? (Date.parse(release.status?.finishedAt ?? '') || createdMs(release))
  const sinceMs = clock.now() - last
  // Negative: the clock was set back, and would put this off.
  if (sinceMs >= 0 && sinceMs < everyMs) return requeueAfter(everyMs - sinceMs)
  loop.comparedAt.set(track, clock.now())
  for (const [name, report] of await loop.passes.keep(work, await ordersOf(loop, work, track)))
    recordEvents(events, release, name, report)
  return requeueAfter(everyMs)
}

/** Undefined: nothing is kept. A change of the Release or of its source wakes the loop. */
function workOf(loop: DriftLoop, written: Release, signal: AbortSignal): Work | undefined {
  const release = ofClustersNow(loop.clusters, written)
  const { namespace, deletionTimestamp } = release.metadata
  const source = loop.sources.get({ namespace, name: release.spec.source })
  const pipeline = loop.pipelines.get({ namespace, name: release.spec.pipeline })
  if (deletionTimestamp !== undefined || source === undefined || pipeline === undefined) return undefined
  return source.spec.drift === 'Off' ? undefined : { release, source, pipeline, signal }
}

/** The clusters that the Release has left or not reached; those between are read and applied to in each of its own passes. */
async function ordersOf(loop: DriftLoop, work: Work, track: string): Promise<Orders> {
  const { release } = work
  const orders = new Map<string, { work: Work; rendered: Rendering }>()
  const newest = await rendering(loop, work)
  // Its own loop reports a problem.
  if (!('problem' in newest)) for (const name of settledClusters(release)) orders.set(name, { work, rendered: newest })
  const all = releasesIn(loop.releases.list(), release.metadata.namespace)
  for (const [from, names] of inTurn(loop, work, track)) {
    const own: Work = { ...work, release: from, awaited: { release, later: commitsAfter(all, from) } }
    const rendered = await renderingAside(loop, own)
    if ('problem' in rendered) recordUnchecked(loop, release, names, rendered.problem)
    else for (const name of names) orders.set(name, { work: own, rendered })
  }
  return orders
}

/** Clusters whose commit is in memory; and, since a render costs much, those of one other commit: the one that had its turn longest ago. */
function inTurn({ renders, turnsAt, context, ...loop }: DriftLoop, { release, source }: Work, track: string): Standing {
  const standing = standingClusters(chainNow(loop, release), release)
  const before = turnsAt.get(track)
  const turnAt = ({ spec }: Release): number => before?.get(spec.commit) ?? 0
  const isKept = ({ spec }: Release): boolean => renders.isKept(source, spec.commit)
  const next = standing.filter(([from]) => !isKept(from)).toSorted(([a], [b]) => turnAt(a) - turnAt(b))[0]
  const now = standing.filter((one) => one === next || isKept(one[0]))
  const compared = new Set(now.map(([from]) => from))
  const at = (from: Release): number => (compared.has(from) ? context.clock.monotonic() : turnAt(from))
  turnsAt.set(track, new Map(standing.map(([from]) => [from.spec.commit, at(from)])))
  return now
}

/** The source may have changed since then: unknown never disrupts, and it does not block the other clusters. */
const renderingAside = ({ renders, sources }: DriftLoop, work: Work): ReturnType<typeof rendering> =>
  rendering({ sources, renders: { render: renders.renderAside.bind(renders) } }, work).catch((error: unknown) => {
    work.signal.throwIfAborted()
    return { problem: printableLine(messageOf(error)), reason: 'RenderUnavailable' as const }
  })

function recordUnchecked(
  { context }: DriftLoop,
  release: Release,
  [first = '', ...others]: readonly string[],
  why: string,
) {
  const names = others.length === 0 ? first : `${first} and ${counted(others.length, 'other cluster')}`
  const note = shortened(`${names}: not compared until this release reaches it: ${why}`, 1_000)
  context.events.record(release, { type: 'Warning', reason: 'DriftUnchecked', action: 'Apply', note })
}

/** The hub gets the Clusters of others in their turns, and is compared once these are over. What a failed or reverted Release brought is for a person or a revert. */
export function settledClusters(release: Release): readonly string[] {
  if (release.status?.phase === 'Succeeded') return [...settledIn(release)]
  if (isGivenUp(release)) return []
  const open = new Set([...openClusters(release), HUB])
  return [...settledIn(release)].filter((name) => !open.has(name))
}

const isGivenUp = ({ status = {}, spec }: Release, later: readonly Release[] = []): boolean =>
  isReverted(status) ||
  status.stages?.some((s) => s.phase === 'Failed') === true ||
  later.some((r) => r.spec.revertOf === spec.commit)

/** Those of most clusters first. */
export function standingClusters(chain: readonly Release[], release: Release): Standing {
  const standing = new Map<Release, string[]>()
  for (const { name } of release.status?.clusters ?? []) {
    const from = name === HUB ? undefined : standingIn(chain, release, name)
    if (from !== undefined) standing.set(from, [...(standing.get(from) ?? []), name])
  }
  const kept = [...standing].filter(([from]) => !isGivenUp(from, chain.slice(chain.indexOf(from))))
  return kept.toSorted(([, a], [, b]) => b.length - a.length)
}

// Keeps clusters as git declares them: reverts, or reports, changes by other clients. A stage may wait for days, so clusters that the newest Release has not
// reached are kept at what they have. Never brings content to a cluster that did not have it.
import type { Release } from '#api/kinds/release.ts'
import { createdMs, keyFrom, namespacedName } from '#api/schema/object-meta.ts'
import { parseDuration } from '#lib/duration.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import { refText } from '#delivery/object-ref.ts'
import { done, requeueAfter, type Outcome } from '#runtime/outcome.ts'
import { standingIn } from '../release/chain.ts'
import { openClusters } from '../release/release-seen.ts'
import { HUB, LEAVING } from '../release/tracks.ts'
import { isReverted } from '../revert/policy.ts'
import { ClusterPasses, type Orders, settledIn } from './release-apply.ts'
import { type Rendering, rendering } from './release-rendering.ts'
import { recordEvents } from './release-report.ts'
import { chainNow, newerThan, ofClustersNow, type Work } from './release-work.ts'
import type { HubShared } from './shared.ts'

/** How often clusters are compared with what was released there, at most. */
const DRIFT_MS = 60_000
/** Renders kept at once: more of them would drive each other, and those of the newest commits, out of memory. */
const MOST_STANDING = 3

export interface DriftLoop extends HubShared {
  readonly passes: ClusterPasses
  /** By track of a source: commits that come faster than comparisons must not put them off. */
  readonly comparedAt: Map<string, number>
}

export function driftLoop(shared: HubShared): DriftLoop {
  const comparedAt = new Map<string, number>()
  shared.sources.onChange((old, now) => {
    if (old === undefined || now !== undefined) return
    for (const track of comparedAt.keys()) if (track.startsWith(`${namespacedName(old)}/`)) comparedAt.delete(track)
  })
  return { ...shared, passes: new ClusterPasses(shared), comparedAt }
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
  for (const [name, report] of await loop.passes.keep(work, await ordersOf(loop, work)))
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
async function ordersOf(loop: DriftLoop, work: Work): Promise<Orders> {
  const { release } = work
  const newest = await rendering(loop, work)
  // Its own loop reports that.
  if ('problem' in newest) return new Map()
  const orders = new Map<string, { work: Work; rendered: Rendering }>()
  for (const name of settledClusters(release)) orders.set(name, { work, rendered: newest })
  for (const [from, names] of standingClusters(chainNow(loop, release), release)) {
    const own: Work = { ...work, release: from, awaited: release }
    const rendered = await rendering(loop, own)
    // The source has changed since then: unknown never disrupts.
    if ('problem' in rendered) continue
    for (const name of names) orders.set(name, { work: own, rendered: withoutMoved(rendered, newest, name) })
  }
  return orders
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

/** By the Release that they have: of those with most clusters. */
export function standingClusters(
  chain: readonly Release[],
  release: Release,
): readonly (readonly [Release, readonly string[]])[] {
  const standing = new Map<Release, string[]>()
  for (const { name } of release.status?.clusters ?? []) {
    const from = name === HUB ? undefined : standingIn(chain, release, name)
    if (from !== undefined) standing.set(from, [...(standing.get(from) ?? []), name])
  }
  const kept = [...standing].filter(([from]) => !isGivenUp(from, chain.slice(chain.indexOf(from))))
  return kept.toSorted(([, a], [, b]) => b.length - a.length).slice(0, MOST_STANDING)
}

/** What the newest commit declares in another track or for the hub may be there already, with other content. */
function withoutMoved(rendered: Rendering, newest: Rendering, name: string): Rendering {
  const target = rendered.targets.get(name)
  if (target === undefined || target === LEAVING) return rendered
  const moved = new Set([...newest.elsewhere(name), ...newest.declaredFor(HUB)])
  const objects = target.objects.filter(({ ref }) => !moved.has(refText(ref)))
  return { ...rendered, targets: new Map([[name, { ...target, objects }]]) }
}

// Keeps clusters as git declares them: reverts, or reports, changes by other clients. A stage may wait for days, so clusters that the newest Release has not
// reached are kept at what they have. Never brings content to a cluster that did not have it.
import type { Release } from '#api/kinds/release.ts'
import { createdMs, keyFrom, namespacedName } from '#api/schema/object-meta.ts'
import { parseDuration } from '#lib/duration.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import { done, requeueAfter, type Outcome } from '#runtime/outcome.ts'
import { standingIn } from '../release/chain.ts'
import { openClusters } from '../release/release-seen.ts'
import { HUB } from '../release/tracks.ts'
import { isHeldNow } from './exempt-revert.ts'
import { ClusterPasses, type Orders } from './release-apply.ts'
import { type Rendering, rendering } from './release-rendering.ts'
import { recordEvents } from './release-report.ts'
import { chainNow, newerThan, ofClustersNow, type Work } from './release-work.ts'
import type { HubShared } from './shared.ts'

/** How often clusters are compared with what was released there, at most. */
const DRIFT_MS = 60_000
/** A person or a revert changes the clusters that it reached. */
const STOPPED: ReadonlySet<string> = new Set(['Failed', 'Reverted', 'Superseded'])
/** Includes clusters that it did not change: it is the newest Release of the track, so no other one protects them. */
const SETTLED: ReadonlySet<string> = new Set(['Healthy', 'Unchanged'])

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
  const held: Work = { ...work, isHeld: isHeldNow(loop.holds.list(), work, clock.now()) }
  for (const [name, report] of await loop.passes.keep(held, await ordersOf(loop, held)))
    recordEvents(events, release, name, report)
  if (!loop.passes.hasLeft(key)) return requeueAfter(everyMs)
  loop.comparedAt.delete(track)
  return requeueAfter(0)
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
  const chain = chainNow(loop, release)
  const open = new Set(openClusters(release))
  const all = release.status?.clusters ?? []
  const isStopped = STOPPED.has(release.status?.phase ?? '')
  const settled = isStopped ? [] : all.filter((c) => SETTLED.has(c.phase) && !open.has(c.name)).map((c) => c.name)
  const kept = new Map<Release, string[]>([[release, settled]])
  for (const { name } of all) {
    const standing = name === HUB ? undefined : standingIn(chain, release, name)
    if (standing !== undefined) kept.set(standing, [...(kept.get(standing) ?? []), name])
  }
  const orders = new Map<string, { work: Work; rendered: Rendering }>()
  for (const [from, names] of kept) {
    if (names.length === 0) continue
    const own = from === release ? work : { ...work, release: from, awaited: release }
    const rendered = await rendering(loop, own)
    // Its own loop reports that a commit no longer renders to what was released.
    if ('problem' in rendered) continue
    for (const name of names) orders.set(name, { work: own, rendered })
  }
  return orders
}

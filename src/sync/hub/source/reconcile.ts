// Follows one FleetSource: fetch, render, apply what belongs on the hub, and make a Release for each track whose objects changed.
// On any failure the last applied state stays in force, and the status reports the failure.
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { keyFrom } from '#api/schema/object-name.ts'
import { parseDuration } from '#lib/duration.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import { done, requeueAfter, type Outcome } from '#runtime/outcome.ts'
import { writeStatus, writtenOrThrow } from '#runtime/write-status.ts'
import { releasesIn } from '../../release/chain.ts'
import { createTrustMetrics } from '../metrics.ts'
import type { HubShared } from '../shared.ts'
import { act } from './act.ts'
import { type SourceLoop, observe } from './observe.ts'
import { plan } from './plan.ts'
import { statusOf, troubleOf } from './status.ts'

/** Even a failure that only a commit can fix needs polling, since a commit causes no event. */
const AT_LEAST_MS = 1_000

export function sourceLoop(shared: HubShared): SourceLoop {
  const hubDone: SourceLoop['hubDone'] = new Map()
  // A Cluster that git brought back while it was being deleted still looked as declared then.
  shared.clusters.onChange((_, now) => void (now === undefined && hubDone.clear()))
  return { ...shared, trustMetrics: createTrustMetrics(shared.context.metrics), hubDone }
}

export async function reconcileSource(
  loop: SourceLoop,
  key: string,
  { signal, log }: ReconcileContext,
): Promise<Outcome> {
  const source = loop.sources.get(keyFrom(key))
  if (source === undefined || source.metadata.deletionTimestamp !== undefined) return done
  const { clock, client } = loop.context
  loop.renders.removeUnused(loop.sources.list())
  const seen = await observe(loop, source, signal)
  const results = await act(loop, seen, plan(seen, clock.monotonic()), signal)
  if (seen.declared?.kind === 'Declared' && 'retiredUnread' in seen.declared) throw seen.declared.retiredUnread
  const releases = releasesIn(loop.releases.list(), source.metadata.namespace)
  const status = statusOf(seen, results, { releases, now: clock.now() })
  const own = { client, type: fleetSource, fieldManager: FIELD_MANAGERS.sync, cache: loop.sources }
  writtenOrThrow(await writeStatus({ ...own, object: source, status, signal }))
  const trouble = troubleOf(seen, results)
  const told = source.status?.conditions?.find((c) => c.type === trouble?.type)?.message
  if (trouble !== undefined && told !== trouble.message)
    log.warn('source is out of sync', { reason: trouble.reason, detail: trouble.message })
  // Many commits are verified in several passes.
  if (seen.trust?.kind === 'Running') return requeueAfter(AT_LEAST_MS)
  return requeueAfter(Math.max(AT_LEAST_MS, parseDuration(source.spec.interval)))
}

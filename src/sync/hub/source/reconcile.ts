// Follows one FleetSource: fetch, render, apply the hub's objects, and make a Release for each track whose objects changed. On any failure the last
// applied state stays in force, and the status reports the failure.
import { fleetSource, type FleetSource } from '#api/kinds/fleet-source.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { keyFrom } from '#api/schema/object-meta.ts'
import type { Reconcile } from '#runtime/controller.ts'
import { requeueAfter } from '#runtime/outcome.ts'
import { reconcileWith } from '#runtime/reconcile-with.ts'
import { writeStatus } from '#runtime/write-status.ts'
import type { ApplyReport } from '../../cluster/apply.ts'
import { releasesIn } from '../../release/chain.ts'
import { createTrustMetrics } from '../metrics.ts'
import type { HubShared } from '../shared.ts'
import { act } from './act.ts'
import { type SourceLoop, observe } from './observe.ts'
import { type SourceAction, type SourcePlan, plan } from './plan.ts'
import type { Seen } from './seen.ts'
import { statusOf, trackResults, troubleOf } from './status.ts'

export function sourceLoop(shared: HubShared): SourceLoop {
  const hubDone: SourceLoop['hubDone'] = new Map()
  // A Cluster that git restored while it was being deleted still looked as declared at that time.
  shared.clusters.onChange((_, now) => void (now === undefined && hubDone.clear()))
  return { ...shared, trustMetrics: createTrustMetrics(shared.context.metrics), hubDone, hubPassed: new Set() }
}

interface Verdict {
  readonly status: NonNullable<FleetSource['status']>
  readonly trouble: ReturnType<typeof troubleOf>
}

export function reconcileSource(loop: SourceLoop): Reconcile {
  const { clock, client } = loop.context
  const reconcile = reconcileWith<Seen, SourceAction, Verdict, SourcePlan, ApplyReport | undefined>({
    clock,
    observe: async (key, { signal }) => {
      const source = loop.sources.get(keyFrom(key))
      if (source === undefined || source.metadata.deletionTimestamp !== undefined) return undefined
      loop.renders.removeUnused(loop.sources.list())
      return observe(loop, source, signal)
    },
    plan: (seen) => plan(seen, clock.monotonic()),
    act: (action, seen, { signal }) => act(loop, action, seen, signal),
    logged: ({ kind, track }, outcome) =>
      kind === 'ApplyToHub' && outcome.kind === 'Applied' && !hasWritten(outcome.object) ? undefined : { track },
    status: (seen, planned, results) => {
      const releases = releasesIn(loop.releases.list(), seen.source.metadata.namespace)
      const tracks = trackResults(planned, results)
      return { status: statusOf(seen, tracks, { releases, now: clock.now() }), trouble: troubleOf(seen, tracks) }
    },
    writeStatus: async ({ status, trouble }, { source, declared }, { signal, log }) => {
      // The list of dropped tracks may be incomplete.
      if (declared?.kind === 'Declared' && 'retiredUnread' in declared) throw declared.retiredUnread
      const own = { client, type: fleetSource, fieldManager: FIELD_MANAGERS.sync, cache: loop.sources }
      const written = await writeStatus({ ...own, object: source, status, signal })
      const reported = source.status?.conditions?.find((c) => c.type === trouble?.type)?.message
      if (trouble !== undefined && trouble.reason !== 'Progressing' && reported !== trouble.message)
        log.warn('source is out of sync', { reason: trouble.reason, detail: trouble.message })
      return written
    },
  })
  return async (key, context) => {
    const outcome = await reconcile(key, context)
    return loop.hubPassed.delete(key) && outcome.kind !== 'Retry' ? requeueAfter(0) : outcome
  }
}

const hasWritten = (report: ApplyReport | undefined): boolean =>
  report?.result !== undefined && report.result.applied + report.result.pruned > 0

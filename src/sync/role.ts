// The sync role: loops on the hub, one per FleetSource, one per Release, one against drift, two for notifications, and a fast check of local repositories so
// that a commit is noticed immediately.
import type { Release } from '#api/kinds/release.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { ANNOTATIONS, HUB_TARGET } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import type { Controller } from '#runtime/controller.ts'
import type { Part } from '#runtime/manager.ts'
import { controllerIn, type Module, type RunningModule } from '#runtime/module.ts'
import { ALL, type BrakeLoop, DECIDE, reconcileBrake } from './brake/reconcile.ts'
import { isLocal } from './git/local-url.ts'
import type { SyncContext } from './hub/context.ts'
import { driftLoop, keepFromDrifting } from './hub/drift.ts'
import { healthLoop, reconcileClusterHealth } from './hub/cluster-health.ts'
import { type ReleaseLoop, reconcileRelease, releaseLoop } from './hub/release.ts'
import { releaseMetrics } from './hub/release-metrics.ts'
import { type HubCaches, type HubShared, hubShared } from './hub/shared.ts'
import { reconcileSource, sourceLoop } from './hub/source/reconcile.ts'
import { hasProgressed } from './release/has-progressed.ts'
import { reconcilePreviews } from './previews/reconcile.ts'
import { createNotifyMetrics } from './notify/metrics.ts'
import { notifyOfRelease, notifyOfSource } from './notify/reconcile.ts'

export type { SyncConfig, SyncContext } from './hub/context.ts'

/** A render may take half a minute, a fetch longer, and hundreds of clusters add up. */
const SOURCE_TIMEOUT_MS = 180_000
const RELEASE_TIMEOUT_MS = 300_000
/** A pass as long as that of a Release, after the renders of several commits. */
const DRIFT_TIMEOUT_MS = 600_000
/** Pushing a note may take a minute. */
const NOTIFY_TIMEOUT_MS = 150_000
/** Clusters that do not answer are waited for in parallel. */
const HEALTH_WORKERS = 16
/** Git servers that do not answer take half a minute to two minutes each. Memory and CPU time are limited where they are used. */
const SOURCE_WORKERS = 16
const DEFAULT_LOCAL_POLL_MS = 500

export const syncModule: Module<SyncContext> = { name: 'sync', setup }

function setup(context: SyncContext): RunningModule {
  const shared = hubShared(context)
  const ofReleases = releaseLoop(shared, (key) => releases.enqueue(key))
  const ofHealth = healthLoop(shared)
  const sources = controllerIn(context, {
    name: 'fleetsource',
    workers: SOURCE_WORKERS,
    timeoutMs: SOURCE_TIMEOUT_MS,
    reconcile: reconcileSource(sourceLoop(shared)),
  })
  const releases = controllerIn(context, {
    name: 'release',
    timeoutMs: RELEASE_TIMEOUT_MS,
    reconcile: (key, c) => reconcileRelease(ofReleases, key, c),
  })
  const ofDrift = driftLoop(shared)
  const drift = controllerIn(context, {
    name: 'drift',
    workers: SOURCE_WORKERS,
    timeoutMs: DRIFT_TIMEOUT_MS,
    reconcile: (key, c) => keepFromDrifting(ofDrift, key, c),
  })
  const previews = controllerIn(context, {
    name: 'fleetsource-previews',
    workers: SOURCE_WORKERS,
    timeoutMs: RELEASE_TIMEOUT_MS,
    reconcile: (key, c) => reconcilePreviews(shared, key, c),
  })
  const notifyMetrics = createNotifyMetrics(context.metrics)
  const sourceNews = controllerIn(context, {
    name: 'fleetsource-notify',
    timeoutMs: NOTIFY_TIMEOUT_MS,
    reconcile: (key, c) => notifyOfSource(shared, notifyMetrics, key, c),
  })
  const releaseNews = controllerIn(context, {
    name: 'release-notify',
    timeoutMs: NOTIFY_TIMEOUT_MS,
    reconcile: (key, c) => notifyOfRelease(shared, notifyMetrics, key, c),
  })
  const health = controllerIn(context, {
    name: 'cluster-health',
    workers: HEALTH_WORKERS,
    reconcile: (key, c) => reconcileClusterHealth(ofHealth, key, c),
  })
  const brake = brakeController(context, shared, releases)
  wake(shared, sources, releases)
  wakeDrift(shared, drift)
  wakeNews(shared, sourceNews, releaseNews)
  wakePreviews(shared, previews)
  shared.clusters.onChange((old, now) => {
    if (now === undefined) {
      if (old !== undefined) shared.connections.forget(namespacedName(old))
      return
    }
    const isChanged = old?.metadata.generation !== now.metadata.generation
    // The phase shows when a control plane on the hub starts or stops answering.
    const isOther = now.spec.controlPlane !== undefined && old?.status?.phase !== now.status?.phase
    if (isChanged || isOther) health.enqueue(namespacedName(now))
  })
  return {
    controllers: [sources, releases, drift, previews, sourceNews, releaseNews, health, brake],
    parts: [
      localWatch(shared, sources),
      resources(shared, ofReleases),
      releaseMetrics(context.metrics, shared.releases, context.clock),
    ],
  }
}

/** One of its clusters starts, ends, or waits for something else. */
const isOther = (old: Release, now: Release): boolean => workOf(old) !== workOf(now)
const workOf = ({ status }: Release): string =>
  JSON.stringify([status?.phase, (status?.clusters ?? []).map((c) => [c.name, c.phase, c.waitingFor?.predicate])])

/** One key for each Cluster, and one for the hub itself. */
function brakeController(context: SyncContext, shared: HubShared, releases: Controller): Controller {
  const { brake: book, clusters, holds, policies } = shared
  const each = () => clusters.list().map(namespacedName)
  const controller: Controller = controllerIn(context, {
    name: 'fleet-brake',
    workers: HEALTH_WORKERS,
    reconcile: (key, c) => reconcileBrake(loop, key, c),
  })
  const loop: BrakeLoop = {
    ...shared,
    book,
    wake: (keys) => {
      for (const key of keys.includes(ALL) ? each() : keys) controller.enqueue(key)
    },
    wakeReleases: () => enqueueEach(releases, shared.releases.list()),
  }
  clusters.onChange((old, now) => {
    const object = now ?? old
    if (object !== undefined && (old === undefined || now === undefined)) controller.enqueue(namespacedName(object))
  })
  // Decides the turn at once when a cluster starts, ends or wants to start.
  shared.releases.onChange((old, now) => {
    if (book.limits.maxChanging !== undefined && (old === undefined || now === undefined || isOther(old, now)))
      controller.enqueue(DECIDE)
  })
  holds.onChange((old, now) => {
    if ((now ?? old)?.spec.target.kind === 'FleetBrake') controller.enqueue(DECIDE)
  })
  policies.onChange(() => controller.enqueue(HUB_TARGET))
  controller.enqueue(HUB_TARGET)
  return controller
}

type Changed = { readonly metadata: { readonly generation?: number } } | undefined

/** Also made or deleted. */
const specChanged = (old: Changed, now: Changed): boolean =>
  old === undefined || now === undefined || old.metadata.generation !== now.metadata.generation

function enqueueEach(controller: Controller, objects: readonly KubeObject[]): void {
  for (const object of objects) controller.enqueue(namespacedName(object))
}

/** Changes on the hub wake the affected keys. A source has few Releases, so all of them are woken. */
function wake(caches: HubCaches, sources: Controller, releases: Controller): void {
  const everySource = () => enqueueEach(sources, caches.sources.list())
  const openReleases = () => enqueueEach(releases, caches.releases.list())
  caches.sources.onChange((old, now) => {
    // Whether a source may be followed depends on the other sources.
    if (old === undefined || now === undefined) {
      everySource()
      openReleases()
    } else if (specChanged(old, now) || isAsked(old, now)) sources.enqueue(namespacedName(now))
  })
  caches.pipelines.onChange((old, now) => {
    if (!specChanged(old, now)) return
    everySource()
    openReleases()
  })
  caches.releases.onChange((old, now) => {
    const object = now ?? old
    if (object === undefined) return
    const hasEnded = now?.status?.phase !== old?.status?.phase
    // A new Release supersedes the others; a finished one changes its source's status.
    if (old === undefined || now === undefined) openReleases()
    else if (specChanged(old, now) || hasProgressed(old, now)) releases.enqueue(namespacedName(now))
    if (hasEnded) sources.enqueue(`${object.metadata.namespace ?? ''}/${object.spec.source}`)
  })
  caches.clusters.onChange((old, now) => {
    // After a restore, the cluster has what was declared when the snapshot was taken.
    if (specChanged(old, now) || old?.status?.restored !== now?.status?.restored) openReleases()
    if (now === undefined) everySource()
  })
  caches.holds.onChange(() => {
    everySource()
    openReleases()
  })
  caches.approvals.onChange(() => {
    everySource()
    openReleases()
  })
}

/** A Release that waits has no events of its own: the loop comes back at each interval. */
function wakeDrift(caches: HubCaches, drift: Controller): void {
  const each = () => enqueueEach(drift, caches.releases.list())
  caches.releases.onChange((old, now) => {
    if (old === undefined || now === undefined) each()
    else if (old.status?.phase !== now.status?.phase) drift.enqueue(namespacedName(now))
  })
  caches.sources.onChange((old, now) => {
    if (specChanged(old, now)) each()
  })
  caches.pipelines.onChange((old, now) => {
    if (old === undefined || now === undefined) each()
  })
}

/** Any change may be news; news that was already sent only costs a comparison. A new target gets the current state. */
function wakeNews(caches: HubCaches, sources: Controller, releases: Controller): void {
  caches.sources.onChange((old, now) => {
    if (now === undefined) return
    sources.enqueue(namespacedName(now))
    if (specChanged(old, now)) enqueueEach(releases, caches.releases.list())
  })
  caches.releases.onChange((_, now) => {
    if (now !== undefined) releases.enqueue(namespacedName(now))
  })
}

/** A branch causes no event: the loop reads the branches at each interval, and immediately when a user or a webhook requests it. */
function wakePreviews(caches: HubCaches, previews: Controller): void {
  caches.sources.onChange((old, now) => {
    const object = now ?? old
    if (object === undefined) return
    const isNews = old === undefined || now === undefined || old.metadata.generation !== now.metadata.generation
    if (isNews || isAsked(old, now)) previews.enqueue(namespacedName(object))
  })
  caches.clusters.onChange((old, now) => {
    const of = (now ?? old)?.metadata.annotations?.[ANNOTATIONS.previewOf]
    // Include every one found at start: its source may have been deleted while no sync ran, and then nothing else refers to it.
    const isNews = old === undefined || now === undefined || old.status?.phase !== now.status?.phase
    if (of !== undefined && isNews) previews.enqueue(of)
  })
}

/** Requested by a user, or by a git server's webhook. */
const isAsked = (old: FleetSource, now: FleetSource): boolean => {
  const asked = now.metadata.annotations?.[ANNOTATIONS.reconcile]
  return asked !== undefined && asked !== old.metadata.annotations?.[ANNOTATIONS.reconcile]
}

/** Reading a ref of a local repository takes a tenth of a millisecond: it is polled often, and only a change wakes the loop. */
function localWatch({ context, sources, renders }: HubShared, controller: Controller): Part {
  const { clock, config } = context
  const seen = new Map<string, string>()
  let timer: { cancel(): void } | undefined
  let isStopped = false
  const check = async () => {
    for (const source of sources.list()) {
      if (!isLocal(source.spec.url)) continue
      const key = namespacedName(source)
      const now = await renders.fetch(source).then(
        ({ commit }) => commit,
        // The loop itself reports an unreadable repository.
        () => 'unreadable',
      )
      if (seen.get(key) !== now) controller.enqueue(key)
      seen.set(key, now)
    }
    if (!isStopped) timer = clock.after(config.localPollMs ?? DEFAULT_LOCAL_POLL_MS, () => void check())
  }
  return {
    name: 'local-repositories',
    start: () => {
      renders.prepare()
      void check()
    },
    stop: () => {
      isStopped = true
      timer?.cancel()
    },
  }
}

/** Resources held until the role ends. */
const resources = ({ connections, hub }: HubShared, { gateReads }: Pick<ReleaseLoop, 'gateReads'>): Part => ({
  name: 'sync-connections',
  start: () => undefined,
  stop: () => {
    gateReads.stop()
    connections.close()
    hub.close()
  },
})

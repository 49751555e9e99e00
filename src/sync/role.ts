// The sync role: loops on the hub, one per FleetSource and one per Release, two that notify of both, and a fast check of local repositories so that a commit is noticed at once.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { ANNOTATIONS } from '#api/names.ts'
import type { Controller } from '#runtime/controller.ts'
import type { Part } from '#runtime/manager.ts'
import { controllerIn, type Module, type RunningModule } from '#runtime/module.ts'
import { isLocal } from './git/local-url.ts'
import type { SyncContext } from './hub/context.ts'
import { reconcileClusterHealth } from './hub/cluster-health.ts'
import { hubParts, type HubParts } from './hub/parts.ts'
import { keyOf } from './hub/keys.ts'
import { reconcileRelease } from './hub/release.ts'
import { reconcileSource } from './hub/source/reconcile.ts'
import { hasProgressed } from './release/has-progressed.ts'
import { reconcilePreviews } from './previews/reconcile.ts'
import { createNotifyMetrics } from './notify/metrics.ts'
import { notifyOfRelease, notifyOfSource } from './notify/reconcile.ts'

export type { SyncConfig, SyncContext } from './hub/context.ts'

/** A render may take half a minute, a fetch longer, and hundreds of clusters their time. */
const SOURCE_TIMEOUT_MS = 180_000
const RELEASE_TIMEOUT_MS = 300_000
/** The push of a note may take a minute. */
const NOTIFY_TIMEOUT_MS = 150_000
/** Clusters that do not answer are waited for together. */
const HEALTH_WORKERS = 16
/** Git servers that do not answer, for half a minute to two each. What costs memory and processor time is bounded where it is done. */
const SOURCE_WORKERS = 16
const DEFAULT_LOCAL_POLL_MS = 500

export const syncModule: Module<SyncContext> = { name: 'sync', setup }

function setup(context: SyncContext): RunningModule {
  const parts = hubParts(context, (key) => releases.enqueue(key))
  const sources = controllerIn(context, {
    name: 'fleetsource',
    workers: SOURCE_WORKERS,
    timeoutMs: SOURCE_TIMEOUT_MS,
    reconcile: (key, c) => reconcileSource(parts, key, c),
  })
  const releases = controllerIn(context, {
    name: 'release',
    timeoutMs: RELEASE_TIMEOUT_MS,
    reconcile: (key, c) => reconcileRelease(parts, key, c),
  })
  const previews = controllerIn(context, {
    name: 'fleetsource-previews',
    workers: SOURCE_WORKERS,
    timeoutMs: RELEASE_TIMEOUT_MS,
    reconcile: (key, c) => reconcilePreviews(parts, key, c),
  })
  const told = createNotifyMetrics(context.metrics)
  const sourceNews = controllerIn(context, {
    name: 'fleetsource-notify',
    timeoutMs: NOTIFY_TIMEOUT_MS,
    reconcile: (key, c) => notifyOfSource(parts, told, key, c),
  })
  const releaseNews = controllerIn(context, {
    name: 'release-notify',
    timeoutMs: NOTIFY_TIMEOUT_MS,
    reconcile: (key, c) => notifyOfRelease(parts, told, key, c),
  })
  const health = controllerIn(context, {
    name: 'cluster-health',
    workers: HEALTH_WORKERS,
    reconcile: (key, c) => reconcileClusterHealth(parts, key, c),
  })
  wake(parts, sources, releases)
  wakeNews(parts, sourceNews, releaseNews)
  wakePreviews(parts, previews)
  parts.clusters.onChange((old, now) => {
    if (now === undefined) {
      if (old !== undefined) parts.connections.forget(keyOf(old))
      return
    }
    const isChanged = old?.metadata.generation !== now.metadata.generation
    // A control plane on the hub answers, or stops to, with its phase.
    const isOther = now.spec.controlPlane !== undefined && old?.status?.phase !== now.status?.phase
    if (isChanged || isOther) health.enqueue(keyOf(now))
  })
  return {
    controllers: [sources, releases, previews, sourceNews, releaseNews, health],
    parts: [localWatch(parts, sources)],
  }
}

/** Changes on the hub wake the affected keys. Releases of a source are few, so they are all woken. */
function wake(parts: HubParts, sources: Controller, releases: Controller): void {
  const everySource = () => {
    for (const s of parts.sources.list()) sources.enqueue(keyOf(s))
  }
  const openReleases = () => {
    for (const r of parts.releases.list()) releases.enqueue(keyOf(r))
  }
  const specChanged = (old: { metadata: { generation?: number } } | undefined, now: typeof old) =>
    old === undefined || now === undefined || old.metadata.generation !== now.metadata.generation
  parts.sources.onChange((old, now) => {
    // Whether a source may be followed depends on the others.
    if (old === undefined || now === undefined) {
      everySource()
      openReleases()
    } else if (specChanged(old, now) || isAsked(old, now)) sources.enqueue(keyOf(now))
  })
  parts.pipelines.onChange((old, now) => {
    if (!specChanged(old, now)) return
    everySource()
    openReleases()
  })
  parts.releases.onChange((old, now) => {
    const object = now ?? old
    if (object === undefined) return
    const hasEnded = now?.status?.phase !== old?.status?.phase
    // A new Release supersedes the others; one that ends changes the status of its source.
    if (old === undefined || now === undefined) openReleases()
    else if (specChanged(old, now) || hasProgressed(old, now)) releases.enqueue(keyOf(now))
    if (hasEnded) sources.enqueue(`${object.metadata.namespace ?? ''}/${object.spec.source}`)
  })
  parts.clusters.onChange((old, now) => {
    // After a restore it has what was declared when the snapshot was taken.
    if (specChanged(old, now) || old?.status?.restored !== now?.status?.restored) openReleases()
    // One that git brought back while it was being deleted still looked as declared then.
    if (now === undefined) {
      parts.hubDone.clear()
      everySource()
    }
  })
  parts.holds.onChange(() => {
    everySource()
    openReleases()
  })
  parts.approvals.onChange(() => {
    everySource()
    openReleases()
  })
}

/** Any change may be news; news that was sent already costs a comparison. A target that was added gets the current state. */
function wakeNews(parts: HubParts, sources: Controller, releases: Controller): void {
  parts.sources.onChange((old, now) => {
    if (now === undefined) return
    sources.enqueue(keyOf(now))
    if (old === undefined || old.metadata.generation !== now.metadata.generation)
      for (const r of parts.releases.list()) releases.enqueue(keyOf(r))
  })
  parts.releases.onChange((_, now) => {
    if (now !== undefined) releases.enqueue(keyOf(now))
  })
}

/** A branch causes no event: the loop reads the branches at each interval, and at once when a user or a webhook asks. */
function wakePreviews(parts: HubParts, previews: Controller): void {
  parts.sources.onChange((old, now) => {
    const object = now ?? old
    if (object === undefined) return
    const isNews = old === undefined || now === undefined || old.metadata.generation !== now.metadata.generation
    if (isNews || isAsked(old, now)) previews.enqueue(keyOf(object))
  })
  parts.clusters.onChange((old, now) => {
    const of = (now ?? old)?.metadata.annotations?.[ANNOTATIONS.previewOf]
    // Each one that a start finds, too: its source may have been deleted while no sync ran, and then nothing else names it.
    const isNews = old === undefined || now === undefined || old.status?.phase !== now.status?.phase
    if (of !== undefined && isNews) previews.enqueue(of)
  })
}

/** By a person, or a webhook of a git server. */
const isAsked = (old: FleetSource, now: FleetSource): boolean => {
  const asked = now.metadata.annotations?.[ANNOTATIONS.reconcile]
  return asked !== undefined && asked !== old.metadata.annotations?.[ANNOTATIONS.reconcile]
}

/** Reading a ref of a local repository costs a tenth of a millisecond: it is polled often, and only a change wakes the loop. */
function localWatch(parts: HubParts, sources: Controller): Part {
  const { clock, config } = parts.context
  const seen = new Map<string, string>()
  let timer: { cancel(): void } | undefined
  let isStopped = false
  const look = async () => {
    for (const source of parts.sources.list()) {
      if (!isLocal(source.spec.url)) continue
      const key = keyOf(source)
      const now = await parts.renders.fetch(source).then(
        ({ commit }) => commit,
        // The loop reports that it cannot be read.
        () => 'unreadable',
      )
      if (seen.get(key) !== now) sources.enqueue(key)
      seen.set(key, now)
    }
    if (!isStopped) timer = clock.after(config.localPollMs ?? DEFAULT_LOCAL_POLL_MS, () => void look())
  }
  return {
    name: 'local-repositories',
    start: () => {
      parts.renders.prepare()
      void look()
    },
    stop: () => {
      isStopped = true
      timer?.cancel()
      parts.gateReads.stop()
      parts.connections.close()
      parts.hub.close()
    },
  }
}

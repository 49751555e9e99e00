// From a commit to every cluster: sync over a hub of its own and many light API servers, which speak TLS and keep objects in memory. Then a pass over
// clusters in which nothing changed. The figures are those of the process that runs sync; the hub and the clusters are processes of their own.
// `alone=500` measures one thing only: the memory of sync as a program, without this benchmark in its process, over so many clusters and two commits.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cluster } from '#api/kinds/cluster.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { createEventRecorder } from '#kube/events.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { newsReader } from '#explain/release/news.ts'
import { syncModule } from '#sync/role.ts'
import { shiftedClock } from '#test/support/clocks/shifted-clock.ts'
import { syncProgramAt } from '#test/support/benches/sync-program.ts'
import { startEmbedded } from './apiserver/servers.ts'
import { rounded } from './result.ts'
import type { BenchOptions, BenchResult, Figures } from './result.ts'
import { commitFleet, initFleet } from './sync/fleet-repository.ts'
import { LightServers } from './sync/light-servers.ts'
import {
  LOOK_MS,
  WITHIN_MS,
  configOf,
  fleetCode,
  kubeconfigOf,
  prepareHub,
  succeeded,
  until,
} from './sync/prepared-hub.ts'

const OBJECTS = 100
const FEW = 100
const MANY = 500
/** The loop over a finished release starts this long after it ended. */
const QUIET_MS = 61_000
/** Every cluster is asked for its health within this. */
const REPORTED_MS = 76_000

// Few objects are read one by one, and the pass in which nothing changes is known by its lists.
export const smoke: Figures = { few: 2, many: 0, objects: 20 }

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const objects = numbers['objects'] ?? OBJECTS
  const alone = numbers['alone'] ?? 0
  if (alone > 0) {
    const figures = { rss_mb: await memoryAlone(alone, objects), clusters: alone, objects }
    return { figures, peer: null, ratio: {} }
  }
  const few = numbers['few'] ?? FEW
  const many = numbers['many'] ?? MANY
  const small = await measured(few, objects, 'few')
  const large = many > 0 ? await measured(many, objects, 'many') : undefined
  return {
    figures: {
      sync_100x100_s: small['sync_s'] ?? Number.NaN,
      change_100x100_s: small['change_s'] ?? Number.NaN,
      noop_100_s: small['noop_s'] ?? Number.NaN,
      noop_writes: small['noop_writes'] ?? Number.NaN,
      cpu_100x100_s: small['cpu_s'] ?? Number.NaN,
      noop_cpu_100_s: small['noop_cpu_s'] ?? Number.NaN,
      ...(large !== undefined && {
        sync_500x100_s: large['sync_s'] ?? Number.NaN,
        change_500x100_s: large['change_s'] ?? Number.NaN,
        noop_500_s: large['noop_s'] ?? Number.NaN,
        cpu_500x100_s: large['cpu_s'] ?? Number.NaN,
      }),
      clusters: many > 0 ? many : few,
      objects,
      // Of this process, which also runs the benchmark: before the first commit, sources and benchmark alone have some 190.
      rss_mb: rounded(process.resourceUsage().maxRSS / 1024),
      // What a hub pays: sync as a program, without this benchmark around it.
      ...(many > 0 && { program_rss_mb: await memoryAlone(many, objects) }),
    },
    peer: null,
    ratio: {},
  }
}

async function measured(clusters: number, objects: number, name: string): Promise<Figures> {
  const dir = mkdtempSync(join(tmpdir(), `kubenode-bench-sync-${name}-`))
  const [hub, lights] = await Promise.all([startEmbedded(), LightServers.start()])
  const client = new HttpKubeClient(configOf(hub.target))
  const written = { hub: 0 }
  const abort = new AbortController()
  const stops: (() => Promise<unknown>)[] = []
  try {
    initFleet(dir)
    await prepareHub(client, dir, clusters, lights)
    const clock = shiftedClock()
    const own = { client: counting(client, written), clock, random: systemRandom, log: silentLogger }
    const informers = createInformers({ ...own, startSpreadMs: 0 })
    const role = syncModule.setup({
      ...own,
      informers,
      metrics: createMetrics(),
      events: createEventRecorder({ client, clock, controller: 'kubenode.io/sync', instance: 'bench' }),
      connect: (c) => new HttpKubeClient(c),
      hubAs: () => client,
      news: newsReader,
      config: {
        cacheDir: join(dir, '.git/kubenode-cache'),
        weakCage: 'allow',
        localPollMs: LOOK_MS,
        localRepositories: [{ folder: tmpdir() }],
        renderLimits: { deadlineMs: WITHIN_MS },
      },
    })
    informers.start()
    await informers.synced()
    const cpuBefore = process.cpuUsage()
    const first = commitFleet(dir, fleetCode(clusters, objects, 1))
    let startedAt = performance.now()
    for (const controller of role.controllers) controller.start()
    for (const part of role.parts ?? []) await part.start(abort.signal)
    stops.push(async () => {
      for (const part of role.parts ?? []) await part.stop(0)
      await Promise.all(role.controllers.map((c) => c.stop(0)))
      await informers.stop()
    })
    await succeeded(client, first)
    const syncS = (performance.now() - startedAt) / 1_000
    const { user, system } = process.cpuUsage(cpuBefore)
    startedAt = performance.now()
    await succeeded(client, commitFleet(dir, fleetCode(clusters, objects, 2)))
    const changeS = (performance.now() - startedAt) / 1_000
    await lights.reset()
    const isCompared = async () => (await lights.counts()).compared >= clusters
    // What is reported once, such as how many machines a cluster has, is no part of a pass in which nothing changed.
    clock.shift(REPORTED_MS)
    await until(async () => (await isCompared()) && (await areReported(client, clusters)))
    await lights.reset()
    written.hub = 0
    clock.shift(QUIET_MS)
    startedAt = performance.now()
    const beforeNoop = process.cpuUsage()
    await until(isCompared)
    const noopS = (performance.now() - startedAt) / 1_000
    const noop = process.cpuUsage(beforeNoop)
    const { writes } = await lights.counts()
    return {
      sync_s: rounded(syncS),
      change_s: rounded(changeS),
      noop_s: rounded(noopS),
      noop_writes: writes + written.hub,
      cpu_s: rounded((user + system) / 1_000_000),
      noop_cpu_s: rounded((noop.user + noop.system) / 1_000_000),
    }
  } finally {
    abort.abort()
    for (const stop of stops) await stop()
    client.close()
    lights.stop()
    await hub.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** At its highest, in MB, after two commits that each changed every object. */
async function memoryAlone(clusters: number, objects: number): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'kubenode-bench-sync-alone-'))
  const [hub, lights] = await Promise.all([startEmbedded(), LightServers.start()])
  const client = new HttpKubeClient(configOf(hub.target))
  const { host, port, ...keys } = hub.target
  const sync = syncProgramAt({ kubeconfig: kubeconfigOf(`https://${host}:${port}`, keys), repository: dir })
  try {
    initFleet(dir)
    await prepareHub(client, dir, clusters, lights)
    sync.start()
    for (const version of [1, 2]) await succeeded(client, commitFleet(dir, fleetCode(clusters, objects, version)))
    const [, kib = ''] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${sync.pid()}/status`, 'utf8')) ?? []
    return Math.round(Number(kib) / 1024)
  } finally {
    await sync.close()
    client.close()
    lights.stop()
    await hub.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

const WRITES: ReadonlySet<PropertyKey> = new Set(['create', 'update', 'patch', 'apply', 'delete'])

/** The same client, with its writes counted. */
const counting = (client: KubeClient, counts: { hub: number }): KubeClient =>
  new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown => {
        if (WRITES.has(name)) counts.hub++
        return Reflect.apply(value, target, args)
      }
    },
  })

const areReported = async (client: KubeClient, clusters: number): Promise<boolean> => {
  const { items } = await client.list(cluster, { namespace: SYSTEM_NAMESPACE })
  return items.filter((c) => c.status?.machines !== undefined).length === clusters
}

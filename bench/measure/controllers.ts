// The metrics of the controllers on a cluster in memory: what a scrape costs, how large it is, and how many series it has.
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { metricsModule } from '#controllers/metrics/metrics.ts'
import type { ControllerContext } from '#controllers/module.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { type Figures, median, rounded } from '../result.ts'
import { cpuMs } from './cpu.ts'
import { fleetOf, nameOf, podsOf } from './fleet.ts'

type Index = (object: KubeObject) => readonly string[]
type Handler = (old: KubeObject | undefined, now: KubeObject | undefined) => void

/** As a shared informer that is in sync. */
class Cache {
  readonly isSynced = true
  readonly #objects: readonly KubeObject[]
  readonly #byName: ReadonlyMap<string, KubeObject>
  readonly #indexes = new Map<string, Map<string, KubeObject[]>>()

  constructor(objects: readonly KubeObject[]) {
    this.#objects = objects
    this.#byName = new Map(objects.map((o) => [o.metadata.name ?? '', o]))
  }

  index(indexes: Readonly<Record<string, Index>>): void {
    for (const [name, of] of Object.entries(indexes)) {
      const found = new Map<string, KubeObject[]>()
      for (const object of this.#objects)
        for (const key of of(object)) {
          const list = found.get(key) ?? []
          found.set(key, list)
          list.push(object)
        }
      this.#indexes.set(name, found)
    }
  }

  readonly get = (name: string): KubeObject | undefined => this.#byName.get(name)
  readonly list = (): readonly KubeObject[] => this.#objects
  readonly byIndex = (index: string, value: string): readonly KubeObject[] => this.#indexes.get(index)?.get(value) ?? []
  readonly onChange = (handler: Handler): (() => void) => {
    for (const object of this.#objects) handler(undefined, object)
    return () => undefined
  }
}

export interface ControllersWish {
  readonly machines: number
  readonly pods: number
  readonly rounds: number
  readonly restS: number
}

const PAGE = 500
const usage = { cpu: '3100m', memory: '40000000Ki' }

/** Pods page by page, and metrics.k8s.io. */
function clientOf({ machines, pods }: ControllersWish) {
  let pages = 0
  const use = JSON.stringify({
    items: Array.from({ length: machines }, (_, n) => ({ metadata: { name: nameOf(n) }, usage })),
  })
  return {
    pages: () => pages,
    client: {
      get: () => Promise.resolve(undefined),
      apply: (_: unknown, object: unknown) => Promise.resolve(object),
      raw: () => Promise.resolve({ status: 200, text: use }),
      list: async (_: unknown, options: { readonly continue?: string }) => {
        const from = Number(options.continue ?? 0)
        pages += 1
        await sleep(0)
        const next = from + PAGE
        return {
          items: podsOf(from, Math.min(PAGE, pods - from), machines),
          ...(next < pods && { continue: String(next) }),
        }
      },
    },
  }
}

export async function controllersFigures(wish: ControllersWish): Promise<Figures> {
  const objects = fleetOf(wish.machines)
  const caches = new Map<string, Cache>()
  const { client, pages } = clientOf(wish)
  const metrics = createMetrics({ cluster: 'prod-1' })
  const context = {
    informers: {
      of: (
        { kind }: { readonly kind: string },
        options: { readonly indexes?: Readonly<Record<string, Index>> } = {},
      ) => {
        const cache = caches.get(kind) ?? new Cache(objects.get(kind) ?? [])
        caches.set(kind, cache)
        cache.index(options.indexes ?? {})
        return cache
      },
    },
    clock: systemClock,
    log: silentLogger,
    client,
    metrics,
  } as unknown as ControllerContext
  const { parts = [] } = metricsModule.setup(context)
  const [from, fromCpu] = [performance.now(), cpuMs()]
  for (const part of parts) await part.start(new AbortController().signal)
  const [startMs, startCpuMs] = [performance.now() - from, cpuMs() - fromCpu]

  // The first scrape begins to read pods; the later ones have their sums.
  await metrics.registry.metrics()
  const until = performance.now() + 60_000
  while (pages() < Math.ceil(wish.pods / PAGE) && performance.now() < until) await sleep(5)
  await sleep(50)
  const [took, spent]: [number[], number[]] = [[], []]
  let text = ''
  for (let n = 0; n < wish.rounds; n++) {
    const [at, cpu] = [performance.now(), cpuMs()]
    text = await metrics.registry.metrics()
    took.push(performance.now() - at)
    spent.push(cpuMs() - cpu)
  }
  const [restAt, restCpu] = [performance.now(), cpuMs()]
  await sleep(wish.restS * 1_000)
  const restCore = (cpuMs() - restCpu) / (performance.now() - restAt)
  for (const part of parts) await part.stop(0)
  return {
    start_ms: rounded(startMs),
    start_cpu_ms: rounded(startCpuMs),
    exposition_ms: rounded(median(took)),
    exposition_cpu_ms: rounded(median(spent)),
    exposition_kb: rounded(text.length / 1_000),
    ...seriesIn(text),
    rest_core: rounded(Math.max(0, restCore)),
  }
}

/** Series in all, and of the three largest families. */
function seriesIn(text: string): Figures {
  const counts = new Map<string, number>()
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const name = line.slice(0, line.search(/[{ ]/))
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const largest = [...counts].toSorted((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).slice(0, 3)
  return {
    series: [...counts.values()].reduce((sum, n) => sum + n, 0),
    ...Object.fromEntries(largest.map(([name, n]) => [`series_${name}`, n])),
  }
}

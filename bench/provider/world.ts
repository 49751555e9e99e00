// A region of a vendor that throttles, machines that all want a host, and the controllers between them, on a clock that jumps. The calls are signed and checked.
import { KINDS } from '#api/kinds.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { approverModule } from '#controllers/approver/reconcile.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { machineSetModule } from '#controllers/machineset/reconcile.ts'
import { seededRandom } from '#lib/random.ts'
import type { Transport } from '#providers/cloud/http.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import type { FakeLimit, FakeRegion } from '#test/doubles/clouds/region.ts'
import { fakeRegion, transportTo, type Vendor } from '#test/doubles/clouds/worlds.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { joinHosts, machinesIn } from '#test/doubles/node/joining-hosts.ts'
import { settled, VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { startProcess } from '../../test/sim/process.ts'

/** What the vendors describe, and our providers assume. */
export const LIMITS: Readonly<Record<Vendor['name'], (action: string) => FakeLimit>> = {
  alicloud: (action) => ({ kind: 'Minute', calls: action === 'DescribeInstances' ? 300 : 60 }),
  aws: (action) => {
    if (action.startsWith('Describe')) return { kind: 'Bucket', perSecond: 20, burst: 100 }
    if (action === 'RunInstances' || action === 'StartInstances') return { kind: 'Bucket', perSecond: 2, burst: 5 }
    return { kind: 'Bucket', perSecond: 5, burst: 50 }
  },
}

/** The soonest that so many calls can be done by someone who uses all that the vendor permits. */
export function soonestMs(limit: FakeLimit, calls: number): number {
  return limit.kind === 'Minute'
    ? Math.floor((calls - 1) / limit.calls) * 60_000
    : (Math.max(0, calls - limit.burst) / limit.perSecond) * 1_000
}

const PENDING_MS = 20_000
const LEAST_LATENCY_MS = 80
const MORE_LATENCY_MS = 400
const RESTART_MS = 5_000
/** The question goes through all machines. */
const ASK_EVERY_MS = 1_000
const POOL = { pool: 'workers' }

export class ProviderWorld {
  readonly clock = new VirtualClock()
  readonly fake: FakeKube
  readonly region: FakeRegion
  readonly #vendor: Vendor
  readonly #random = seededRandom(3)
  readonly #transport: Transport
  #life = 0
  #running: { kill(): void } | undefined

  constructor(vendor: Vendor) {
    this.#vendor = vendor
    const { clock } = this
    const kinds = KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined }))
    this.fake = new FakeKube({ clock, random: seededRandom(1), kinds })
    this.region = fakeRegion(vendor, { clock, limitOf: LIMITS[vendor.name], pendingMs: PENDING_MS })
    const direct = transportTo(vendor.fake(this.region))
    const latency = () => clock.sleep(LEAST_LATENCY_MS + this.#random.below(MORE_LATENCY_MS))
    this.#transport = async (request, signal) => {
      await latency()
      const answer = await direct(request, signal)
      await latency()
      return answer
    }
    joinHosts(this, () => new Set(this.region.alive().map((i) => i.tags.get('kubenode.io/machine-uid') ?? '')))
  }

  /** The controllers with the provider in them. */
  start(): void {
    const life = ++this.#life
    const { clock: clockOfAll, fake } = this
    const process = startProcess({
      name: 'controllers',
      life,
      seed: 11,
      clock: clockOfAll,
      fake,
      note: () => undefined,
    })
    this.#running = process
    const { client, cacheClient, clock, random, log, signal } = process.process
    const provider = this.#vendor.provider({
      clock,
      endpoint: 'https://cloud.example.org',
      transport: this.#transport,
    })
    const informers = createInformers({ client: cacheClient, clock, random, log })
    const context = {
      client,
      informers,
      clock,
      random,
      log,
      metrics: createMetrics(),
      events: { record: () => undefined, flush: async () => undefined },
      config: {
        cluster: 'bench',
        providers: { [provider.name]: provider },
        join: {
          server: 'https://api',
          caData: 'Q0E=',
          artifactBase: 'https://artifacts/',
          trust: { sequence: 1, threshold: 1, keys: [] },
        },
      },
    }
    for (const module of [approverModule, machineModule, machineSetModule]) {
      const running = module.setup(context)
      for (const c of running.controllers) c.start()
      for (const part of running.parts ?? []) void part.start(signal)
    }
    informers.start()
  }

  /** SIGKILL, and a start some seconds later. */
  kill(): void {
    this.#running?.kill()
    this.fake.closeWatches('controllers')
    this.fake.closeWatches('controllers~cache')
    this.clock.after(RESTART_MS, () => this.start())
  }

  /** All at once. */
  order(replicas: number): void {
    const { name, params } = this.#vendor
    this.fake.plant(machineSet, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'MachineSet',
      metadata: { name: 'workers' },
      spec: {
        replicas,
        selector: { matchLabels: POOL },
        template: { metadata: { labels: POOL }, spec: { provider: { name, params } } },
      },
    })
  }

  /** False when that did not come about in time. */
  async until(holds: () => boolean, withinMs: number): Promise<boolean> {
    const end = this.clock.monotonic() + withinMs
    for (let askAt = 0; ;) {
      await settled()
      if (this.clock.monotonic() >= askAt) {
        if (holds()) return true
        askAt = this.clock.monotonic() + ASK_EVERY_MS
      }
      if (!this.clock.fireNext(end)) return false
      // What is due at the same moment happens together.
      while (this.clock.fireNext(this.clock.monotonic()));
    }
  }

  ready(): number {
    return machinesIn(this).filter((m) => m.status?.phase === 'Ready').length
  }

  /** Machines that got more than one host, ever. */
  twice(): number {
    const owners = [...this.region.instances.values()].map((i) => i.tags.get('kubenode.io/machine-uid'))
    return owners.length - new Set(owners).size
  }

  orphans(): number {
    const uids = new Set(machinesIn(this).map((m) => m.metadata.uid))
    return this.region.alive().filter((i) => !uids.has(i.tags.get('kubenode.io/machine-uid'))).length
  }
}

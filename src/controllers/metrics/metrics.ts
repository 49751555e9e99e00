// Cluster state as metrics, read from the caches at scrape time, so that they cost nothing at rest and are never older than the objects. Repair
// durations are counted as repairs end. Only the leader reports: metrics of two processes would add up.
import { Gauge, type Registry } from 'prom-client'
import { componentCanary } from '#api/kinds/component-canary.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { termFiguresIn } from '#runtime/figures.ts'
import type { Part } from '#runtime/manager.ts'
import type { RunningModule } from '#runtime/module.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import { placesOfNodes, nodeResources, sumsByPlace } from '#measure/capacity.ts'
import { readRequests, readUse } from '#measure/read-use.ts'
import { nodeType } from '#nodes/objects.ts'
import { componentFamilies, DriftAges } from './families/components.ts'
import type { Family } from './families/family.ts'
import { machineFamilies } from './families/machines.ts'
import { maintenanceFamilies } from './families/maintenance.ts'
import { poolFamilies } from './families/pools.ts'
import { repairFamilies } from './families/repairs.ts'
import { rolloutFamilies } from './families/rollouts.ts'
import { serviceFamilies } from './families/service.ts'
import { LazyReading } from './service-levels/lazy-reading.ts'
import { HOST_INDEXES, LEDGER_INDEXES, NodeLedger } from './service-levels/node-ledger.ts'
import { repairMetrics } from './repairs/metrics.ts'
import { ServiceLevelKeeper } from './service-levels/keeper.ts'

export const metricsModule: ControllerModule = { name: 'state', setup }

function setup(context: ControllerContext): RunningModule {
  const { informers, clock, metrics, client, log } = context
  const caches = {
    machines: informers.of(machine, { indexes: LEDGER_INDEXES }),
    machineSets: informers.of(machineSet),
    sets: informers.of(machineComponentSet),
    canaries: informers.of(componentCanary),
    jobs: informers.of(remedyOperationJob),
    maintenance: informers.of(maintenanceEvent, { indexes: HOST_INDEXES }),
    nodes: informers.of(nodeType),
    permits: informers.of(operationPermit),
  }
  const ledger = new NodeLedger(caches, clock)
  const keeper = new ServiceLevelKeeper({ client, clock, log }, ledger)
  const requests = new LazyReading({
    what: 'pods',
    read: () => readRequests(client),
    maxAgeMs: REQUESTS_MS,
    clock,
    log,
  })
  const use = new LazyReading({ what: 'metrics.k8s.io', read: () => readUse(client), maxAgeMs: USE_MS, clock, log })
  const pools = (): readonly Family[] => {
    const nodes = caches.nodes.list()
    const places = placesOfNodes(caches.machines.list(), nodes)
    const used = use.value
    return poolFamilies({
      capacity: nodeResources(nodes, places, 'capacity'),
      allocatable: nodeResources(nodes, places, 'allocatable'),
      requested: requests.value?.sums(places),
      used: used === undefined ? undefined : sumsByPlace(used, places),
    })
  }
  const families = (): readonly Family[] => [
    ...machineFamilies(caches.machines.list(), caches.machineSets.list()),
    ...componentFamilies(caches.machines.list(), drift.ages(caches.machines.list(), clock.monotonic())),
    ...rolloutFamilies(caches.sets.list(), caches.canaries.list(), clock.now()),
    ...repairFamilies(caches.jobs.list(), clock.now()),
    ...maintenanceFamilies(caches.maintenance.list(), clock.now()),
    ...serviceFamilies(ledger.counts, ledger.inService, keeper.kept),
    ...pools(),
  ]
  const drift = new DriftAges()
  const { registry } = metrics
  const parts = [
    keeper,
    figures(registry, families),
    nodeSeconds(registry, ledger),
    repairMetrics(metrics, caches, clock),
  ]
  return { controllers: [], parts }
}

/** A list of all pods is expensive for the API server, and the sums change slowly. */
const REQUESTS_MS = 300_000
/** metrics-server measures every 15 s to a minute. */
const USE_MS = 60_000

function nodeSeconds(registry: Registry, ledger: NodeLedger): Part {
  const name = 'kubenode_node_seconds_total'
  return {
    name: 'state-node-seconds',
    start: () => {
      termFiguresIn(registry).sums(
        name,
        'Seconds of nodes by what they count as: good, planned, fault, silent, pending; since this process leads.',
        ['pool', 'zone', 'class', 'state'],
        () => ledger.totals().map(({ labels, seconds }) => ({ labels, value: seconds })),
      )
    },
    stop: () => registry.removeSingleMetric(name),
  }
}

/** All are gauges computed at scrape time. One pass over the objects serves all of them. */
function figures(registry: Registry, families: () => readonly Family[]): Part {
  const names: string[] = []
  let read: ReadonlyMap<string, Family> = new Map()
  return {
    name: 'state-figures',
    start: () => {
      const all = families()
      for (const [i, { name, help, labels }] of all.entries()) {
        registry.removeSingleMetric(name)
        names.push(name)
        registry.registerMetric(
          new Gauge({
            name,
            help,
            labelNames: [...labels],
            registers: [],
            collect() {
              // Prometheus collects them in registration order, so the first one reads.
              if (i === 0) read = new Map(families().map((f) => [f.name, f]))
              this.reset()
              for (const sample of read.get(name)?.samples ?? []) this.set({ ...sample.labels }, sample.value)
            },
          }),
        )
      }
    },
    stop: () => {
      for (const name of names.splice(0)) registry.removeSingleMetric(name)
    },
  }
}

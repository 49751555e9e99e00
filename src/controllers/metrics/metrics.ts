// Cluster state as metrics, read from the caches at scrape time, so that they cost nothing at rest and are never older than the objects. Repair
// durations are counted as repairs end. Only the leader reports: metrics of two processes would add up.
import { Gauge, Histogram, type Registry } from 'prom-client'
import { componentCanary } from '#api/kinds/component-canary.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { Part } from '#runtime/manager.ts'
import type { RunningModule } from '#runtime/module.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import type { Family } from './families/family.ts'
import { machineFamilies } from './families/machines.ts'
import { maintenanceFamilies } from './families/maintenance.ts'
import { repairFamilies } from './families/repairs.ts'
import { rolloutFamilies } from './families/rollouts.ts'

export const metricsModule: ControllerModule = { name: 'state', setup }

function setup({ informers, clock, metrics: { registry } }: ControllerContext): RunningModule {
  const caches = {
    machines: informers.of(machine),
    machineSets: informers.of(machineSet),
    sets: informers.of(machineComponentSet),
    canaries: informers.of(componentCanary),
    jobs: informers.of(remedyOperationJob),
    maintenance: informers.of(maintenanceEvent),
  }
  const families = (): readonly Family[] => [
    ...machineFamilies(caches.machines.list(), caches.machineSets.list()),
    ...rolloutFamilies(caches.sets.list(), caches.canaries.list(), clock.now()),
    ...repairFamilies(caches.jobs.list(), clock.now()),
    ...maintenanceFamilies(caches.maintenance.list(), clock.now()),
  ]
  return { controllers: [], parts: [figures(registry, families), repairTimes(registry, caches.jobs)] }
}

/** From the best promised time to one that should page someone. */
const REPAIR_BUCKETS_S = [0.05, 0.1, 0.5, 1, 5, 15, 30, 60, 180, 600, 1_800, 7_200]

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

interface JobCache {
  onChange(fn: (old: RemedyOperationJob | undefined, now: RemedyOperationJob | undefined) => void): () => void
}

function repairTimes(registry: Registry, jobs: JobCache): Part {
  const histogram = (name: string, help: string): Histogram => {
    registry.removeSingleMetric(name)
    return new Histogram({ name, help, labelNames: ['rule'], buckets: REPAIR_BUCKETS_S, registers: [registry] })
  }
  let remove = (): void => undefined
  return {
    name: 'state-repair-times',
    start: () => {
      const decide = histogram(
        'kubenode_repair_decide_seconds',
        'Time from the request of a repair to its first step, including the permit and everything that delays it.',
      )
      const heal = histogram('kubenode_repair_heal_seconds', 'Time from the request of a repair to its verified end.')
      remove = jobs.onChange((old, now) => {
        if (now === undefined || old === undefined) return
        const began = Date.parse(now.metadata.creationTimestamp ?? '')
        const rule = now.spec.remedierRef.name
        const seconds = (at: string | undefined) => Math.max(0, (Date.parse(at ?? '') - began) / 1_000)
        if (old.status?.startedAt === undefined && now.status?.startedAt !== undefined)
          decide.observe({ rule }, seconds(now.status.startedAt))
        if (old.status?.phase !== 'Done' && now.status?.phase === 'Done' && now.status.outcome === 'Succeeded')
          heal.observe({ rule }, seconds(now.status.finishedAt))
      })
    },
    stop: () => remove(),
  }
}

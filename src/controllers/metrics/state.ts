// The state of the cluster as figures, read from the caches at scrape time, so that they cost nothing at rest and are never older than the objects. The
// duration of repairs is counted as they end. Only the leader reports: figures of two processes would be added up.
import { componentCanary } from '#api/kinds/component-canary.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { RunningModule } from '#runtime/module.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import type { Family } from './family.ts'
import { figures, repairTimes } from './metrics.ts'
import { machineFamilies } from './machines.ts'
import { maintenanceFamilies } from './maintenance.ts'
import { repairFamilies } from './repairs.ts'
import { rolloutFamilies } from './rollouts.ts'

export const stateModule: ControllerModule = { name: 'state', setup }

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

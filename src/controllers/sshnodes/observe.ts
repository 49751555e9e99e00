// Reads one Machine that is managed over SSH.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { type Informers, requireFresh } from '#runtime/informers.ts'
import { isVisited } from './plan.ts'
import type { LastVisit, Seen } from './seen.ts'

const OVER_SSH = 'visited-over-ssh'

export const cachesOf = (informers: Informers) => ({
  machines: informers.of(machineType, { indexes: { [OVER_SSH]: (m) => (isVisited(m) ? ['yes'] : []) } }),
  jobs: informers.of(remedyOperationJob),
})

export type VisitCaches = ReturnType<typeof cachesOf>

export const visitedMachines = ({ machines }: VisitCaches): readonly Machine[] => machines.byIndex(OVER_SSH, 'yes')

export function observe(
  caches: VisitCaches,
  name: string,
  lastOf: (uid: string) => LastVisit | undefined,
): Seen | undefined {
  requireFresh([caches.machines])
  const machine = caches.machines.get(name)
  const ssh = machine?.spec.ssh
  if (machine === undefined || ssh === undefined) return undefined
  return { machine, ssh, last: lastOf(machine.metadata.uid ?? '') }
}

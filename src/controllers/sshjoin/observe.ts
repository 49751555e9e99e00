// Reads one Machine that names an SSH server, and how the joins of all others are.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type Informers, requireFresh } from '#runtime/informers.ts'
import { type Seen, othersOf } from './seen.ts'

const OVER_SSH = 'joins-over-ssh'

export const cachesOf = (informers: Informers) => ({
  machines: informers.of(machineType, {
    indexes: { [OVER_SSH]: ({ spec }) => (spec.ssh === undefined ? [] : ['yes']) },
  }),
})

export type JoinCaches = ReturnType<typeof cachesOf>

export const machinesOverSsh = ({ machines }: JoinCaches): readonly Machine[] => machines.byIndex(OVER_SSH, 'yes')

export function observe(caches: JoinCaches, name: string, now: number): Seen | undefined {
  requireFresh([caches.machines])
  const machine = caches.machines.get(name)
  const ssh = machine?.spec.ssh
  if (machine === undefined || ssh === undefined) return undefined
  return { machine, ssh, others: othersOf(machinesOverSsh(caches), now) }
}

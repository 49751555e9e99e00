// Reads one Machine that names an SSH server, and how the joins of all others with the same login are.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type Informers, requireFresh } from '#runtime/informers.ts'
import { type Seen, loginOf, othersOf } from './seen.ts'

const OVER_SSH = 'joins-over-ssh'
const OF_LOGIN = 'joins-of-login'

export const cachesOf = (informers: Informers) => ({
  machines: informers.of(machineType, {
    indexes: {
      [OVER_SSH]: ({ spec }) => (spec.ssh === undefined ? [] : ['yes']),
      [OF_LOGIN]: ({ spec }) => (spec.ssh === undefined ? [] : [loginOf(spec.ssh)]),
    },
  }),
})

export type JoinCaches = ReturnType<typeof cachesOf>

export const machinesOverSsh = ({ machines }: JoinCaches): readonly Machine[] => machines.byIndex(OVER_SSH, 'yes')

export function observe(caches: JoinCaches, name: string, now: number): Seen | undefined {
  requireFresh([caches.machines])
  const machine = caches.machines.get(name)
  const ssh = machine?.spec.ssh
  if (machine === undefined || ssh === undefined) return undefined
  return { machine, ssh, others: othersOf(caches.machines.byIndex(OF_LOGIN, loginOf(ssh)), now) }
}

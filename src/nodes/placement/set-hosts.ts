// The hosts that a MachineSet lists: which one a machine has, which ones are free, and what the Machine of one declares. Pure. A machine has the name of its
// host, so a host is never given twice, also when two processes create machines at once.
import type { MachineSet, MachineTemplate, SetHost } from '#api/kinds/machine-set.ts'
import type { Machine, SshSpec } from '#api/kinds/machine.ts'
import { serverOf } from '#api/protocol/ssh-server.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { defined } from '#lib/defined.ts'

/** Undefined: its provider gives the hosts. */
export const hostsIn = ({ spec }: MachineSet): readonly SetHost[] | undefined => spec.template.spec.ssh?.hosts

export const hostOf = (set: MachineSet, machine: Machine): SetHost | undefined =>
  hostsIn(set)?.find(({ name }) => name === nameOf(machine))

/** In the order of the list: those whose name and server no Machine has. */
export function freeHosts(set: MachineSet, machines: readonly Machine[]): readonly SetHost[] {
  const { ssh } = set.spec.template.spec
  if (ssh === undefined) return []
  const names = new Set(machines.map(nameOf))
  const servers = new Set(machines.flatMap(({ spec }) => (spec.ssh === undefined ? [] : [serverOf(spec.ssh)])))
  return ssh.hosts.filter((host) => !names.has(host.name) && !servers.has(serverOf(sshOf(ssh, host))))
}

/** What the template makes of this host. */
export function specFor({ ssh, ...rest }: MachineTemplate, host: SetHost | undefined): Machine['spec'] {
  if (ssh === undefined || host === undefined) return rest
  const { zone, rack, class: hardware } = host
  return { ...rest, ...defined({ zone, rack, class: hardware }), ssh: sshOf(ssh, host) }
}

/** Its own key counts for more than the authority of the set. */
function sshOf(ssh: NonNullable<MachineTemplate['ssh']>, { host, port = ssh.port, hostKey }: SetHost): SshSpec {
  const { hosts: _hosts, hostCA, ...shared } = ssh
  return { ...shared, host, port, ...defined(hostKey === undefined ? { hostCA } : { hostKey }) }
}

// Whom the sessions for a Machine are for, from its spec and the key that its join accepted. Pure.
import { serverOf } from '#api/protocol/ssh-server.ts'
import type { SshJoin, SshSpec } from '#api/kinds/machine.ts'
import type { HostTrust, SshServer, SshTarget } from '../target.ts'

/** Sessions that are opened through one jump host at once. sshd starts to drop connections that are not logged in yet at ten (MaxStartups 10:30:100). */
export const PER_JUMP_HOST = 8

/** `accepted`: the key of an earlier first use. */
export function targetOf(ssh: SshSpec, accepted: string | undefined): SshTarget {
  const { host, port, user, jump } = ssh
  const trust: HostTrust =
    ssh.firstUse !== true
      ? trustIn(ssh)
      : accepted === undefined
        ? { kind: 'FirstUse' }
        : { kind: 'Pinned', hostKey: accepted }
  const through: SshServer | undefined = jump && {
    host: jump.host,
    port: jump.port,
    user: jump.user,
    trust: trustIn(jump),
  }
  return { host, port, user, trust, jump: through }
}

/** The key that a join accepted, if it was from this server. */
export const acceptedKey = (ssh: SshSpec, join: SshJoin | undefined): string | undefined =>
  ssh.firstUse === true && (join?.server === undefined || join.server === serverOf(ssh)) ? join?.hostKey : undefined

export const trustsGiven = ({ hostKey, hostCA, firstUse }: SshSpec): number =>
  [hostKey !== undefined, hostCA !== undefined, firstUse === true].filter(Boolean).length

const trustIn = ({ hostKey, hostCA }: Pick<SshSpec, 'hostKey' | 'hostCA'>): HostTrust =>
  hostCA === undefined ? { kind: 'Pinned', hostKey: hostKey ?? '' } : { kind: 'Authority', hostCA }

/** Sessions through one jump host that may be opened or used at once. */
export const jumpLane = ({ jump }: SshSpec): { readonly name: string; readonly most: number } | undefined =>
  jump && { name: `${jump.host}:${jump.port}`, most: PER_JUMP_HOST }

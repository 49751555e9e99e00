// Which SSH server a Machine names: machines, sets and joins compare hosts by it. Pure.
import type { SshSpec } from '../kinds/machine.ts'

/** Behind another jump host, the same address can be another host. */
export const serverOf = ({ host, port, jump }: Pick<SshSpec, 'host' | 'port' | 'jump'>): string =>
  `${jump === undefined ? '' : `${jump.host}:${jump.port} `}${host}:${port}`

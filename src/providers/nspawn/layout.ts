// Where a systemd machine's files are on this host, and its unique names there.
import { join, resolve } from 'node:path'
import { sha256Hex } from '#lib/sha256.ts'

export interface MachineLayout {
  readonly dir: string
  /** The machine's writes on top of the shared tree. */
  readonly upper: string
  readonly work: string
  /** Tree and writes combined: its file system root. */
  readonly root: string
  /** Files that an overlay cannot hold: container runtimes mount their own overlays there. */
  readonly containerd: string
  readonly kubelet: string
  /** Folder of the socket through which a machine with its own network reaches the API server on this host. */
  readonly reach: string
  /** The address behind that socket; no file if the machine shares the host's network. */
  readonly reached: string
  readonly record: string
  readonly bootId: string
  readonly console: string
  readonly exitStatus: string
  /** Name of its control groups, unique on this host. */
  readonly group: string
  /** A host name has at most 64 characters. */
  readonly hostName: string
}

/** Prefix of its hosts' ids. */
export const NSPAWN_SCHEME = 'nspawn://'

/** Where the shared trees are, unless a providers file sets another place. */
export const TREES = '/var/lib/kubenode/trees'

/** The agent's folder, inside the machine. */
export const AGENT_DIR = '/var/lib/kubenode'

const HOST_NAME_CHARS = 63

export function machineLayout(base: string, machine: string): MachineLayout {
  const dir = resolve(base, machine)
  const own = sha256Hex(dir).slice(0, 12)
  const [first = machine] = machine.split('.', 1)
  return {
    dir,
    upper: join(dir, 'upper'),
    work: join(dir, 'work'),
    root: join(dir, 'root'),
    containerd: join(dir, 'containerd'),
    kubelet: join(dir, 'kubelet'),
    reach: join(dir, 'reach'),
    reached: join(dir, 'reached'),
    record: join(dir, 'host.json'),
    bootId: join(dir, 'boot-id'),
    console: join(dir, 'console.log'),
    exitStatus: join(dir, 'exit-status'),
    group: `kubenode-${own}`,
    hostName: first.length <= HOST_NAME_CHARS ? first : `kn-${own}`,
  }
}

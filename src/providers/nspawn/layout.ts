// Where a systemd machine lies on this host, and the names it has there that must be its own.
import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'

export interface MachineLayout {
  readonly dir: string
  /** What the machine wrote over the tree that all share. */
  readonly upper: string
  readonly work: string
  /** Tree and writings together: its file system root. */
  readonly root: string
  /** Files that an overlay cannot hold: container runtimes mount overlays of their own there. */
  readonly containerd: string
  readonly kubelet: string
  /** Folder of the socket through which a machine with a network of its own reaches the API server on this host. */
  readonly reach: string
  /** The address behind that socket; no file where the machine shares the network of the host. */
  readonly reached: string
  readonly record: string
  readonly bootId: string
  readonly console: string
  readonly exitStatus: string
  /** Name of its control groups, unique on this host. */
  readonly group: string
  /** A host name is 64 characters at most. */
  readonly hostName: string
}

/** Of the ids of its hosts. */
export const NSPAWN_SCHEME = 'nspawn://'

/** Where the trees lie that machines share, unless a providers file says otherwise. */
export const TREES = '/var/lib/kubenode/trees'

/** The agent's folder, inside the machine. */
export const AGENT_DIR = '/var/lib/kubenode'

const HOST_NAME_CHARS = 63

export function machineLayout(base: string, machine: string): MachineLayout {
  const dir = resolve(base, machine)
  const own = createHash('sha256').update(dir).digest('hex').slice(0, 12)
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

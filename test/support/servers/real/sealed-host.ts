// A host within this one: namespaces of its own for network, mounts and processes, so that a cluster may have any port, firewall rule and folder it likes.
// All of it ends with one process that reads our standard input: also when the test is killed, nothing is left but empty cgroups.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { until } from '#test/support/tools/processes.ts'
import type { Place } from './place.ts'

/** One subnet for each link, out of a /16 that documentation and clouds seldom use. */
const subnet = (n: number, host: 1 | 2): string => `10.213.${n}.${host}`
/** Its link to this host. */
export const UPLINK = 'eth0'
const MOST_HOSTS = 200
const START_WITHIN_MS = 120_000
const TOOLS = ['/usr/bin/unshare', '/usr/bin/nsenter', '/usr/sbin/ip', '/usr/sbin/iptables-restore'] as const

export interface SealedHost extends Place {
  /** Of this host, as programs in there reach it. */
  readonly outside: string
  /** Its network, as a file that other programs may enter. */
  readonly network: string
  /** Runs a command to its end. */
  run(command: string, args: readonly string[], stdin?: string): string
  stop(): Promise<void>
}

export function whyNoSealedHost(): string | undefined {
  if (process.getuid?.() !== 0) return 'namespaces of a host are made by root'
  const missing = TOOLS.filter((file) => !existsSync(file))
  return missing.length === 0 ? undefined : `${missing.join(', ')} not found`
}

export async function startSealedHost(): Promise<SealedHost> {
  const words = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation', 'private']
  const holder = spawn('unshare', [...words, 'cat'], { stdio: ['pipe', 'ignore', 'inherit'] })
  const stop = async (): Promise<void> => {
    if (holder.exitCode !== null || holder.signalCode !== null) return
    const ended = new Promise((done) => holder.once('exit', done))
    holder.kill('SIGKILL')
    await ended
  }
  try {
    const first = await until('the namespaces are there', () => childOf(holder), START_WITHIN_MS)
    const enter = ['nsenter', '--target', String(first), '--mount', '--net', '--pid', '--']
    const run = (command: string, args: readonly string[], stdin = ''): string =>
      execFileSync('nsenter', [...enter.slice(1), command, ...args], { input: stdin, encoding: 'utf8' })
    const n = link(first)
    run('/bin/sh', ['-euc', INSIDE, 'sh', subnet(n, 2), subnet(n, 1)])
    return { address: subnet(n, 2), outside: subnet(n, 1), enter, network: `/proc/${first}/ns/net`, run, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** containerd, CNI and the kubelet write to fixed places below these. */
const INSIDE = `
for folder in /run /var/log /var/lib; do mount -t tmpfs -o mode=755 tmpfs $folder; done
mkdir /run/lock
ip link set lo up
ip address add $1/30 dev ${UPLINK}
ip link set ${UPLINK} up
ip route add default via $2
echo 1 > /proc/sys/net/ipv4/ip_forward
`

/** The process that holds the namespaces: once it is there, they are complete. */
function childOf(holder: ChildProcess): number | undefined {
  if (holder.exitCode !== null) throw new Error(`unshare ended with ${holder.exitCode}`)
  const [child] = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8').split(' ').filter(Boolean)
  if (child === undefined) return undefined
  return readFileSync(`/proc/${child}/comm`, 'utf8') === 'cat\n' ? Number(child) : undefined
}

/** Its name is what makes the subnet ours: a second link of this name cannot be made. It goes with the namespace. */
function link(pid: number): number {
  let last: unknown
  for (let n = 1; n <= MOST_HOSTS; n++) {
    const name = `kubenode-${n}`
    try {
      const peer = ['type', 'veth', 'peer', 'name', UPLINK, 'netns', String(pid)]
      execFileSync('ip', ['link', 'add', name, ...peer], { stdio: ['ignore', 'ignore', 'pipe'] })
    } catch (error) {
      last = error
      continue
    }
    execFileSync('ip', ['address', 'add', `${subnet(n, 1)}/30`, 'dev', name])
    execFileSync('ip', ['link', 'set', name, 'up'])
    return n
  }
  throw new Error('no link to the namespaces can be made', { cause: last })
}

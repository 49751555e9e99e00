// Security metrics of the node, off by default. The help of each metric states its use. They run no program and cost a few hundred stat calls every ten minutes,
// only while the agent is scraped.
import { lstatSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { MetricFamily, Sample } from './exposition.ts'
import type { ReadText } from './host-files.ts'

/** Values of earlier scrapes, in memory only: a restart starts over. */
export interface SecurityHistory {
  /** At the first scrape. */
  readonly listeners: ReadonlySet<string>
  readonly last: Listeners
  readonly programs: SetuidPrograms | undefined
}

interface Listeners {
  readonly readMs: number
  readonly addresses: ReadonlySet<string>
}

interface SetuidPrograms {
  readonly readMs: number
  /** Path → owner, mode, size and time of change. */
  readonly files: ReadonlyMap<string, string>
  readonly changed: number
}

export interface SecurityObservation {
  readonly families: readonly MetricFamily[]
  readonly history: SecurityHistory
}

/** Size of a login record (utmp). */
const LOGIN_RECORD = 384
/** State LISTEN in /proc/net/tcp. */
const LISTEN = '0A'
const MOST_LISTENERS = 1_024
/** The kernel walks the table of all connections: several milliseconds on any host. */
const LISTENERS_EVERY_MS = 60_000
export const SETUID_EVERY_MS = 600_000
const PROGRAM_FOLDERS = [
  '/usr/bin',
  '/usr/sbin',
  '/usr/libexec',
  '/usr/lib/openssh',
  '/usr/lib/dbus-1.0',
  '/usr/local/bin',
  '/usr/local/sbin',
]
const MOST_PROGRAMS = 8_192
const SETUID_OR_SETGID = 0o6000

export interface SecurityPorts {
  readonly read: ReadText
  readonly nowMs: number
  /** Size of a file; undefined if it does not exist. */
  readonly sizeOf: (path: string) => number | undefined
  readonly setuidPrograms: () => ReadonlyMap<string, string>
}

export function securityMetrics(ports: SecurityPorts, before: SecurityHistory | undefined): SecurityObservation {
  const { read } = ports
  const last = listenersOf(ports, before?.last)
  const listeners = last.addresses
  const programs = programsOf(ports, before?.programs)
  const fresh = before === undefined ? 0 : [...listeners].filter((l) => !before.listeners.has(l)).length
  const logins = ports.sizeOf('/var/log/btmp')
  const families = [
    ...gauge(
      'kubenode_node_selinux_enforcing',
      'Whether SELinux enforces: a node that was set to permissive by hand and forgotten.',
      bit(read('/sys/fs/selinux/enforce'), '1'),
    ),
    ...gauge(
      'kubenode_node_apparmor_enabled',
      'Whether AppArmor is on: without it, profiles that pods ask for confine nothing.',
      bit(read('/sys/module/apparmor/parameters/enabled'), 'Y'),
    ),
    lockdown(read('/sys/kernel/security/lockdown')),
    ...gauge(
      'kubenode_node_listening_sockets',
      'Addresses and ports on which programs of the host listen for TCP.',
      listeners.size,
    ),
    ...gauge(
      'kubenode_node_listening_sockets_new',
      'Listeners that were not there when this agent was first scraped: a service that no commit declared.',
      fresh,
    ),
    ...gauge(
      'kubenode_node_setuid_programs',
      'Programs with setuid or setgid in the folders of programs: any user runs them as their owner.',
      programs.files.size,
    ),
    {
      name: 'kubenode_node_setuid_programs_changed_total',
      help: 'Such programs that appeared, vanished or changed since the agent started; after an upgrade of packages expected, otherwise not.',
      type: 'counter' as const,
      samples: [{ value: programs.changed }],
    },
    {
      name: 'kubenode_node_failed_logins_total',
      help: 'Failed logins that the host keeps; falls when its log is rotated. A rise on many nodes at once is an attacker who tries passwords.',
      type: 'counter' as const,
      samples: logins === undefined ? [] : [{ value: Math.floor(logins / LOGIN_RECORD) }],
    },
  ]
  return { families, history: { listeners: before?.listeners ?? listeners, last, programs } }
}

const bit = (text: string | undefined, yes: string): number | undefined =>
  text === undefined ? undefined : text.trim() === yes ? 1 : 0

const gauge = (name: string, help: string, value: number | undefined): readonly MetricFamily[] =>
  value === undefined ? [] : [{ name, help, type: 'gauge', samples: [{ value }] }]

/** "none [integrity] confidentiality". */
function lockdown(text: string | undefined): MetricFamily {
  const mode = /\[(\w+)\]/.exec(text ?? '')?.[1]
  const samples: readonly Sample[] = mode === undefined ? [] : [{ labels: { mode }, value: 1 }]
  return {
    name: 'kubenode_node_kernel_lockdown',
    help: 'What the running kernel keeps even from root: none, integrity or confidentiality.',
    type: 'gauge',
    samples,
  }
}

function listenersOf({ read, nowMs }: SecurityPorts, before: Listeners | undefined): Listeners {
  return before !== undefined && nowMs - before.readMs < LISTENERS_EVERY_MS
    ? before
    : { readMs: nowMs, addresses: listenersIn(read) }
}

function listenersIn(read: ReadText): ReadonlySet<string> {
  const found = new Set<string>()
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6'])
    for (const line of (read(file) ?? '').split('\n')) {
      const [, address, , state] = line.trim().split(/\s+/)
      if (state === LISTEN && address !== undefined && found.size < MOST_LISTENERS) found.add(address)
    }
  return found
}

function programsOf({ setuidPrograms, nowMs }: SecurityPorts, before: SetuidPrograms | undefined): SetuidPrograms {
  if (before !== undefined && nowMs - before.readMs < SETUID_EVERY_MS) return before
  const files = setuidPrograms()
  if (before === undefined) return { readMs: nowMs, files, changed: 0 }
  const paths = new Set([...files.keys(), ...before.files.keys()])
  const changed = [...paths].filter((path) => files.get(path) !== before.files.get(path)).length
  return { readMs: nowMs, files, changed: before.changed + changed }
}

export function setuidProgramsOfHost(): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  let left = MOST_PROGRAMS
  for (const folder of PROGRAM_FOLDERS)
    for (const name of namesIn(folder)) {
      if (left-- <= 0) return found
      const path = join(folder, name)
      try {
        const { mode, uid, gid, size, ctimeMs } = lstatSync(path)
        if ((mode & SETUID_OR_SETGID) !== 0) found.set(path, [uid, gid, mode, size, ctimeMs].join(' '))
      } catch {
        // Removed in between.
      }
    }
  return found
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

export function sizeOfHostFile(path: string): number | undefined {
  try {
    return statSync(path).size
  } catch {
    return undefined
  }
}

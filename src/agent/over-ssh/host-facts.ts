// What a host without an agent is: read in one snippet, each fact bounded, and none of it believed for more than a report and a refusal.
import { oneLine } from '#ssh/answers.ts'
import { isBootID } from '#ssh/rescue-commands.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { defined } from '#lib/defined.ts'
import { visible } from '#lib/printable.ts'
import { kubernetesArch } from '#lib/kubernetes-arch.ts'
import { ELF_BYTES, parseElf } from '#lib/elf.ts'
import { type Channel, quoted } from '#ssh/channel.ts'
import { bootArguments } from '../node/boot-arguments.ts'
import type { HostFacts } from '../node/facts.ts'
import { parseOsRelease } from '../node/os-release.ts'
import type { Ground } from '../preflight/on-node.ts'
import type { NodeFacts } from '../preflight/preflight.ts'
import { PROBE_PROGRAMS, type ProbePrograms } from './probes.ts'
import { agentErrors } from '../agent-errors.ts'

export interface FactsOverSsh {
  readonly host: HostFacts
  readonly node: NodeFacts
  readonly upMs: number
  readonly programs: ProbePrograms
}

const WITHIN_MS = 20_000
const MOST_BYTES = 64 * 1024
const ELF_WITHIN_MS = 60_000

/** As `uname -m` calls them. */
const MACHINES: Readonly<Record<string, string>> = { x86_64: 'x64', aarch64: 'arm64' }

const READS = [
  'head -c 64 /proc/sys/kernel/random/boot_id',
  'uname -s',
  'uname -m',
  'uname -r',
  'uname -n',
  'nproc',
  "sed -n 's/^MemTotal: *\\([0-9]*\\) kB$/\\1/p' /proc/meminfo",
  'cut -d. -f1 /proc/uptime',
  'getconf GNU_LIBC_VERSION',
  'if [ -e /sys/fs/cgroup/cgroup.controllers ]; then echo V2; elif [ -e /sys/fs/cgroup/memory ] || [ -e /sys/fs/cgroup/cpu ]; then echo V1; fi',
  'head -c 8192 /etc/os-release || head -c 8192 /usr/lib/os-release',
  'head -c 4096 /proc/cmdline',
  `for p in ${PROBE_PROGRAMS.join(' ')}; do command -v $p >/dev/null && echo $p; done`,
] as const

export async function readFactsOverSsh(channel: Pick<Channel, 'ask'>): Promise<FactsOverSsh> {
  const snippet = READS.map((read) => `{ ${read}; } 2>/dev/null; printf '\\0'`).join('\n')
  const { stdout } = await channel.ask({ snippet, deadlineMs: WITHIN_MS, maxBytes: MOST_BYTES })
  const [
    boot = '',
    os = '',
    machine = '',
    kernel = '',
    name = '',
    cpus = '',
    memory = '',
    up = '',
    libc = '',
    cgroup = '',
    release = '',
    line = '',
    programs = '',
  ] = stdout.toString('utf8').split('\0').map(visible)
  const arch = kubernetesArch(MACHINES[machine.trim()] ?? oneLine(machine))
  const distribution = parseOsRelease(release)
  const boots = bootArguments(line)
  const bootId = boot.trim()
  // Another boot means that a reboot is over, so it is never guessed.
  if (!isBootID(bootId))
    throw new KubeNodeError(
      agentErrors.KN8096({ what: 'read', path: '/proc/sys/kernel/random/boot_id', why: 'no boot ID' }),
      { retry: 'later' },
    )
  const host: HostFacts = {
    bootId,
    os: oneLine(os).toLowerCase(),
    arch,
    kernel: oneLine(kernel),
    hostname: oneLine(name),
    cpus: count(cpus),
    memoryBytes: count(memory) * 1_024,
    ...defined({ distribution }),
    boot: boots,
  }
  const glibc = /^glibc (\d{1,4}(?:\.\d{1,4}){1,2})$/.exec(libc.trim())?.[1]
  const groups = cgroup.trim()
  return {
    host,
    node: {
      arch,
      kernel: host.kernel,
      glibc,
      cgroup: groups === 'V1' || groups === 'V2' ? groups : undefined,
      ...defined({ distribution }),
      bootArguments: boots.named,
    },
    upMs: count(up) * 1_000,
    programs: new Set(PROBE_PROGRAMS.filter((name) => programs.split('\n').includes(name))),
  }
}

const count = (text: string): number => (/^\d{1,12}$/.test(text.trim()) ? Number(text) : 0)

export function groundOverSsh(channel: Pick<Channel, 'ask'>): Ground {
  return {
    async room(path) {
      const { code, stdout } = await channel.ask({
        snippet: `stat -f -c '%a %S %c %d' -- ${quoted(path)}`,
        deadlineMs: WITHIN_MS,
        maxBytes: 256,
      })
      const found = /^(\d{1,16}) (\d{1,8}) (\d{1,16}) (\d{1,16})\n$/.exec(stdout.toString('latin1'))
      if (code !== 0 || found === null) return undefined
      const [free = 0, size = 0, inodes = 0, freeInodes = 0] = found.slice(1).map(Number)
      return { freeBytes: free * size, freeInodes: inodes === 0 ? undefined : freeInodes }
    },
    async elf(path) {
      const p = quoted(path)
      // Most files are no programs: the first bytes come first.
      const { stdout } = await channel.ask({
        snippet: `[ -f ${p} ] && [ "$(head -c 4 -- ${p} | od -An -tx1 | tr -d ' ')" = 7f454c46 ] && head -c ${ELF_BYTES} -- ${p}`,
        deadlineMs: ELF_WITHIN_MS,
        maxBytes: ELF_BYTES,
      })
      return parseElf(stdout)
    },
    async there(paths) {
      if (paths.length === 0) return new Set()
      const { stdout } = await channel.ask({
        snippet: paths.map((path, n) => `[ ! -e ${quoted(path)} ] || echo ${n}`).join('\n'),
        deadlineMs: WITHIN_MS,
      })
      const found = new Set(stdout.toString('latin1').split('\n'))
      return new Set(paths.filter((_, n) => found.has(String(n))))
    },
  }
}

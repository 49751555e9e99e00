// Pure: what the agent reports of the kernel's boot arguments. Arguments may hold secrets (keys of disks, passwords of network boots), so only those
// of a fixed list are reported, and the digest covers of the others the names alone.
import { sha256Hex } from '#lib/sha256.ts'

/** What decides how a kernel treats workloads. None of them takes a secret. */
const REPORTED: ReadonlySet<string> = new Set([
  'amd_iommu',
  'apparmor',
  'cgroup_disable',
  'cgroup_enable',
  'cgroup_no_v1',
  'clocksource',
  'crashkernel',
  'default_hugepagesz',
  'hugepages',
  'hugepagesz',
  'idle',
  'intel_idle.max_cstate',
  'intel_iommu',
  'intel_pstate',
  'iommu',
  'irqaffinity',
  'isolcpus',
  'lockdown',
  'lsm',
  'maxcpus',
  'mem',
  'mitigations',
  'module.sig_enforce',
  'nohz',
  'nohz_full',
  'nosmt',
  'numa',
  'numa_balancing',
  'panic',
  'pcie_aspm',
  'preempt',
  'processor.max_cstate',
  'psi',
  'rcu_nocbs',
  'security',
  'selinux',
  'skew_tick',
  'swapaccount',
  'systemd.unified_cgroup_hierarchy',
  'transparent_hugepage',
  'tsc',
])

/** Differs between machines of one image, and at each upgrade. */
const OF_ONE_MACHINE: ReadonlySet<string> = new Set(['BOOT_IMAGE', 'initrd', 'kubenode.boot', 'root', 'resume'])

/** A kernel reads 4 KiB at most. */
const MAX_LINE_CHARS = 4_096
const MAX_BOOT_ARGUMENTS = 32
const MAX_ARGUMENT_CHARS = 128

export interface BootArguments {
  /** In their order: `hugepagesz` counts for the `hugepages` after it. */
  readonly named: readonly string[]
  /** Machines with the same digest booted with the same arguments, as far as those are reported. */
  readonly digest: string
}

const argumentName = (argument: string): string => argument.split('=', 1)[0] ?? ''

/** `/proc/cmdline`. What follows `--` is for the first program. Double quotes keep spaces. */
export function bootArguments(line: string): BootArguments {
  const all: readonly string[] =
    line
      .slice(0, MAX_LINE_CHARS)
      .trim()
      .match(/(?:[^\s"]|"[^"]*"?)+/g) ?? []
  const end = all.indexOf('--')
  const own = end === -1 ? all : all.slice(0, end)
  const named = own.filter((a) => REPORTED.has(argumentName(a))).map((a) => a.slice(0, MAX_ARGUMENT_CHARS))
  const others = own.map(argumentName).filter((name) => !REPORTED.has(name) && !OF_ONE_MACHINE.has(name))
  const digest = sha256Hex(JSON.stringify([named, [...new Set(others)].toSorted()]))
  return { named: named.slice(0, MAX_BOOT_ARGUMENTS), digest }
}

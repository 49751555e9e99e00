// What all detectors cost at rest on a large host: their own program on a made-up /sys of a server with eight accelerators, and the real /proc. Everything is read
// `FASTER` times as often as by default, so that a minute shows what comes every hour; the figure is divided by that.
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { execPath, getuid } from 'node:process'
import { DETECTOR_DEFAULTS } from '#api/agent-config/detector-settings.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { BenchOptions, Figures } from '../result.ts'
import { familyMb } from './detection.ts'

const FASTER = 20
const WATCH_S = 60
const CALM_S = 10
/** The kernel counts processor time in these. */
const TICKS_PER_S = 100

const [CPUS, DIMMS, DISKS, PORTS, PCI, CHIPS] = [128, 32, 24, 16, 256, 8]
const hex = (n: number): string => n.toString(16).padStart(2, '0')

/** The small files of such a server, by path below /sys. */
function serverFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  const each = (count: number, put: (n: number) => Readonly<Record<string, string>>): void => {
    for (let n = 0; n < count; n++) for (const [path, text] of Object.entries(put(n))) files.set(path, `${text}\n`)
  }
  each(CPUS, (n) => ({
    [`devices/system/cpu/cpu${n}/thermal_throttle/core_throttle_count`]: '0',
    [`devices/system/cpu/cpu${n}/thermal_throttle/package_throttle_count`]: '0',
    [`devices/system/cpu/cpu${n}/topology/physical_package_id`]: String(n % 2),
  }))
  each(DIMMS, (n) => ({
    [`devices/system/edac/mc/mc${n % 8}/dimm${n}/dimm_label`]: `DIMM_${n}`,
    [`devices/system/edac/mc/mc${n % 8}/dimm${n}/dimm_ce_count`]: '3',
    [`devices/system/edac/mc/mc${n % 8}/dimm${n}/dimm_ue_count`]: '0',
  }))
  each(DISKS, (n) => ({ [`block/nvme${n}n1/size`]: '1', [`class/nvme/nvme${n}/firmware_rev`]: 'A' }))
  each(PORTS, (n) => ({
    [`class/infiniband/mlx5_${n}/ports/1/state`]: '4: ACTIVE',
    ...Object.fromEntries(
      ['link_downed', 'symbol_error', 'port_rcv_errors', 'link_error_recovery'].map((counter) => [
        `class/infiniband/mlx5_${n}/ports/1/counters/${counter}`,
        '0',
      ]),
    ),
    [`class/net/eth${n}/device/vendor`]: '0x15b3',
    [`class/net/eth${n}/carrier`]: '1',
    [`class/net/eth${n}/mtu`]: '9000',
    [`class/net/eth${n}/carrier_changes`]: '2',
  }))
  each(PCI, (n) => ({
    [`bus/pci/devices/0000:${hex(n)}:00.0/aer_dev_fatal`]: 'TOTAL_ERR_FATAL 0',
    [`bus/pci/devices/0000:${hex(n)}:00.0/current_link_width`]: '16',
  }))
  each(CHIPS, (n) => ({ [`class/hwmon/hwmon${n}/name`]: 'chip', [`class/hwmon/hwmon${n}/fan1_alarm`]: '0' }))
  return files
}

const PROGRAMS: Readonly<Record<string, string>> = {
  smartctl: `echo '{"smartctl":{"exit_status":0},"smart_status":{"passed":true}}'`,
  'nvidia-smi': `for n in 1 2 3 4 5 6 7 8; do echo "00000000:0$n:00.0, 0, No, No"; done`,
}

/** All of them, on. */
const settings = Object.fromEntries(
  Object.entries(DETECTOR_DEFAULTS).map(([name, { everyMs }]) => [
    name,
    { everyMs: `${Math.ceil(everyMs / FASTER)}ms` },
  ]),
)

/** Empty for a user who may not mount. */
export async function detectorFigures({ numbers }: BenchOptions): Promise<Figures> {
  if (!mayMount()) {
    process.stderr.write('the cost of all detectors is left out: it needs root, and the right to mount\n')
    return {}
  }
  const scratch = mkdtempSync(join(tmpdir(), 'kubenode-bench-detectors-'))
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  for (const [path, text] of serverFiles()) write(join(scratch, 'sys', path), text)
  for (const [name, script] of Object.entries(PROGRAMS)) {
    write(join(scratch, 'sbin', name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(scratch, 'sbin', name), 0o755)
  }
  const program = join(releaseRoot(), 'test/support/faults/hardware-host.ts')
  const script = `mount --bind ${scratch}/sys /sys && mount --bind ${scratch}/sbin /usr/sbin && exec "$0" "$@"`
  const child = spawn(
    'unshare',
    ['--mount', '--propagation', 'private', 'sh', '-c', script, execPath, program, scratch, JSON.stringify(settings)],
    { stdio: ['pipe', 'ignore', 'inherit'] },
  )
  try {
    const pid = child.pid ?? 0
    await systemClock.sleep((numbers['calm_s'] ?? CALM_S) * 1_000)
    const seconds = numbers['detectors_s'] ?? WATCH_S
    const before = cpuSeconds(pid)
    await systemClock.sleep(seconds * 1_000)
    const used = cpuSeconds(pid) - before
    return { detectors_cpu_pct: (used / seconds / FASTER) * 100, detectors_mb: familyMb(pid) }
  } finally {
    child.kill('SIGKILL')
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** Root of a container may lack the right. */
const mayMount = (): boolean =>
  getuid?.() === 0 && spawnSync('unshare', ['--mount', '--propagation', 'private', 'true']).status === 0

/** Of the program and of all programs that it started and that have ended. */
function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [FIRST, COUNT] = [11, 4]
  return fields.slice(FIRST, FIRST + COUNT).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_S
}

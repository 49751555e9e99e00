// Faults of hardware below the real detectors: files of /sys and /proc, and the programs that ask disks and management controllers, as a host with them has
// them. Needs root, for a mount namespace of its own.
import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { getuid } from 'node:process'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { releaseRoot } from '#lib/release-root.ts'

const isRoot = getuid?.() === 0
const NO_ROOT = 'needs root for a mount namespace'
const scratch = mkdtempSync(join(tmpdir(), 'kubenode-hardware-'))
const sys = join(scratch, 'sys')
const sbin = join(scratch, 'sbin')
const OPEN_FILES = join(scratch, 'file-nr')
let agent: ChildProcess | undefined
const seen: string[] = []

const OFF = ['disk', 'clock', 'crashLoops', 'certificates', 'kubelet', 'runtime', 'readOnly', 'hungTasks']
const QUICK = [
  'memory',
  'throttling',
  'pcie',
  'storage',
  'links',
  'kernelLimits',
  'sensors',
  'diskHealth',
  'mounts',
  'gpu',
]

function put(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

function putProgram(name: string, script: string): void {
  put(join(sbin, name), `#!/bin/sh\n${script}\n`)
  chmodSync(join(sbin, name), 0o755)
}

const saysOfDisk = (passed: boolean): string =>
  `echo '${JSON.stringify({ smartctl: { exit_status: passed ? 0 : 8 }, smart_status: { passed } })}'`

const DIMM = join(sys, 'devices/system/edac/mc/mc0/dimm0')
const FAN = join(sys, 'class/hwmon/hwmon0/fan1_alarm')
const ARRAY = join(sys, 'block/md0/md/degraded')
const DEVICE = join(sys, 'bus/pci/devices/0000:3b:00.0')
const PORT = join(sys, 'class/infiniband/mlx5_0/ports/1')

beforeAll(async () => {
  if (!isRoot) return
  put(join(DIMM, 'dimm_label'), 'DIMM_A1\n')
  put(join(DIMM, 'dimm_ce_count'), '0\n')
  put(join(DIMM, 'dimm_ue_count'), '0\n')
  put(join(sys, 'class/hwmon/hwmon0/name'), 'nct6775\n')
  put(FAN, '0\n')
  put(ARRAY, '0\n')
  put(join(DEVICE, 'aer_dev_fatal'), 'TOTAL_ERR_FATAL 0\n')
  put(join(DEVICE, 'current_link_width'), '16\n')
  put(join(PORT, 'state'), '4: ACTIVE\n')
  put(join(PORT, 'counters/link_downed'), '2\n')
  put(join(sys, 'block/sda/size'), '1\n')
  put(OPEN_FILES, '100\t0\t1000\n')
  putProgram('smartctl', saysOfDisk(true))
  putProgram('nvidia-smi', 'echo "00000000:3B:00.0, 0, No, No"; echo "00000000:5E:00.0, 0, No, No"')
  const mounts = [
    `mount --bind ${sys} /sys`,
    `mount --bind ${sbin} /usr/sbin`,
    `mount --bind ${OPEN_FILES} /proc/sys/fs/file-nr`,
  ]
  const settings = {
    ...Object.fromEntries(OFF.map((name) => [name, false])),
    ...Object.fromEntries(QUICK.map((name) => [name, { everyMs: '100ms' }])),
    diskHealth: { everyMs: '100ms', timeoutMs: '500ms' },
  }
  const program = join(releaseRoot(), 'test/support/faults/hardware-host.ts')
  // Without a shell's words in between, except for the mounts.
  const script = `${mounts.join(' && ')} && exec "$0" "$@"`
  const child = spawn(
    'unshare',
    [
      '--mount',
      '--propagation',
      'private',
      'sh',
      '-c',
      script,
      process.execPath,
      program,
      scratch,
      JSON.stringify(settings),
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  agent = child
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { type, isTrue, message } = JSON.parse(line) as { type: string; isTrue: boolean; message: string }
    seen.push(`${type} ${isTrue ? `True: ${message}` : 'False'}`)
  })
})

afterAll(async () => {
  const child = agent
  if (child !== undefined && child.exitCode === null) {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }
  rmSync(scratch, { recursive: true, force: true })
})

const says = (what: string) => expect.poll(() => seen).toContain(what)

test('each fault that is plugged in is a condition, and ends when it does', async (context) => {
  if (!isRoot) return context.skip(NO_ROOT)
  // The first looks see a sound host: what was there before is no growth.
  put(FAN, '1\n')
  await says('HardwareAlarm True: nct6775 fan1: alarm')
  expect(seen).toEqual(['HardwareAlarm True: nct6775 fan1: alarm'])

  put(join(DIMM, 'dimm_ue_count'), '1\n')
  put(ARRAY, '1\n')
  put(join(DEVICE, 'current_link_width'), '8\n')
  put(join(PORT, 'counters/link_downed'), '3\n')
  put(OPEN_FILES, '950\t0\t1000\n')
  putProgram('nvidia-smi', 'echo "00000000:3B:00.0, 0, Yes, No"')
  putProgram('smartctl', saysOfDisk(false))
  await says('MemoryFaulty True: DIMM_A1: uncorrectable memory errors')
  await says('StorageDegraded True: md0: 1 disk of the array missing or rebuilding')
  await says('PCIeFaulty True: 0000:3b:00.0: 8 PCIe lanes instead of 16')
  await says('LinkFaulty True: mlx5_0/1: link_downed grew')
  await says('OpenFileLimitNear True: more than 90 % of the 1000 open files (fs.file-max) are in use')
  await says('GPUFaulty True: 1 of 2 GPUs are gone')
  await says('GPUNeedsReset True: 00000000:3B:00.0: waits for a reset to remap rows of its memory')
  await says('DiskFailing True: sda: its own check failed')

  put(FAN, '0\n')
  put(ARRAY, '0\n')
  put(OPEN_FILES, '100\t0\t1000\n')
  putProgram('smartctl', saysOfDisk(true))
  await says('HardwareAlarm False')
  await says('StorageDegraded False')
  await says('OpenFileLimitNear False')
  await says('DiskFailing False')
  // A lost link stays a finding for its window, and lost memory until another boot.
  expect(seen.filter((s) => s === 'LinkFaulty False' || s === 'MemoryFaulty False')).toEqual([])
  return undefined
})

test('a disk whose program hangs delays no other detector, and output without end is cut off', async (context) => {
  if (!isRoot) return context.skip(NO_ROOT)
  putProgram('smartctl', 'exec sleep 60')
  put(FAN, '1\n')
  await expect.poll(() => seen.filter((s) => s.startsWith('HardwareAlarm True')).length).toBe(2)
  putProgram('smartctl', 'exec yes "{"')
  put(FAN, '0\n')
  await expect.poll(() => seen.filter((s) => s === 'HardwareAlarm False').length).toBe(2)
  putProgram('smartctl', saysOfDisk(false))
  await expect.poll(() => seen.filter((s) => s.startsWith('DiskFailing True')).length).toBe(2)
  return undefined
})

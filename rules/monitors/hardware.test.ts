// What the monitor makes of lines that kernels print, and of lines that look like them.
import { expect, test } from 'vitest'
import { LogMatcher } from '#agent/detect/npd/log-matcher.ts'
import { parseMonitor } from '#api/agent-config/monitor-config.ts'
import { hardwareMonitor } from './hardware.ts'
import { NEEDS_A_LOOK, NEEDS_REBOOT, NEEDS_RESET, OF_PROGRAMS } from './xid.ts'

const { monitor, problems } = parseMonitor(hardwareMonitor.monitors[0]?.config)

function found(line: string): readonly string[] {
  if (monitor?.kind !== 'Log') throw new Error('it is no log monitor')
  const matcher = new LogMatcher(
    monitor.rules.map((r) => r.pattern),
    monitor.bufferSize,
  )
  return matcher.push(line).flatMap(({ rule }) => {
    const { condition, reason } = monitor.rules[rule] ?? { condition: '', reason: '' }
    return [condition === undefined || condition === '' ? `event ${reason}` : condition]
  })
}

test('the monitor is valid', () => expect(problems).toEqual([]))

test.each([
  ['mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: bea0000000000108', ['CPUFaulty']],
  // Corrected: bit 61 is not set.
  ['mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: 9c20400007080813', []],
  ['mce: [Hardware Error]: Machine check events logged', []],
  ['EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0)', ['MemoryFaulty']],
  ['EDAC MC0: 3 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0', ['event CorrectedError']],
  ['Memory failure: 0x1d5e3: recovery action for dirty LRU page: Recovered', []],
  ['Memory failure: 0x1d5e3: recovery action for high-order kernel page: Ignored', ['MemoryFaulty']],
  ['pcieport 0000:00:1c.0: AER: Uncorrected (Fatal) error received: 0000:3b:00.0', ['PCIeFaulty']],
  ['pcieport 0000:00:1c.0: AER: Corrected error received: 0000:3b:00.0', []],
  ['nvme nvme2: Removing after probe failure status: -19', ['DiskFailing']],
  ['nvme nvme2: I/O 413 QID 6 timeout, reset controller', ['event DiskReset']],
  ["mlx5_core 0000:5e:00.0: poll_health:739:(pid 0): device's health compromised - reached miss count", ['LinkFaulty']],
  ['ixgbe 0000:05:00.0 eth1: NIC Link is Down', ['event LinkDown']],
  [
    "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    ['GPUNeedsReboot', 'GPUNeedsReboot'],
  ],
  ['NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.', ['GPUNeedsReboot']],
  ['NVRM: Xid (PCI:0000:3b:00): 95, pid=1234, name=python3, Uncontained: LTC TAG', ['GPUNeedsReset']],
  ['NVRM: Xid (PCI:0000:3b:00): 31, pid=77, name=train, MMU Fault', ['event XidOfProgram']],
  ['NVRM: Xid (PCI:0000:3b:00): 74, pid=0, name=x, NVLink: fatal error detected on link 4', ['GPUFaulty']],
  [
    'NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)',
    ['GPUNeedsReset'],
  ],
  [
    'NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x2 (Node Reboot Required)',
    ['GPUNeedsReboot'],
  ],
  ['NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)', []],
  ['nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up', ['GPUNeedsReboot']],
  ['nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error', []],
  ['amdgpu 0000:c3:00.0: amdgpu: 2 uncorrectable hardware errors detected in gfx block', ['GPUNeedsReset']],
  ['amdgpu 0000:c3:00.0: amdgpu: GPU reset(3) failed', ['GPUNeedsReboot']],
])('%s', (line, conditions) => {
  expect(found(line)).toEqual(conditions)
})

test('what a user writes into the log of the kernel through a program name is not taken for an Xid', () => {
  expect(found('traps: NVRM[77] trap invalid opcode ip:0 sp:0 error:0 in x')).toEqual([])
  expect(found('oom_reaper: reaped process 7 (Xid (PCI:0000:3b:00): 79), now anon-rss:0kB')).toEqual([])
})

test('crafted lines cost no time, however long', () => {
  for (const middle of [
    'changed from '.repeat(2_000),
    'a'.repeat(15_000),
    '('.repeat(5_000),
    '0x1 (GPU Reset Required) to '.repeat(500),
  ])
    expect(found(`NVRM: Xid (PCI:0000:3b:00): 154, ${middle}`)).toEqual([])
})

test('each number is in one list only', () => {
  const all: readonly number[] = [...NEEDS_RESET, ...NEEDS_REBOOT, ...NEEDS_A_LOOK, ...OF_PROGRAMS]
  expect(new Set(all).size).toBe(all.length)
})

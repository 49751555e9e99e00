// The monitor of what the kernel's log says about hardware: processors, memory, PCIe, disks, network cards, accelerators. A finding stays until another boot. Lines count
// from their beginning: further on, a line may quote the name of a file that a user chose. A line that begins with the name of a program (15 characters) has `[PID]` behind it.
import { NEEDS_A_LOOK, NEEDS_REBOOT, NEEDS_RESET, OF_PROGRAMS } from './xid.ts'

type Found = readonly [condition: string, reason: string, pattern: string]

const GPU = 'NVRM: Xid \\(PCI:[0-9a-fA-F:.]+\\):'
const xid = (numbers: readonly number[]): string => `${GPU} (?:${numbers.join('|')})(?:,.*)?`
/** Xid 154 says itself what to do. */
const recovery = (action: string): string => `${GPU} 154, .*changed from .* to \\w+ \\((?:${action})\\).*`

const FOUND: readonly Found[] = [
  // Of a machine check, bit 61 of the status says that it was not corrected.
  [
    'CPUFaulty',
    'MachineCheck',
    'mce: \\[Hardware Error\\]: CPU \\d+: Machine Check(?: Exception)?: \\w+ Bank \\d+: [abefABEF][0-9a-fA-F]{15}',
  ],
  ['MemoryFaulty', 'UncorrectableError', 'EDAC MC\\d+: \\d+ UE [^[].*'],
  ['MemoryFaulty', 'PageLost', 'Memory failure: 0x[0-9a-f]+: recovery action for .*: (?:Failed|Ignored).*'],
  ['PCIeFaulty', 'FatalError', '(?:\\S+ [0-9a-f:.]+: )?AER: [^[]*Uncorrect(?:ed|able) \\(Fatal\\).*'],
  ['DiskFailing', 'DiskGone', 'nvme nvme\\d+: (?:Removing after probe failure|Disabling device after reset failure).*'],
  [
    'LinkFaulty',
    'CardUnresponsive',
    'mlx5_core [0-9a-f:.]+: [^[]*(?:health compromised|health poll failed|fatal error).*',
  ],
  ['GPUNeedsReset', 'Xid', xid(NEEDS_RESET)],
  ['GPUNeedsReset', 'RecoveryAction', recovery('GPU Reset Required|Drain and Reset')],
  ['GPUNeedsReset', 'UncorrectableError', 'amdgpu [0-9a-f:.]+: amdgpu: .*uncorrectable hardware errors? detected.*'],
  ['GPUNeedsReboot', 'Xid', xid(NEEDS_REBOOT)],
  ['GPUNeedsReboot', 'RecoveryAction', recovery('Node Reboot Required')],
  ['GPUNeedsReboot', 'FallenOffTheBus', 'NVRM: [^[]*fallen off the bus.*'],
  ['GPUNeedsReboot', 'SwitchFailed', 'nvidia-nvswitch\\d+: SXid \\(PCI:[0-9a-fA-F:.]+\\): \\d+, Fatal,.*'],
  [
    'GPUNeedsReboot',
    'ResetFailed',
    'amdgpu [0-9a-f:.]+: amdgpu: GPU (?:reset(?:\\(\\d+\\))? failed|Recovery Failed).*',
  ],
  ['GPUFaulty', 'Xid', xid(NEEDS_A_LOOK)],
]

/** What the node survives: an event, no condition. */
const SURVIVED: readonly (readonly [reason: string, pattern: string])[] = [
  ['XidOfProgram', xid(OF_PROGRAMS)],
  ['CorrectedError', 'EDAC MC\\d+: \\d+ CE .*'],
  ['DiskReset', 'nvme nvme\\d+: .*(?:controller is down; will reset|timeout, reset controller).*'],
  ['UnreadableSector', '.*critical medium error, dev \\w+, sector \\d+.*'],
  ['LinkDown', '.*NIC Link is Down.*'],
]

const CALM: Readonly<Record<string, string>> = {
  CPUFaulty: 'the kernel logged no machine check that was not corrected',
  MemoryFaulty: 'the kernel logged no lost memory',
  PCIeFaulty: 'the kernel logged no fatal PCIe error',
  DiskFailing: 'the kernel gave up no disk',
  LinkFaulty: 'the kernel gave up no network card',
  GPUNeedsReset: 'no GPU asked for a reset',
  GPUNeedsReboot: 'no GPU asked for a reboot of its host',
  GPUFaulty: 'no GPU asked for a look',
}

export const hardwareMonitor = {
  monitors: [
    {
      config: {
        plugin: 'kmsg',
        logPath: '/dev/kmsg',
        lookback: '5m',
        bufferSize: 1,
        source: 'hardware-monitor',
        conditions: Object.entries(CALM).map(([type, message]) => ({ type, reason: `No${type}`, message })),
        rules: [
          ...FOUND.map(([condition, reason, pattern]) => ({
            type: 'permanent',
            condition,
            reason,
            pattern: `^${pattern}`,
          })),
          ...SURVIVED.map(([reason, pattern]) => ({ type: 'temporary', reason, pattern: `^${pattern}` })),
        ],
      },
    },
  ],
}

/** Where `resetDevice` repairs: its script, too, ends what the log said about a reset, unless the log says it again. */
export const hardwareMonitorWithReset = {
  monitors: hardwareMonitor.monitors.map((monitor) => ({ ...monitor, clearedBy: { GPUNeedsReset: ['runScript'] } })),
}

// Each detector that a rule of a new fleet acts upon: what is plugged into a host, the rule that repairs it, and what mends it; or why no folder can play it, and which
// test does instead. test/repo/repairs-page.test.ts compares it with the rules of a new fleet and with the detectors.
import type { NodeRemedierInput } from '#api/kinds/node-remedier.ts'
import { provoke } from '#programs/local/break/break-node.ts'
import { fillDisk, setClock } from '#programs/local/break/disk-and-clock.ts'
import { certificateExpiry } from '../../../rules/certificates/certificate-expiry.ts'
import { crashLooping } from '../../../rules/component/crash-looping.ts'
import { unwellComponent } from '../../../rules/component/unwell-component.ts'
import { brokenPart } from '../../../rules/hardware/broken-part.ts'
import { stuckPart } from '../../../rules/hardware/stuck-part.ts'
import { wornPart } from '../../../rules/hardware/worn-part.ts'
import { kernelDeadlock } from '../../../rules/kernel/kernel-deadlock.ts'
import { rebootRequired } from '../../../rules/kernel/reboot-required.ts'
import { tasksHung } from '../../../rules/kernel/tasks-hung.ts'
import { oomStorm } from '../../../rules/memory/oom-storm.ts'
import { diskSpaceLow } from '../../../rules/storage/disk-space-low.ts'
import { filesystemReadOnly } from '../../../rules/storage/filesystem-read-only.ts'
import { readOnlyFilesystem } from '../../../rules/storage/read-only-filesystem.ts'
import { clockSkewed } from '../../../rules/time/clock-skewed.ts'
import { CRASHES } from './played-components.ts'
import type { PlayedHost } from './played-host.ts'

type Spec = NodeRemedierInput['spec']

/** The rules of a new fleet that the rows need, by their names there. */
export const RULES = {
  'certificate-expiry': certificateExpiry('kubelet'),
  'clock-skewed': clockSkewed('systemd-timesyncd'),
  'cpu-faulty': brokenPart('CPUFaulty'),
  'crash-looping': crashLooping,
  'disk-failing': brokenPart('DiskFailing'),
  'disk-space-low': diskSpaceLow('DiskSpaceLow'),
  'filesystem-read-only': filesystemReadOnly,
  'fpga-faulty': stuckPart('FPGAFaulty'),
  'gpu-faulty': brokenPart('GPUFaulty'),
  'gpu-needs-reboot': stuckPart('GPUNeedsReboot'),
  'gpu-needs-reset': stuckPart('GPUNeedsReset'),
  'hardware-alarm': wornPart('HardwareAlarm'),
  'kernel-deadlock': kernelDeadlock,
  'link-faulty': stuckPart('LinkFaulty'),
  'memory-degraded': wornPart('MemoryDegraded'),
  'memory-faulty': brokenPart('MemoryFaulty'),
  'oom-storm': oomStorm,
  'parts-missing': stuckPart('PartsMissing'),
  'pcie-faulty': stuckPart('PCIeFaulty'),
  'readonly-filesystem': readOnlyFilesystem('ReadonlyFilesystem'),
  'reboot-required': rebootRequired,
  'storage-degraded': wornPart('StorageDegraded'),
  'tasks-hung': tasksHung,
  'unwell-hello': unwellComponent('hello'),
} satisfies Readonly<Record<string, Spec>>

/**
 * Reboot, Restart, Cleaning, Moving: the node stays, and is uncordoned in the end. Replace: another machine takes its place. Vendor: the rule changes nothing on the node, which
 * works; it reports the part, and the vendor that gets the report changes it.
 */
type Mends = 'Reboot' | 'Restart' | 'Replace' | 'Cleaning' | 'Moving' | 'Vendor'

interface Source {
  /** A detector of agent.json, the source of a monitor, or what else sets the condition. */
  readonly detector: string
  readonly condition: string
}

export interface Played extends Source {
  readonly rule: keyof typeof RULES
  readonly mends: Mends
  readonly plug: (host: PlayedHost) => void
}

export interface NotPlayed extends Source {
  readonly reason: string
  /** Where a repair of this condition or this detector is tried instead. */
  readonly instead: string
}

const DIMM = 'sys/devices/system/edac/mc/mc0/dimm0'
const CARD = 'sys/bus/pci/devices/0000:0b:00.0'
const PORT = 'sys/class/infiniband/mlx5_0/ports/1'

export const PLAYED: readonly Played[] = [
  played('memory', 'MemoryFaulty', 'Replace', (h) => h.put(`${DIMM}/dimm_ue_count`, '1\n')),
  played('rasdaemon', 'MemoryFaulty', 'Replace', (h) => h.recorded('mc_event')),
  played('eventLog', 'MemoryFaulty', 'Replace', (h) => h.event('Memory DIMM_A1', 'Uncorrectable ECC')),
  played('hardware-monitor', 'MemoryFaulty', 'Replace', (h) => h.log('EDAC MC0: 1 UE memory read error on DIMM_A1')),
  played('memory', 'MemoryDegraded', 'Vendor', (h) => h.put(`${DIMM}/dimm_ce_count`, '500\n')),
  played('rasdaemon', 'CPUFaulty', 'Replace', (h) => h.recorded('mce_record')),
  played('eventLog', 'CPUFaulty', 'Replace', (h) => h.event('Processor CPU1', 'IERR')),
  played('hardware-monitor', 'CPUFaulty', 'Replace', (h) =>
    h.log('mce: [Hardware Error]: CPU 2: Machine Check Exception: 5 Bank 4: be00000000800400'),
  ),
  played('diskHealth', 'DiskFailing', 'Replace', (h) => h.diskWarns()),
  played('hardware-monitor', 'DiskFailing', 'Replace', (h) =>
    h.log('nvme nvme0: Removing after probe failure status: -19'),
  ),
  played('storage', 'StorageDegraded', 'Vendor', (h) => h.put('sys/block/md0/md/degraded', '1\n')),
  played('eventLog', 'StorageDegraded', 'Vendor', (h) => h.event('Drive Slot Bay 3', 'Drive Fault')),
  played('sensors', 'HardwareAlarm', 'Vendor', (h) => h.says('sdr', 'Fan1A | 30h | cr  | 29.1 | 0 RPM\n')),
  played('eventLog', 'HardwareAlarm', 'Vendor', (h) => h.event('Power Supply PS2', 'Failure detected')),
  played('redfish', 'HardwareAlarm', 'Vendor', (h) => h.fanStops()),
  played('pcie', 'PCIeFaulty', 'Reboot', (h) => h.put(`${CARD}/aer_dev_fatal`, 'TOTAL_ERR_FATAL 1\n')),
  played('rasdaemon', 'PCIeFaulty', 'Reboot', (h) => h.recorded('aer_event')),
  played('eventLog', 'PCIeFaulty', 'Reboot', (h) => h.event('Critical Interrupt #0x90', 'Bus Fatal Error')),
  played('hardware-monitor', 'PCIeFaulty', 'Reboot', (h) =>
    h.log('pcieport 0000:3a:00.0: AER: Uncorrected (Fatal) error received: 0000:3b:00.0'),
  ),
  played('links', 'LinkFaulty', 'Reboot', (h) => h.put(`${PORT}/state`, '1: DOWN\n')),
  played('hardware-monitor', 'LinkFaulty', 'Reboot', (h) =>
    h.log('mlx5_core 0000:5e:00.0: device health compromised - reached miss count'),
  ),
  played('gpu', 'GPUFaulty', 'Replace', (h) => h.gpus(['No', 'Yes'], ['No', 'No'])),
  played('hardware-monitor', 'GPUFaulty', 'Replace', (h) =>
    h.log('NVRM: Xid (PCI:0000:3b:00): 74, pid=0, NVLink: fatal error'),
  ),
  played('gpu', 'GPUNeedsReset', 'Reboot', (h) => h.gpus(['Yes', 'No'], ['No', 'No'])),
  played('hardware-monitor', 'GPUNeedsReset', 'Reboot', (h) =>
    h.log('NVRM: Xid (PCI:0000:3b:00): 95, pid=0, uncontained'),
  ),
  played('hardware-monitor', 'GPUNeedsReboot', 'Reboot', (h) =>
    h.log('NVRM: GPU at PCI:0000:3b:00: GPU has fallen off the bus.'),
  ),
  played('fpga', 'FPGAFaulty', 'Reboot', (h) => h.put('sys/class/fpga_manager/fpga0/state', 'write error\n')),
  played('parts', 'PartsMissing', 'Reboot', (h) => h.remove(CARD)),
  played('kernel-monitor', 'KernelDeadlock', 'Reboot', (h) =>
    h.log('INFO: task containerd:4711 blocked for more than 120 seconds.'),
  ),
  played('kernel-monitor', 'TasksHung', 'Reboot', (h) =>
    h.log('INFO: task postgres:4711 blocked for more than 120 seconds.'),
  ),
  played('hungTasks', 'TasksHung', 'Reboot', (h) =>
    h.put('proc/4711/stat', `4711 (postgres) D 1 ${'0 '.repeat(9)}7 7 ${'0 '.repeat(6)}99 0\n`),
  ),
  played('rebootRequired', 'RebootRequired', 'Reboot', (h) => h.put('run/reboot-required', '')),
  played('kernel-monitor', 'FrequentOOMKill', 'Moving', (h) => h.log('Out of memory: Killed process 4711 (postgres)')),
  played('kernel-monitor', 'ReadonlyFilesystem', 'Reboot', (h) =>
    h.log('EXT4-fs (sda1): Remounting filesystem read-only'),
  ),
  played('readOnly', 'FilesystemReadOnly', 'Reboot', (h) => h.mounts('ro')),
  played('clock', 'ClockSkewed', 'Reboot', (h) => setClock(h.node)),
  played('certificates', 'CertificateExpiring', 'Restart', (h) => h.certificateAges()),
  played('crashLoops', 'ComponentCrashLooping', 'Reboot', (h) => h.put(CRASHES, '')),
  played('components', 'ComponentUnhealthy-hello', 'Restart', (h) => {
    provoke('hung', h.node, { component: 'hello' })
  }),
  played('disk', 'DiskSpaceLow', 'Cleaning', (h) => fillDisk(h.node)),
]

/** The rule is the one that reads the condition. */
function played(detector: string, condition: string, mends: Mends, plug: Played['plug']): Played {
  const named = Object.entries(RULES).find(([, { when }]) => JSON.stringify(when).includes(`/${condition}/status`))
  if (named === undefined) throw new Error(`no rule reads ${condition}`)
  return { detector, condition, mends, plug, rule: named[0] as keyof typeof RULES }
}

const UNIT = 'src/agent/detect'

export const NOT_PLAYED: readonly NotPlayed[] = [
  {
    detector: 'disk',
    condition: 'InodesLow',
    reason: 'a folder has the inodes of its machine; the rule is that of DiskSpaceLow, which is played',
    instead: `${UNIT}/builtin/builtin.test.ts`,
  },
  {
    detector: 'disk',
    condition: 'DiskFillingUp',
    reason: 'the rate needs an hour of looks; the rule is that of DiskSpaceLow, which is played',
    instead: `${UNIT}/builtin/builtin.test.ts`,
  },
  {
    detector: 'kubelet',
    condition: 'KubeletUnhealthy',
    reason: 'systemd has to say that the unit is frozen, and to restart it',
    instead: 'test/e2e/real/nodes.full.test.ts',
  },
  {
    detector: 'runtime',
    condition: 'ContainerRuntimeUnhealthy',
    reason: 'systemd has to say that the unit is frozen, and to restart it',
    instead: 'test/e2e/real/nodes.full.test.ts',
  },
  {
    detector: 'mounts',
    condition: 'FilesystemStalled',
    reason:
      'a file system that hangs is one of the kernel, not a file; the ladder is that of KernelDeadlock, which is played',
    instead: `${UNIT}/hardware/hardware.test.ts`,
  },
  {
    detector: 'dcgm',
    condition: 'GPUFaulty',
    reason: 'the exporter listens on a port of the host, which all folders of a machine share',
    instead: `${UNIT}/hardware/other-records.test.ts`,
  },
  {
    detector: 'dcgm',
    condition: 'GPUNeedsReset',
    reason: 'the exporter listens on a port of the host, which all folders of a machine share',
    instead: `${UNIT}/hardware/other-records.test.ts`,
  },
  {
    detector: 'kubelet of the host',
    condition: 'DiskPressure',
    reason: 'kubelets set it; the steps are those of DiskSpaceLow, which is played',
    instead: 'src/agent/repair/clean-disk.test.ts',
  },
  {
    detector: 'kubelet of the host',
    condition: 'Ready',
    reason: 'kubelets and the control plane set it',
    instead: 'test/e2e/real/nodes.full.test.ts',
  },
]

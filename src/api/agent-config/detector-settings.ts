// The thresholds of KubeNode's own detectors, as data. agent.json overrides single ones by name; times are durations there.
import type { NODE_CONDITIONS } from '../node-conditions.ts'

export const DETECTOR_DEFAULTS = {
  disk: {
    isOn: true,
    everyMs: 30_000,
    paths: ['/', '/var', '/var/lib/kubelet', '/var/lib/containerd', '/var/log'] as readonly string[],
    /** Less free space is a problem, which ends with this much more. */
    minFreePercent: 10,
    minFreeInodesPercent: 5,
    hysteresisPercent: 2,
    /** At the rate of the last hour, and with less free than this. */
    fullWithinMs: 14_400_000,
    maxFreePercentForRate: 40,
  },
  readOnly: {
    isOn: true,
    everyMs: 5_000,
    /** A read-only mount here is a problem even if it was never observed writable. */
    mustWrite: ['/', '/var'] as readonly string[],
  },
  clock: { isOn: true, everyMs: 300_000, maxSkewMs: 10_000 },
  /** Asks the node's name servers for the name of the API server, or for these names. */
  nameLookups: { isOn: true, everyMs: 30_000, timeoutMs: 5_000, failuresInARow: 3, names: [] as readonly string[] },
  crashLoops: { isOn: true, everyMs: 30_000, crashes: 5, windowMs: 600_000 },
  certificates: {
    isOn: true,
    everyMs: 600_000,
    paths: [
      '/var/lib/kubelet/pki/kubelet-client-current.pem',
      '/var/lib/kubelet/pki/kubelet-server-current.pem',
    ] as readonly string[],
    /** Certificates are usually renewed at four fifths of their life; one in its last tenth was forgotten. */
    minLeftPercent: 10,
  },
  /** Reasons of the node or its network; not images that do not exist. */
  imagePulls: { isOn: true, everyMs: 60_000, windowMs: 600_000, failures: 5 },
  boot: { isOn: true, everyMs: 300_000, maxMs: 900_000 },
  hungTasks: { isOn: true, everyMs: 30_000, afterMs: 120_000 },
  rebootRequired: { isOn: true, everyMs: 60_000 },
  /**
   * Checked if its unit exists. Restarted from here only if the agent does not supervise it as a component; supervision already restarts crashed or frozen
   * ones.
   */
  kubelet: { isOn: true, everyMs: 5_000, timeoutMs: 10_000, cooldownMs: 60_000, restart: false },
  runtime: {
    isOn: true,
    everyMs: 5_000,
    /** Detects a hang without a stop; a runtime under load answers within a few seconds. */
    timeoutMs: 20_000,
    cooldownMs: 120_000,
    restart: false,
    /** Slow answers, each of so many in a row; a healthy runtime answers within milliseconds. */
    slowMs: 2_000,
    slowInARow: 6,
    services: ['containerd', 'crio', 'docker'] as readonly string[],
  },
  /** Growth of errors in an hour; a few corrected ones a year are normal. */
  memory: {
    isOn: true,
    everyMs: 60_000,
    windowMs: 3_600_000,
    maxCorrectedPerHour: 100,
    maxCorrectedPerHourForDays: 10,
  },
  throttling: { isOn: true, everyMs: 60_000, windowMs: 600_000, maxPerMinute: 1_000 },
  pcie: { isOn: true, everyMs: 60_000 },
  storage: { isOn: true, everyMs: 60_000 },
  links: {
    isOn: true,
    everyMs: 60_000,
    windowMs: 600_000,
    maxSymbolErrorsPerHour: 120,
    maxRecoveriesPerMinute: 5,
    maxReceiveErrorsPerSecond: 10,
    /** Within the window; a reconnected cable makes two. */
    maxCarrierChanges: 10,
    maxCrcErrors: 100,
  },
  kernelLimits: { isOn: true, everyMs: 30_000, maxUsedPercent: 90, hysteresisPercent: 5 },
  /** Versions that parts may have: `nvme SAMSUNG MZQL2*=GDC5602Q|GDC5902Q`. Without entries, none is judged. */
  firmware: { isOn: true, everyMs: 3_600_000, allowed: [] as readonly string[] },
  /** With ipmitool, which takes a slow management controller some seconds. */
  sensors: { isOn: true, everyMs: 300_000, timeoutMs: 60_000 },
  /** With smartctl; disks keep sleeping. */
  diskHealth: { isOn: true, everyMs: 3_600_000, windowMs: 86_400_000, timeoutMs: 30_000, maxUsedPercent: 90 },
  /** With nvidia-smi, which wakes accelerators up. */
  gpu: { isOn: true, everyMs: 300_000, timeoutMs: 10_000 },
  fpga: { isOn: true, everyMs: 60_000 },
  /** Its record in /var/lib/rasdaemon, where it runs. */
  rasdaemon: { isOn: true, everyMs: 300_000 },
  /** The metrics of DCGM's exporter at 127.0.0.1:9400, where root runs one there. */
  dcgm: { isOn: true, everyMs: 60_000, timeoutMs: 5_000 },
  /** The management controller that the host's own file /etc/kubenode/redfish.json names. */
  redfish: { isOn: true, everyMs: 300_000, timeoutMs: 20_000 },
  /** The management controller's own record, with ipmitool; as often as its sensors. */
  eventLog: { isOn: true, everyMs: 300_000, timeoutMs: 60_000, windowMs: 86_400_000 },
  /** What machines of a class have: `h100-8 gpu=8 infiniband=8`. Without an entry for its class, no machine is judged. */
  parts: { isOn: true, everyMs: 60_000, afterMs: 600_000, expected: [] as readonly string[] },
  mounts: { isOn: true, everyMs: 30_000, afterMs: 60_000 },
}

export type DetectorSettings = typeof DETECTOR_DEFAULTS
export type DetectorName = keyof DetectorSettings

/** The Node conditions that each detector sets. */
export const DETECTOR_CONDITIONS: Readonly<Record<DetectorName, readonly (keyof typeof NODE_CONDITIONS)[]>> = {
  disk: ['DiskSpaceLow', 'InodesLow', 'DiskFillingUp'],
  readOnly: ['FilesystemReadOnly'],
  clock: ['ClockSkewed'],
  nameLookups: ['NameLookupsFailing'],
  crashLoops: ['ComponentCrashLooping'],
  certificates: ['CertificateExpiring'],
  imagePulls: ['ImagePullsFailing'],
  boot: ['BootSlow'],
  hungTasks: ['TasksHung'],
  rebootRequired: ['RebootRequired'],
  kubelet: ['KubeletUnhealthy'],
  runtime: ['ContainerRuntimeUnhealthy', 'ContainerRuntimeSlow'],
  memory: ['MemoryFaulty', 'MemoryDegraded'],
  throttling: ['CPUThrottled'],
  pcie: ['PCIeFaulty'],
  storage: ['StorageDegraded', 'FilesystemErrors'],
  links: ['LinkFaulty', 'LinkDegraded'],
  kernelLimits: ['ConntrackFull', 'ProcessLimitNear', 'OpenFileLimitNear'],
  firmware: ['FirmwareNotAllowed'],
  sensors: ['HardwareAlarm'],
  diskHealth: ['DiskFailing', 'DiskWorn'],
  gpu: ['GPUFaulty', 'GPUNeedsReset'],
  fpga: ['FPGAFaulty'],
  rasdaemon: ['MemoryFaulty', 'CPUFaulty', 'PCIeFaulty'],
  dcgm: ['GPUFaulty', 'GPUNeedsReset'],
  redfish: ['HardwareAlarm'],
  eventLog: ['MemoryFaulty', 'CPUFaulty', 'PCIeFaulty', 'StorageDegraded', 'HardwareAlarm'],
  parts: ['PartsMissing'],
  mounts: ['FilesystemStalled'],
}

// Node conditions that agents report by default, each with its sentence. Rules refer to them; configured logs add others. As for all node conditions besides
// Ready, True means trouble.

/** A component of the node is unhealthy; the message names it. */
export const COMPONENT_UNHEALTHY = 'ComponentUnhealthy'

/** Part of the configured detection is unusable; without this condition the gap would go unnoticed. */
export const DETECTION_INCOMPLETE = 'DetectionIncomplete'

export const NODE_CONDITIONS = {
  [COMPONENT_UNHEALTHY]:
    'A component of the Machine crashed, is frozen, fails a probe or cannot run. ComponentUnhealthy-<component> reports a single component.',
  [DETECTION_INCOMPLETE]:
    'A monitor file, one of its rules, the program of a check, or its log cannot be used; the message names it. All others keep running.',
  DiskSpaceLow: 'A file system of the node has fewer free bytes than the threshold.',
  InodesLow: 'A file system of the node has fewer free inodes than the threshold.',
  DiskFillingUp: 'A file system of the node will be full within hours at the rate of the last hour.',
  FilesystemReadOnly:
    'A file system is not writable: the kernel remounted it read-only, it was writable before, or it is required to be writable.',
  ClockSkewed: "The node's clock differs from the API server's by more than the threshold, twice in a row.",
  ComponentCrashLooping: 'A component crashed repeatedly within the window, even if it is healthy in between.',
  CertificateExpiring: 'A certificate of the node expires soon or has expired.',
  ImagePullsFailing: 'Pulls of images fail for a reason of the node, its network or the registry.',
  BootSlow: 'The last boot of the host took longer than the threshold, or is not over.',
  TasksHung: 'Processes hang in the kernel.',
  RebootRequired: 'Packages of the distribution ask for a reboot: a new kernel, or a library that runs.',
  KubeletUnhealthy: 'The kubelet does not answer, is dead or is stopped.',
  ContainerRuntimeUnhealthy: 'The container runtime does not answer, is dead or is stopped.',
  ContainerRuntimeSlow:
    'The container runtime answers, but slowly: pods start late, and the kubelet notices late that one ended.',
  MemoryFaulty:
    'Memory of the host lost data since boot: an uncorrectable error, or pages that the kernel took out of use.',
  MemoryDegraded: 'A memory module corrects more errors than the threshold. Uncorrectable ones often follow.',
  CPUThrottled: 'A processor slows itself down because it is too hot.',
  PCIeFaulty: 'A PCIe device had a fatal error since boot, or its link lost lanes.',
  StorageDegraded: 'An array or a multipath device runs with fewer disks or paths than it has.',
  FilesystemErrors: 'The kernel found errors in an ext4 file system. They stay until fsck repairs it.',
  LinkFaulty: 'An InfiniBand port or a bond went down, or has errors that end the jobs that use it.',
  LinkDegraded:
    'A network link has errors, goes up and down, carries smaller packets than before, or a bond runs without one of its members.',
  NameLookupsFailing: 'No name server of the node answers: pods that use them, image pulls and the kubelet fail next.',
  ConntrackFull: 'The kernel has little room for more tracked connections: new ones are dropped.',
  ProcessLimitNear: 'The kernel has little room for more processes and threads.',
  OpenFileLimitNear: 'The kernel has little room for more open files.',
  FirmwareNotAllowed: 'A part of the host has firmware of a version that the fleet does not allow.',
  HardwareAlarm: 'A fan, a power supply, a voltage or a temperature of the host raises an alarm.',
  DiskFailing: 'A disk reports that it fails, or can read less and less.',
  DiskWorn: 'A disk has used up most of the writes that it is made for.',
  GPUFaulty: 'A GPU does not answer any more, or has a fault that no reset ends.',
  GPUNeedsReset: 'A GPU needs a reset before it can be used again.',
  CPUFaulty: 'A processor had a machine check that was not corrected since boot.',
  FPGAFaulty: 'The configuration of an FPGA failed, or its card has a fatal error.',
  PartsMissing: 'The host shows fewer GPUs, network ports or disks than the machines of its class have.',
  FilesystemStalled: 'A file system has not answered for a minute: a server that is away, or a disk that hangs.',
} as const

/** For one component, so that a rule can name it: `ComponentUnhealthy-containerd`. Appears once the component had trouble. */
export const componentConditionType = (component: string): string => `${COMPONENT_UNHEALTHY}-${component}`

/** Node conditions by which Kubernetes tells that a node is out of service on purpose (KEP-5683). True is no trouble: the node is being worked on. */
/** Longer messages of an agent's conditions are cut. */
export const MAX_CONDITION_MESSAGE = 200

export const LIFECYCLE_TYPES = ['DrainInProgress', 'Drained', 'MaintenancePlanned', 'MaintenanceInProgress'] as const
export type LifecycleType = (typeof LIFECYCLE_TYPES)[number]

const OF_LIFECYCLE: ReadonlySet<string> = new Set([...LIFECYCLE_TYPES, 'GracefulNodeShutdownInProgress'])

export const isOfLifecycle = (type: string): boolean => OF_LIFECYCLE.has(type)

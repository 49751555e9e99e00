// The Node conditions that our agents report by themselves, each with its sentence. Rules name them; logs of the configuration add others.
// Like all conditions of nodes beside Ready, True means trouble.

/** Any component of the node is unhealthy; the message names them. */
export const COMPONENT_UNHEALTHY = 'ComponentUnhealthy'

/** Something of the configured detection cannot be used, and nobody would notice by its silence. */
export const DETECTION_INCOMPLETE = 'DetectionIncomplete'

export const NODE_CONDITIONS = {
  [COMPONENT_UNHEALTHY]:
    'A component that the Machine names crashed, is frozen, fails a probe or cannot be run. ComponentUnhealthy-<component> says the same of one component.',
  [DETECTION_INCOMPLETE]:
    'A monitor file, a rule of one, the program of a check, or the log that it reads cannot be used; the message names it. All others go on.',
  DiskSpaceLow: 'A file system of the node has fewer free bytes than the threshold.',
  InodesLow: 'A file system of the node has fewer free inodes than the threshold.',
  FilesystemReadOnly:
    'A file system cannot be written any more: the kernel stopped it, it was writable before, or it must be.',
  ClockSkewed: "The node's clock is further from the API server's than the threshold, twice in a row.",
  ComponentCrashLooping: 'A component crashed again and again within the window, however well it looks in between.',
  CertificateExpiring: 'A certificate of the node is in the last part of its life, or past its end.',
  TasksHung: 'Processes wait in the kernel without an end.',
  KubeletUnhealthy: 'The kubelet does not answer, is dead or is stopped.',
  ContainerRuntimeUnhealthy: 'The container runtime does not answer, is dead or is stopped.',
} as const

/** Of one component, so that a rule can name it: `ComponentUnhealthy-containerd`. Appears once the component had trouble. */
export const componentConditionType = (component: string): string => `${COMPONENT_UNHEALTHY}-${component}`

/** Reasons of these conditions. */
export const NODE_CONDITION_REASONS = {
  ComponentCrashed: 'Its process ended by itself.',
  ComponentFrozen: 'Its process was stopped by a signal and does not go on.',
  ProbeFailing: 'A probe fails again and again.',
  ComponentFailed: 'No version of it can be run.',
  ComponentUnhealthy: 'One or more components have trouble.',
  AllComponentsHealthy: 'Every component is well.',
  ComponentHealthy: 'The component was well for long enough.',
  ComponentGone: 'The component is not installed any more.',
  DetectionComplete: 'Every configured monitor is used.',
  MonitorNotUsed: 'A monitor, or a part of one, is not used.',
  EnoughRoom: 'There is enough room.',
  FilesystemsWritable: 'File systems can be written.',
  ClockInTime: "The clock is with the API server's.",
  NoCrashLoops: 'No component crashes again and again.',
  CertificatesValid: 'Certificates are far from their end.',
  CertificateExpired: 'A certificate is past its end.',
  NoTasksHung: 'No process hangs in the kernel.',
  KubeletIsHealthy: 'The kubelet answers.',
  ContainerRuntimeIsHealthy: 'The container runtime answers.',
  NodeBooted: 'The node has booted since.',
  Repaired: 'A repair that mends it succeeded, and it was not seen since.',
  Cleared: 'A line of the log said that it is over.',
  Silent: 'No such line came for as long as its rule says.',
} as const

// Conditions that agents set by themselves and that have no rule, each for a reason. All others have one in the shipped fleet and in a new one.
import type { NODE_CONDITIONS } from '#api/node-conditions.ts'

const REASONS: Partial<Record<keyof typeof NODE_CONDITIONS, string>> = {
  ComponentUnhealthy: 'sums up the conditions of single components, which have rules',
  DetectionIncomplete: 'is a mistake in the configuration of agents',
  CPUThrottled: 'is a matter of cooling',
  FilesystemErrors: 'stays until fsck, which needs an unmounted file system',
  LinkDegraded: 'is a cable or a port that still works',
  NameLookupsFailing: 'is a matter of the network or of the name servers; no repair of one node mends them',
  ImagePullsFailing: 'is a matter of the network or of the registry, and users can cause it with images of their own',
  ContainerRuntimeSlow: 'is load or a slow disk; ContainerRuntimeUnhealthy has a rule if it gets worse',
  BootSlow: 'is over when it is found; the next boot is not faster',
  FirmwareNotAllowed: 'needs an update that people plan',
  ConntrackFull: 'is a limit that a person sets, as are the next two',
  ProcessLimitNear: 'is a limit that a person sets',
  OpenFileLimitNear: 'is a limit that a person sets',
  DiskWorn: 'leaves months to plan',
}

export const CONDITIONS_FOR_PEOPLE: readonly string[] = Object.keys(REASONS)

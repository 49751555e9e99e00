// Conditions that agents set by themselves and that have no rule, each for a reason. All others have one in the shipped fleet and in a new one.
import type { NODE_CONDITIONS } from '#api/node-conditions.ts'

const REASONS: Partial<Record<keyof typeof NODE_CONDITIONS, string>> = {
  ComponentUnhealthy: 'sums up the conditions of single components, which have rules',
  DetectionIncomplete: 'is a mistake in the configuration of agents',
  CPUThrottled: 'is a matter of cooling',
  FilesystemErrors: 'stays until fsck, which needs an unmounted file system',
  LinkDegraded: 'is a cable or a port that still works',
  ConntrackFull: 'is a limit that a person sets, as are the next two',
  ProcessLimitNear: 'is a limit that a person sets',
  OpenFileLimitNear: 'is a limit that a person sets',
  DiskWorn: 'leaves months to plan',
}

export const CONDITIONS_FOR_PEOPLE: readonly string[] = Object.keys(REASONS)

// Faults of a hollow node that a real node would discover: which versions work, how long fetching takes, and what it misreports.
import type { ComponentStatus } from '#api/kinds/machine.ts'

/** What happens to a version after its start. Only components with a service can crash, and only those with probes can fail them. */
type Behavior = 'Works' | 'ProbeFails' | 'Crashes'

export interface HollowFaults {
  readonly behavior: (machine: string, component: string, version: string) => Behavior
  /** Virtual or real time from the order of a version until it is staged. */
  readonly stageMs: (machine: string, component: string, version: string) => number
  /** Reported instead of the truth. */
  readonly report: (machine: string, truth: ComponentStatus) => ComponentStatus
  /** Whether it passes the acceptance of a new Node; if absent, it does. */
  readonly isAccepted?: (machine: string) => boolean
  /** A kubelet beside it creates its Node and renews its Lease. */
  readonly hasKubelet?: (machine: string) => boolean
}

export const noFaults: HollowFaults = {
  behavior: () => 'Works',
  stageMs: () => 0,
  report: (_, truth) => truth,
}

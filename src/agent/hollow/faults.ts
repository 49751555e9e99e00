// How a hollow node behaves where a real one would find out: which versions work on it, how long fetching takes, and what it says that is not so.
import type { ComponentStatus } from '../status/machine-status.ts'

/** What becomes of a version once it is started. Only components with a service can crash, and only those with probes can fail them. */
export type Fate = 'Works' | 'ProbeFails' | 'Crashes'

export interface HollowFaults {
  readonly fate: (machine: string, component: string, version: string) => Fate
  /** Virtual or real time from the wish for a version until it is staged. */
  readonly stageMs: (machine: string, component: string, version: string) => number
  /** What the agent says in place of the truth. */
  readonly say: (machine: string, truth: ComponentStatus) => ComponentStatus
  /** A kubelet beside it makes its Node and beats for it. */
  readonly hasKubelet?: (machine: string) => boolean
}

export const noFaults: HollowFaults = {
  fate: () => 'Works',
  stageMs: () => 0,
  say: (_, truth) => truth,
}

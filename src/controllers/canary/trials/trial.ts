// Types that plan and status of a canary share. A trial is one picked machine with one component.
import type { Reason } from '#api/catalogue.ts'
import type { DeclaredComponent } from '#api/kinds/component-config.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { CanaryPhase } from '#api/protocol/canary.ts'
import type { Standing } from './machine-state.ts'

export interface Wait {
  readonly predicate: Reason
  readonly seen: string
  readonly unblock: string
}

/** The result of one component on one picked machine. */
export interface Trial {
  readonly machine: Machine
  readonly wanted: DeclaredComponent
  readonly standing: Standing
}

export const MARKING: ReadonlySet<CanaryPhase> = new Set(['Rolling', 'Observing', 'Passed'])

export const REASON_OF: Readonly<Record<CanaryPhase, Reason>> = {
  Pending: 'WaitingForOther',
  Rolling: 'CanaryRunning',
  Observing: 'CanaryRunning',
  Passed: 'CanaryPassed',
  Promoted: 'CanaryPromoted',
  Lapsed: 'CanaryPassed',
  Failed: 'CanaryFailed',
  Aborted: 'HoldAbort',
}

export const failedMachines = (trials: readonly Trial[]): ReadonlySet<string> =>
  new Set(trials.filter((t) => t.standing === 'Failed').map((t) => t.machine.metadata.name ?? ''))

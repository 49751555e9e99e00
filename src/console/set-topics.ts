// The rows of the sets topic; the head and rows of one set: its ladder, the machines that are next, and the versions side by side. Types only.
import type { ObjectName, Stamp } from './basics.ts'
import type { HoldNote, Wait } from './topics.ts'

export interface SetRow {
  readonly id: string
  readonly object: ObjectName
  /** Phase of Set. */
  readonly phase: string
  readonly components: readonly { readonly name: string; readonly version: string }[]
  readonly total: number
  readonly updated: number
  readonly healthy: number
  readonly failed: number
  readonly skipped: number
  readonly isHeld: boolean
  /** What failed, in a few words: `beacon 1.2.0 fails its probe on n-3 (HTTP 503)`. */
  readonly failure?: string
  /** Of the component that is being switched; left out when nothing is. */
  readonly rungs?: readonly Rung[]
  readonly wait?: Wait
}

export interface SetHead extends SetRow {
  /** The declared rungs: numbers or percentages. */
  readonly steps: readonly (number | string)[]
  /** The same rungs as numbers of machines, and whether each rung is completely switched and watched. */
  readonly ladders: readonly Ladder[]
  readonly inspections: readonly string[]
  readonly soakMs: number
  readonly maxUnavailable: number | string
  readonly holds: readonly HoldNote[]
  readonly blocked: readonly {
    readonly component: string
    readonly revision: string
    readonly since: Stamp
    readonly reason: string
  }[]
  readonly revision?: string
  readonly healthyRevision?: string
  readonly next: readonly NextStep[]
  readonly versions: readonly VersionCount[]
}

/** One component on its way up the steps. */
export interface Ladder {
  readonly component: string
  readonly version: string
  readonly rungs: readonly Rung[]
  /** The remaining time if nothing else waits, from measured switches and including soak; left out without measurements. */
  readonly minutesLeft?: number
}

export interface Rung {
  readonly step: number
  /** Machines on the new version after this rung. */
  readonly machines: number
  readonly state: 'Waiting' | 'Open' | 'Soaking' | 'Passed' | 'Failed'
}

export type SetPartRow = SliceRow | SetMachineRow

export interface SliceRow {
  readonly id: string
  readonly row: 'Slice'
  /** The name used throughout the program. */
  readonly name: string
  readonly component: string
  /** If left out, the component is removed. */
  readonly version?: string
  /** Zero-based, as in the status. */
  readonly step: number
  readonly number: number
  /** Phase of Slice. */
  readonly phase: string
  readonly permit?: string
  readonly machines: readonly string[]
  readonly failed: number
  readonly startedAt?: Stamp
  readonly soakUntil?: Stamp
  readonly isRollback: boolean
  readonly wait?: Wait
}

/** A failed or skipped machine of the set; the others are in `machines/<cluster>`. */
export interface SetMachineRow {
  readonly id: string
  readonly row: 'Failed' | 'Skipped'
  readonly machine: string
  readonly component?: string
  /** The probe's text, or why it was skipped. */
  readonly text: string
  readonly since?: Stamp
}

// ---------------------------------------------------------------- beside the ladder

/** The machines that the next step takes, as they stand now. */
export interface NextStep {
  readonly component: string
  readonly version: string
  /** From 0. */
  readonly step: number
  /** How many machines the step takes. */
  readonly size: number
  /** In the order in which they are taken; the first ones of them. */
  readonly machines: readonly NextMachine[]
}

export interface NextMachine {
  readonly machine: string
  /** Why it comes before others: its hardware class is untried, or the domain that it spreads over. */
  readonly why: string
}

/** One version of one component on the machines of the set. */
export interface VersionCount {
  readonly component: string
  /** Left out for machines that do not have the component. */
  readonly version?: string
  /** The version that the set declares. */
  readonly isDeclared: boolean
  readonly machines: number
  /** Of them, machines that are Ready. */
  readonly ready: number
  /** Of them, machines on which the component fails. */
  readonly failing: number
  /** Machines that had it and rolled back to an earlier version by themselves. They count there. */
  readonly wentBack: number
  /** Of them, machines whose agent is silent. */
  readonly silent: number
}

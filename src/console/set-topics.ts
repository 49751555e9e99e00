// What a set's page shows beside its ladder: the machines that are next, and the versions side by side. Types only.

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

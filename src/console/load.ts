// What nodes use of what their pods can have. Types and one limit; runs in browsers.
import type { Stamp } from './basics.ts'

/** As many as a page shows as cards. */
export const MOST_LOADS = 60

/** GET /api/load?cluster=&machines=a,b: of at most 60 machines, read from the metrics API with the rights of the user. */
export interface LoadAnswer {
  readonly at: Stamp
  /** A machine that is missing here is unknown. */
  readonly loads: readonly MachineLoad[]
  /** Why the rest is unknown. */
  readonly unknown?: string
}

/** In percent of what pods can have on the node; above 100 where the system uses what is kept for it. */
export interface MachineLoad {
  readonly machine: string
  readonly cpu: number
  readonly memory: number
}

// What keeps a declared revision from even one machine, in the words of conditions.
import type { Reason } from '#api/catalogue.ts'

export interface Problem {
  readonly reason: Reason
  readonly message: string
  /** What would mend it. */
  readonly unblock?: string
}

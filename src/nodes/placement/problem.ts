// A problem that rules out every machine for a declared revision, in the terms of conditions.
import type { Reason } from '#api/catalogue.ts'

export interface Problem {
  readonly reason: Reason
  readonly message: string
  /** What would fix it. */
  readonly unblock?: string
}

// The actions of the log controller.
import type { LogRequest } from '#api/kinds/log-request.ts'
import type { Machine } from '#api/kinds/machine.ts'

export type LogAction =
  /** The complete list of the machine's tickets. */
  | {
      readonly kind: 'ListRequests'
      readonly reason: string
      readonly machine: Machine
      readonly tickets: readonly string[]
    }
  | { readonly kind: 'DeleteRequest'; readonly reason: string; readonly request: LogRequest }

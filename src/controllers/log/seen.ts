// The inputs of the log controller: all requests, and the machines that carry or should carry tickets.
import type { LogRequest } from '#api/kinds/log-request.ts'
import type { Machine } from '#api/kinds/machine.ts'

export interface Seen {
  readonly requests: readonly LogRequest[]
  /** Machines that a request names, and machines with a ticket. */
  readonly machines: readonly Machine[]
}

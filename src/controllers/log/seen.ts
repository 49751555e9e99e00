// What the log controller decides from: all requests, and the machines that carry or should carry tickets.
import type { LogRequest } from '#api/kinds/log-request.ts'
import type { Machine } from '#api/kinds/machine.ts'

export interface Seen {
  readonly requests: readonly LogRequest[]
  /** Those that a request names, and those that carry a ticket. */
  readonly machines: readonly Machine[]
}

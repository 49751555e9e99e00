// Decides which machines carry which LogRequests, and which requests have expired. The oldest come first, within the limits. Pure.
import type { LogRequest } from '#api/kinds/log-request.ts'
import { LOG_REQUEST_LIFE_MS, LOG_REQUESTS_AT_ONCE, LOG_REQUESTS_OF_MACHINE } from '#api/protocol/log-bounds.ts'
import { createdMs, nameOf, uidOf } from '#api/schema/object-meta.ts'
import type { Plan } from '#runtime/reconcile-with.ts'
import type { LogAction } from './actions.ts'
import { type Seen } from './seen.ts'

export function plan({ requests, machines }: Seen, now: number): Plan<LogAction> {
  const expired = requests.filter((r) => endOf(r) <= now)
  const open = requests.filter((r) => endOf(r) > now && !hasEnded(r)).toSorted(byAge)
  const listed = listedOf(open)
  const actions = [
    ...expired.map((request) => ({ kind: 'DeleteRequest', reason: 'it is over', request }) as const),
    ...machines.flatMap((machine) => {
      const tickets = (listed.get(uidOf(machine)) ?? []).map((r) => r.spec.ticket)
      const carried = machine.spec.logs ?? []
      return isSame(tickets, carried) || machine.metadata.deletionTimestamp !== undefined
        ? []
        : [{ kind: 'ListRequests', reason: 'requests for its logs', machine, tickets } as const]
    }),
  ]
  const next = requests.map(endOf).filter((at) => at > now)
  return { actions, notices: [], ...(next.length > 0 && { requeueAfter: Math.min(...next) - now }) }
}

/** A request without a creation time never came from a server. */
const endOf = (request: LogRequest): number => {
  const at = createdMs(request)
  return Number.isNaN(at) ? 0 : at + LOG_REQUEST_LIFE_MS
}

const hasEnded = ({ status, metadata }: LogRequest): boolean =>
  metadata.deletionTimestamp !== undefined || status?.phase === 'Done' || status?.phase === 'Refused'

const byAge = (a: LogRequest, b: LogRequest): number => createdMs(a) - createdMs(b) || (nameOf(a) < nameOf(b) ? -1 : 1)

/** By machine uid. */
function listedOf(open: readonly LogRequest[]): ReadonlyMap<string, readonly LogRequest[]> {
  const listed = new Map<string, LogRequest[]>()
  let count = 0
  for (const request of open) {
    if (count >= LOG_REQUESTS_AT_ONCE) break
    const own = listed.get(request.spec.machineUid) ?? []
    if (own.length >= LOG_REQUESTS_OF_MACHINE || own.some((r) => r.spec.ticket === request.spec.ticket)) continue
    listed.set(request.spec.machineUid, [...own, request])
    count++
  }
  return listed
}

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((ticket) => b.includes(ticket))

// Validates answers of an external provider. Pure. A host of another provider or machine, or one listed twice, makes the answer invalid, and texts are reduced
// to one line without control characters.
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { assertNever } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import type { CreateResult, Host, HostEvent, HostMaintenance, HostRequest } from '../port.ts'
import { BadAnswer } from '../door.ts'
import type { AnswerOf, EventsPage, ReportedCapabilities } from './protocol.ts'

const ofProvider = (name: string, providerID: string): void => {
  if (!providerID.startsWith(`${name}://`))
    throw new BadAnswer(`the id ${providerID.slice(0, 100)} does not begin with ${name}://`)
}

function hostIn(name: string, host: Host | undefined): Host {
  if (host === undefined) throw new BadAnswer('kind Host without a host')
  ofProvider(name, host.providerID)
  return host
}

export function foundHost(
  name: string,
  providerID: string,
  { kind, host }: Pick<AnswerOf<'get'>, 'kind' | 'host'>,
): Host | undefined {
  if (kind === 'Absent') return undefined
  const found = hostIn(name, host)
  if (found.providerID !== providerID) throw new BadAnswer(`another host than ${providerID}`)
  return found
}

export function createResultOf(name: string, request: HostRequest, answer: AnswerOf<'create'>): CreateResult {
  const { kind, zone, type, reason, retryAfterMs, message } = answer
  switch (kind) {
    case 'Host': {
      const host = hostIn(name, answer.host)
      if (host.machineUid !== request.machineUid || host.machine !== request.machine)
        throw new BadAnswer(`a host of another machine than ${request.machine}`)
      return { kind, host }
    }
    case 'Refused':
      if (reason === undefined) throw new BadAnswer('kind Refused without a reason')
      return { kind, reason: printableLine(reason) }
    case 'Exhausted':
      if (reason === undefined || retryAfterMs === undefined)
        throw new BadAnswer('kind Exhausted without reason or retryAfterMs')
      return {
        kind,
        reason: printableLine(reason),
        retryAfterMs,
        ...defined({ zone, type }),
      }
    case 'Throttled':
      if (retryAfterMs === undefined) throw new BadAnswer('kind Throttled without retryAfterMs')
      return { kind, retryAfterMs }
    case 'Unknown':
      return { kind, message: printableLine(message ?? 'the provider does not know') }
    default:
      return assertNever(kind)
  }
}

/** Adds a page; a duplicate host invalidates the whole list. */
export function addPage(name: string, hosts: Map<string, Host>, page: readonly Host[]): void {
  for (const one of page) {
    const host = hostIn(name, one)
    if (hosts.has(host.providerID)) throw new BadAnswer(`the host ${host.providerID.slice(0, 100)} twice`)
    hosts.set(host.providerID, host)
  }
}

/** Lists are ordered by their times: one from the future would silence all later ones. */
export const pastOf = (nowMs: number, at: string): string => (Date.parse(at) > nowMs ? timestamp(nowMs) : at)

export function maintenanceOf(name: string, events: readonly HostMaintenance[]): readonly HostMaintenance[] {
  const ids = new Set<string>()
  return events.map((event) => {
    ofProvider(name, event.providerID)
    if (ids.has(event.eventId)) throw new BadAnswer(`the event ${event.eventId.slice(0, 100)} twice`)
    ids.add(event.eventId)
    return { ...event, description: printableLine(event.description) }
  })
}

export const eventsOf = (name: string, { events }: EventsPage): readonly HostEvent[] =>
  events.map((event) => {
    ofProvider(name, event.providerID)
    return { ...event, message: printableLine(event.message) }
  })

/** What in a provider's current capabilities contradicts its earlier ones; undefined if both can be true. */
export function contradiction(name: string, before: ReportedCapabilities | undefined, now: ReportedCapabilities) {
  if (now.name !== name) return `it is the provider ${now.name}`
  if (before === undefined || before.capabilities.isHostKept === now.capabilities.isHostKept) return undefined
  return now.capabilities.isHostKept
    ? 'its hosts are kept now, and were made before'
    : 'its hosts are made now, and were kept before'
}

// A provider whose announcements are scripted: what its list says is what a test put there, and every answer is written down.
import type { Clock } from '#lib/clock.ts'
import { timestamp } from '#lib/clock.ts'
import type { HostMaintenance, MaintenanceAnswer, MaintenanceList, Provider } from '#providers/port.ts'
import { MemoryProvider, type MemoryProviderOptions, overridden } from './memory-provider.ts'

/** Lives longer than the provider, as a cloud does. */
export interface Announcements {
  readonly events: HostMaintenance[]
  readonly answers: { readonly eventId: string; readonly answer: MaintenanceAnswer }[]
  readonly reboots: string[]
  /** A list that fails, as often as this says. */
  failures: number
  /** Ids of events that the next list lacks, and only that one. */
  readonly hiddenOnce: Set<string>
  /** Id and state of each event that any list had. */
  readonly listed: Set<string>
}

export const noAnnouncements = (): Announcements => ({
  events: [],
  answers: [],
  reboots: [],
  failures: 0,
  hiddenOnce: new Set(),
  listed: new Set(),
})

export const announced = (
  more: Partial<HostMaintenance> & Pick<HostMaintenance, 'eventId' | 'providerID'>,
): HostMaintenance => ({
  kind: 'Reboot',
  state: 'Scheduled',
  isUnplanned: false,
  losesData: false,
  answers: [],
  description: 'scripted',
  ...more,
})

/** Puts an event in the place of the one with its id, also of one that is listed twice. */
export function say({ events }: Announcements, event: HostMaintenance): void {
  const isListed = events.some((e) => e.eventId === event.eventId)
  if (isListed) events.splice(0, events.length, ...events.map((e) => (e.eventId === event.eventId ? event : e)))
  else events.push(event)
}

export function maintenanceProvider(
  options: MemoryProviderOptions & { readonly clock: Pick<Clock, 'now'> },
  announcements: Announcements,
): Provider {
  const memory = new MemoryProvider(options)
  return overridden(memory, {
    maintenance: async (): Promise<MaintenanceList> => {
      if (announcements.failures > 0) {
        announcements.failures--
        throw new Error('the list is not complete')
      }
      const events = announcements.events.filter((e) => !announcements.hiddenOnce.has(e.eventId))
      announcements.hiddenOnce.clear()
      for (const { eventId, state } of events) announcements.listed.add(`${eventId} ${state}`)
      return { events, asOf: timestamp(options.clock.now()) }
    },
    respond: async (eventId, answer) => {
      const event = announcements.events.find((e) => e.eventId === eventId)
      if (event === undefined || !event.answers.includes(answer.kind)) return 'Refused'
      announcements.answers.push({ eventId, answer })
      return 'Ordered'
    },
    reboot: async (providerID) => {
      announcements.reboots.push(providerID)
      return memory.reboot(providerID)
    },
  })
}

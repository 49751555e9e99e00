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
}

export const noAnnouncements = (): Announcements => ({ events: [], answers: [], reboots: [], failures: 0 })

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

/** Puts an event in the place of the one with its id. */
export function say(announcements: Announcements, event: HostMaintenance): void {
  const at = announcements.events.findIndex((e) => e.eventId === event.eventId)
  if (at < 0) announcements.events.push(event)
  else announcements.events[at] = event
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
      return { events: [...announcements.events], asOf: timestamp(options.clock.now()) }
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

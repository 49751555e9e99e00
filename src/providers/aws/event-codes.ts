// Maps AWS host event codes and states, from its API or its metadata service, to maintenance events. Pure.
import type { HostMaintenance, MaintenanceKind, MaintenanceState } from '../port.ts'

const KINDS: Readonly<Record<string, MaintenanceKind>> = {
  'instance-reboot': 'Reboot',
  'system-reboot': 'Reboot',
  'system-maintenance': 'Notice',
  'instance-stop': 'Stop',
  'instance-retirement': 'Delete',
}

export const EC2_CODES: readonly string[] = Object.keys(KINDS)

/** How a vendor's description starts once the event is over. */
const ENDED: readonly (readonly [string, MaintenanceState])[] = [
  ['[Completed]', 'Executed'],
  ['[Canceled]', 'Cancelled'],
]

export function ec2Event(code: string, description: string): Pick<HostMaintenance, 'kind' | 'state' | 'losesData'> {
  const kind = KINDS[code] ?? 'Notice'
  const state = ENDED.find(([begin]) => description.startsWith(begin))?.[1] ?? 'Scheduled'
  return { kind, state, losesData: kind === 'Delete' }
}

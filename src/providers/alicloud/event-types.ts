// Maps Alibaba Cloud's host event types and states, from its API or its metadata service, to maintenance events. Pure.
import type { HostMaintenance, MaintenanceKind, MaintenanceState } from '../port.ts'

export const ECS_STATES: Readonly<Record<string, MaintenanceState>> = {
  Scheduled: 'Scheduled',
  Inquiring: 'Inquiring',
  Executing: 'Executing',
  Executed: 'Executed',
  Avoided: 'Avoided',
  Canceled: 'Cancelled',
  Failed: 'Failed',
}

const KINDS: readonly (readonly [RegExp, MaintenanceKind])[] = [
  [/\.Reboot$/, 'Reboot'],
  [/\.Stop$/, 'Stop'],
  [/\.Redeploy$/, 'Redeploy'],
  [/\.Migrate$/, 'Migrate'],
  [/\.Delete$/, 'Delete'],
  [/Disk/, 'DiskRepair'],
]

/** The end of a subscription, and an account without money. */
const BILLING = /^(InstanceExpiration|AccountUnbalanced)\./

const kindOf = (type: string): MaintenanceKind => KINDS.find(([pattern]) => pattern.test(type))?.[1] ?? 'Notice'

type EventMeaning = Pick<HostMaintenance, 'kind' | 'state' | 'isUnplanned' | 'losesData' | 'isBill'>

export function ecsEvent(type: string, stateWord = ''): EventMeaning {
  const known = ECS_STATES[stateWord]
  // An unknown state is left for people to read.
  const [kind, state] = known === undefined ? (['Notice', 'Scheduled'] as const) : [kindOf(type), known]
  return {
    kind,
    state,
    isUnplanned: type.startsWith('SystemFailure.') || type.startsWith('InstanceFailure.'),
    // Local disks do not move with the host.
    losesData: kind === 'Redeploy' || kind === 'Delete',
    ...(BILLING.test(type) && { isBill: true }),
  }
}

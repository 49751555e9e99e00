// Decides when the provider restarts the host of a machine that did not return from a reboot for a component: once for each reboot, under the permit of
// the switch that rebooted it, and only while its neighbors are heard. Pure.
import { isNodeFrozen } from '#permits/holds/in-force.ts'
import { type Rebooting, POWER_CYCLE_AFTER_MS, rebooting } from '#api/protocol/rebooting.ts'
import { whyNotAllowed } from '#api/protocol/permit-allows.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { uidOf } from '#api/schema/object-meta.ts'
import { formatDuration } from '#lib/duration.ts'
import type { MachineAction } from '../actions.ts'
import { doubtOf } from './peers.ts'
import { type Seen, hasPowerSwitch, isLost, isSilentFor } from '../seen.ts'

export function powerCycleActions(seen: Seen): MachineAction[] {
  const { machine, agentRenewal: renewal } = seen
  const reboot = rebooting(machine)
  const { providerID } = machine.spec
  if (reboot === undefined || providerID === undefined || renewal === undefined) return []
  const permit = powerCyclePermit(seen, reboot)
  if (permit === undefined || !isPowerCycleDue(seen) || powerCycleDoubt(seen) !== undefined) return []
  const reason = `no heartbeat for ${formatDuration(POWER_CYCLE_AFTER_MS)} since it rebooted for ${reboot.component}`
  return [{ kind: 'PowerCycle', providerID, reboot, renewal, by: { permit }, reason }]
}

const isPowerCycleDue = (seen: Seen): boolean => !isLost(seen) && isSilentFor(seen, POWER_CYCLE_AFTER_MS)

/** Why the host may be well although it is silent. */
export const powerCycleDoubt = ({ peers }: Seen): string | undefined => peers && doubtOf(peers)

/** No event tells that the neighbors are heard again. */
export const DOUBT_REQUEUE_MS = 30_000

export function isPowerCycleDoubted(seen: Seen): boolean {
  const reboot = rebooting(seen.machine)
  if (reboot === undefined || powerCyclePermit(seen, reboot) === undefined) return false
  return isPowerCycleDue(seen) && powerCycleDoubt(seen) !== undefined
}

/** The permit of the order, which comes if the silence lasts. Undefined: none comes. */
export function powerCyclePermit(seen: Seen, reboot: Rebooting): string | undefined {
  const { machine, hold, host } = seen
  if (!hasPowerSwitch(seen) || isPowerCycled(machine, reboot)) return undefined
  if (hold !== undefined || isNodeFrozen(machine) || host.kind === 'Gone' || host.kind === 'NoProvider')
    return undefined
  return permitOf(seen, reboot)
}

/** Its rollout may have given the machine up meanwhile: then a person, or the rule for silent nodes, decides. */
function permitOf({ machine, permits }: Seen, { component }: Rebooting): string | undefined {
  const name = machine.spec.components?.find((c) => c.name === component)?.switch?.permit
  const permit = permits.find((p) => p.metadata.name === name)
  return whyNotAllowed(permit, { operations: ['Reboot'], targets: [uidOf(machine)] }) === undefined ? name : undefined
}

export const isPowerCycled = ({ status }: Pick<Machine, 'status'>, { component, since }: Rebooting): boolean =>
  status?.powerCycle?.component === component && status.powerCycle.rebootingSince === since

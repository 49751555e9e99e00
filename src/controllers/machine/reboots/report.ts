// What a machine's status says while it reboots for a component. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { type Rebooting, POWER_CYCLE_AFTER_MS, rebooting } from '#api/protocol/rebooting.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { formatDuration } from '#lib/duration.ts'
import type { ActionResult } from '#runtime/reconcile-with.ts'
import type { MachineAction, Waiting } from '../actions.ts'
import type { Seen } from '../seen.ts'
import { isPowerCycleDoubted, isPowerCycled, powerCycleDoubt, powerCyclePermit } from './plan.ts'
import { STEADY_MS } from './peers.ts'

type PowerCycle = NonNullable<NonNullable<Machine['status']>['powerCycle']>

/** Kept for as long as the machine is in this reboot. The action has written it, and the copy from before the action must not take it away. */
export function powerCycleOf(
  machine: Machine,
  results: readonly ActionResult<MachineAction>[],
  now: number,
): { readonly powerCycle?: PowerCycle } {
  for (const { action, outcome } of results)
    if (action.kind === 'PowerCycle' && outcome.kind === 'Applied') {
      const { component, since } = action.reboot
      return { powerCycle: { component, rebootingSince: since, at: timestamp(now) } }
    }
  const reboot = rebooting(machine)
  const isKept = reboot !== undefined && isPowerCycled(machine, reboot)
  return isKept ? defined({ powerCycle: machine.status?.powerCycle }) : {}
}

export function rebootText(machine: Machine, reboot: Rebooting): string {
  const text = `rebooting since ${reboot.since} for ${reboot.component}`
  return isPowerCycled(machine, reboot)
    ? `${text}; its provider got the order to restart it at ${machine.status?.powerCycle?.at ?? ''}`
    : text
}

export function rebootWait(seen: Seen): Waiting | undefined {
  const { machine } = seen
  const reboot = rebooting(machine)
  if (reboot === undefined) return undefined
  const text = rebootText(machine, reboot)
  if (isPowerCycleDoubted(seen))
    return {
      predicate: 'Rebooted',
      seen: `${text}; not restarted by its provider: ${powerCycleDoubt(seen)}`,
      unblock: `its agent reports from the next boot; otherwise its provider restarts the host once when most other machines have been heard for ${formatDuration(STEADY_MS)}`,
    }
  const otherwise =
    powerCyclePermit(seen, reboot) !== undefined
      ? `after ${formatDuration(POWER_CYCLE_AFTER_MS)} without a heartbeat its provider restarts the host once`
      : `otherwise a person starts the host: kubenode events machine/${nameOf(machine)}`
  return {
    predicate: 'Rebooted',
    seen: text,
    unblock: `its agent reports from the next boot; ${otherwise}`,
  }
}

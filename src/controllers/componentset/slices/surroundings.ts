// What one slice is judged by: the readings of its machines, and what keeps them from starting.
import { awaitedMate } from './shared-reboots.ts'
import type { Surroundings } from './slice-view.ts'
import { type Context, isAtWork } from '../plan-context.ts'
import type { Slice } from '../seen.ts'

export function surroundings(context: Context): Surroundings {
  const { readingOf, isMember, isOthers, indexOf, rules, now, outage, pause, problem, opening, heldBy, nameOfStep } =
    context
  const { set, permits } = context.seen
  const isReboot = ({ component, version }: Slice) => context.specOf(component, version)?.disruption === 'Reboot'
  const indexOfComponent = (component: string) => indexOf.get(component) ?? -1
  const shared = {
    slices: (set.status?.slices ?? []).filter((w) => isAtWork(w) && isReboot(w)),
    indexOf: indexOfComponent,
    permits,
  }
  const isOutage = outage !== undefined
  const isStopped = pause !== undefined || isOutage || problem !== undefined
  return {
    readingOf,
    isMember,
    isOthers,
    indexOf: indexOfComponent,
    awaitedBy: (reading, slice) => awaitedMate(reading, slice, shared),
    isHalted: (reading, { phase, recovery }) =>
      isStopped ||
      heldBy(reading) !== undefined ||
      (phase === 'AwaitingPermit' && !opening.isOpen && recovery === undefined),
    rules,
    now,
    isOutage,
    nameOfStep,
  }
}

// Decides which failures count against a version, how many there are, and whether they are too many.
import { activeMachines } from '#api/protocol/part.ts'
import { isSameTarget } from '#api/protocol/component-order.ts'
import { defined } from '#lib/defined.ts'
import type { Survey } from './members/candidates.ts'
import { type Context, isAtWork } from './plan-context.ts'
import { lastFailure } from './revisions/blocks.ts'
import { wasHealthyHere } from './revisions/known-good.ts'
import { targetIn } from './revisions/revisions.ts'
import { type Track, isSliceTo } from './revisions/tracks.ts'
import type { Slice } from './seen.ts'
import type { Tally } from './slices/advance.ts'
import { isFailed, viewSlice } from './slices/slice-view.ts'
import { surroundings } from './slices/surroundings.ts'

/**
 * A version that was healthy here is not blamed for failures on a set at rest. During a return to it, failures stop the set just as on the way
 * forward.
 */
export const isBlamed = (context: Context, track: Track): boolean => !track.isProven || isReturning(context, track)

function isReturning({ revisions, seen }: Context, { target, component }: Track): boolean {
  const isToCurrent = isSameTarget(target, targetIn(revisions.current, component))
  return !isToCurrent || (seen.set.status?.slices ?? []).some((w) => w.recovery !== undefined && isSliceTo(w, target))
}

export function tallyOf(context: Context, survey: Survey): Tally {
  const { track, failed, stuck, tried } = survey
  if (!isBlamed(context, track)) return { failed: 0, allowed: 0 }
  const around = surroundings(context)
  const lost = (context.seen.set.status?.slices ?? [])
    .filter((w) => isAtWork(w) && isSliceTo(w, track.target))
    // Only a silent machine is lost.
    .filter((w) => activeMachines(w).some((name) => context.readingOf(name)?.health === 'Silent'))
    .flatMap((w) => viewSlice(w, context.seen.permits.get(w.permit ?? ''), around, false).machines)
    .filter((m) => m.end === 'Lost' && isFailed(m, around.isOutage))
  const { maxFailures } = context.seen.set.spec.rollout
  const { revisions, seen } = context
  // The set runs this version, but it is not proven for machines from elsewhere. That it works on the set proves nothing about them.
  const isForNewcomers = !track.isProven && isSameTarget(track.target, targetIn(revisions.current, track.component))
  const isKnownGood =
    track.target !== undefined && !isForNewcomers && wasHealthyHere(track.target, revisions.all, seen.components)
  const allowed = context.rules.allowedFailures(maxFailures, { tried: tried + lost.length, isKnownGood })
  const [first] = lost
  const detail =
    (failed === 0 ? undefined : lastFailure(survey, context.members)) ??
    (first && `${first.name} fell silent between two versions`)
  return { failed: failed + lost.length, stuck, allowed, ...defined({ detail }) }
}

/**
 * Machines failed that no slice switches: some joined meanwhile, or were reinstalled in the soak. A first version of all is not given up for that: machines that
 * join would get none.
 */
export function isOver(
  { revisions }: Context,
  track: Track,
  slices: readonly Slice[],
  { failed, allowed }: Tally,
): boolean {
  const { blocked, target, component } = track
  if (blocked !== undefined || failed <= allowed || slices.some(isAtWork)) return false
  const { current } = revisions
  const isOther = current !== undefined && !isSameTarget(target, targetIn(current, component))
  return isOther || slices.some((w) => isSliceTo(w, target))
}

// Records on a set's revisions which components completed their ladder, so that a version is recognized later whatever was declared in between.
import { declaredTarget } from '#api/kinds/component-config.ts'
import { type Completed, completedIn, completedText, isLeft, isSameVersion } from '#api/protocol/healthy-before.ts'
import { timestamp } from '#lib/clock.ts'
import type { SetAction } from '../actions.ts'
import type { Survey } from '../members/candidates.ts'
import { type Context, isAnyUnderWay, isOpen } from '../plan-context.ts'
import { type ComponentTarget, isSameTarget } from '#api/protocol/component-order.ts'
import { type ControllerRevision, targetIn } from './revisions.ts'
import type { Blocked, Slice } from '../seen.ts'
import { healthyVersionOf, withVersion } from './way-back.ts'

export interface RolloutNow {
  readonly surveys: readonly Survey[]
  readonly slices: readonly Slice[]
  readonly blocks: readonly Blocked[]
}

export function keptCompletions(context: Context, now: RolloutNow): readonly SetAction[] {
  const { update, current } = context.revisions
  const done = now.surveys.filter((s) => isLadderDone(context, s, now)).map((s) => s.track.declared)
  return context.revisions.all.flatMap((revision): readonly SetAction[] => {
    if (revision.metadata.uid === undefined) return []
    const before = completedIn(revision)
    const wanted = isSameRevision(revision, update)
      ? done
      : isSameRevision(revision, current)
        ? // For a set that completed before this was recorded.
          (revision.data?.components ?? []).map(declaredTarget).filter((t) => !before.has(t.name))
        : []
    const completed = completedText(withCompletions(before, wanted, context))
    if (completed === completedText(before)) return []
    return [{ kind: 'KeepCompleted', reason: 'the rollout completed', revision, completed }]
  })
}

/** A declaration's marks on other revisions are written before anything acts on it. Later it could not be recognized as a way back. */
export function keptMarks({ seen, revisions }: Context): readonly SetAction[] {
  return revisions.all.flatMap((revision): readonly SetAction[] => {
    const before = seen.revisions.find((r) => r.metadata.name === revision.metadata.name)
    // A revision with a new number is written as a whole.
    if (before === undefined || before.revision !== revision.revision) return []
    const completed = completedText(completedIn(revision))
    if (completed === completedText(completedIn(before))) return []
    return [{ kind: 'KeepCompleted', reason: 'the set returns to an older version', revision, completed }]
  })
}

const isSameRevision = (a: ControllerRevision, b: ControllerRevision | undefined): boolean =>
  b !== undefined && a.metadata.name === b.metadata.name

/** Nothing of the component is open or left to do, nothing failed, and most counting machines run it. */
function isLadderDone(context: Context, survey: Survey, { slices, blocks }: RolloutNow): boolean {
  const { track, candidates, unmet, updated } = survey
  const { component, declared, target, isRemoval } = track
  if (
    isRemoval ||
    !isSameTarget(target, declared) ||
    !isSameTarget(targetIn(context.revisions.update, component), target)
  )
    return false
  if (context.problem !== undefined || context.outage !== undefined) return false
  if (blocks.some((b) => b.component === component)) return false
  if (slices.some((w) => w.component === component && isOpen(w))) return false
  if (candidates + unmet > 0 || updated * 2 <= context.counting) return false
  return !isAnyUnderWay(context, [survey])
}

function withCompletions(
  before: ReadonlyMap<string, Completed>,
  targets: readonly ComponentTarget[],
  { seen, now }: Context,
): ReadonlyMap<string, Completed> {
  const after = new Map(before)
  for (const target of targets) {
    const version = healthyVersionOf(target, seen.components)
    const known = before.get(target.name)
    if (version === undefined || (known?.at !== undefined && !isLeft(known) && isSameVersion(known, version))) continue
    after.set(target.name, { ...withVersion(known, version), at: timestamp(now) })
  }
  return after
}

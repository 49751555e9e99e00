// What each component of a set is going to, and how: up the ladder, or straight to a revision that was healthy before.
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { type ControllerRevision, type Target, isSameTarget, targetIn, targetOf } from './revisions.ts'
import type { Blocked, Seen, Wave } from './seen.ts'

export interface Track {
  readonly component: string
  readonly index: number
  readonly declared: Target
  /** Undefined: machines stay as they are, because what is declared is blocked. */
  readonly target: Target | undefined
  /** The target was healthy everywhere before, so it needs no ladder. */
  readonly isProven: boolean
  /** The target takes the place of a blocked one. */
  readonly isRollback: boolean
  readonly blocked: Blocked | undefined
}

export interface Revisions {
  readonly update: ControllerRevision
  readonly current: ControllerRevision | undefined
  readonly all: readonly ControllerRevision[]
}

const nameOf = (o: ControllerRevision): string => o.metadata.name ?? ''

/** Entries that still bind: their component is still declared as it failed, and no retry was asked for since. */
export function bindingBlocks(
  { set }: Seen,
  { update, all }: Revisions,
  retry: OperationalHold | undefined,
): readonly Blocked[] {
  const blocked = set.status?.revisions?.blocked ?? []
  return blocked.filter((entry) => {
    if (isLifted(entry, retry)) return false
    const failed = targetIn(
      all.find((r) => nameOf(r) === entry.revision),
      entry.component,
    )
    const declared = targetIn(update, entry.component)
    // A revision that is not in the cache says nothing; the block stays while its name is the declared one.
    return failed === undefined ? entry.revision === nameOf(update) : isSameTarget(failed, declared)
  })
}

/** A hold lifts what was blocked before it was made, once: it does not lift what fails again. */
function isLifted({ revision, since }: Blocked, retry: OperationalHold | undefined): boolean {
  if (retry === undefined || (retry.spec.to !== undefined && retry.spec.to !== revision)) return false
  return Date.parse(since) <= Date.parse(retry.metadata.creationTimestamp ?? '')
}

export function tracksOf(
  { set }: Seen,
  { update, current }: Revisions,
  blocks: readonly Blocked[],
  indexOf: ReadonlyMap<string, number>,
): readonly Track[] {
  return (update.data?.components ?? []).map((wanted): Track => {
    const component = wanted.name
    const declared = targetOf(wanted)
    const healthy = targetIn(current, component)
    const blocked = blocks.find((b) => b.component === component)
    const isRollback = blocked !== undefined && set.spec.rollout.onFailure === 'Rollback'
    const target = blocked === undefined ? declared : isRollback ? healthy : undefined
    const index = indexOf.get(component) ?? -1
    return { component, index, declared, target, isProven: isSameTarget(target, healthy), isRollback, blocked }
  })
}

/** Targets of revisions made after the last healthy one: a machine that was told one of these and moves to that one goes back. */
export const newerTargets = (component: string, { current, all }: Revisions): readonly Target[] =>
  current === undefined
    ? []
    : all.filter((r) => r.revision > current.revision).flatMap((r) => targetIn(r, component) ?? [])

export const isWaveTo = ({ component, version, config }: Wave, target: Target | undefined): boolean =>
  target !== undefined && component === target.component && version === target.version && config === target.config

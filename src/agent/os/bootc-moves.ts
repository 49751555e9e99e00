// What to do next with the deployments of a host, one move at a time: each is decided over what was read after the one before, so a kill between two of
// them changes nothing. Pure.
// Invariant: what boots after a power cut is the deployment before, until the new one is confirmed; GRUB alone decides until an agent runs in the new one.
import { assertNever } from '#lib/errors.ts'
import { type BootcStatus, shortDigest } from './bootc-status.ts'

export interface Deployments {
  readonly status: BootcStatus
  /** What is staged does not become the default at the next shutdown. */
  readonly isLocked: boolean
  /** GRUB counts boots, or has already given a deployment up. */
  readonly isCounting: boolean
  /** Exactly one boot is left: the first entry of the menu is booted once. */
  readonly isCountingOne: boolean
  /** bootc asks for a reboot, although what runs is the default. */
  readonly asksForReboot: boolean
  /** This run has already called `bootc switch`. */
  readonly hasSwitched: boolean
}

export type Goal =
  /** On the disk; what boots next does not change. */
  | { readonly kind: 'Staged'; readonly digest: string }
  /** Boots next, and once. */
  | { readonly kind: 'Armed'; readonly digest: string }
  /** Runs, and the one before boots next. */
  | { readonly kind: 'OnTrial'; readonly digest: string }
  /** What runs boots from now on. */
  | { readonly kind: 'Confirmed' }
  /** `before` boots next. `digest`: of what was given up, where that can be read. */
  | { readonly kind: 'GivenUp'; readonly before: string | undefined; readonly digest: string | undefined }

export type Move = 'Switch' | 'Lock' | 'Unlock' | 'Rollback' | 'CountOne' | 'StopCounting' | 'DropRebootRequest'

export type Next =
  | { readonly kind: 'Move'; readonly move: Move }
  | { readonly kind: 'Done' }
  | { readonly kind: 'Refused'; readonly why: string }

const move = (m: Move): Next => ({ kind: 'Move', move: m })
const DONE: Next = { kind: 'Done' }
const refused = (why: string): Next => ({ kind: 'Refused', why })

export function nextMove(goal: Goal, seen: Deployments): Next {
  switch (goal.kind) {
    case 'Staged':
      return seen.status.booted.digest === goal.digest ? DONE : (toStage(goal.digest, seen) ?? lockedOr(DONE, seen))
    case 'Armed':
      return toArm(goal.digest, seen)
    case 'OnTrial':
      return onTrial(goal.digest, seen)
    case 'Confirmed':
      if (seen.status.isRollbackNext) return move('Rollback')
      if (seen.isCounting) return move('StopCounting')
      return seen.asksForReboot ? move('DropRebootRequest') : DONE
    case 'GivenUp':
      return toGiveUp(goal, seen)
    default:
      return assertNever(goal)
  }
}

const lockedOr = (then: Next, { isLocked }: Deployments): Next => (isLocked ? then : move('Lock'))

/** Undefined: this image is staged. */
function toStage(digest: string, seen: Deployments): Next | undefined {
  const { staged } = seen.status
  if (staged?.digest === digest) return undefined
  if (!seen.hasSwitched)
    return staged === undefined || seen.isLocked
      ? move('Switch')
      : refused(`${otherStaged(staged.digest)}: boot it, or take it back with ostree admin undeploy 0`)
  if (staged !== undefined && !seen.isLocked) return move('Lock')
  return refused(
    `bootc staged ${staged === undefined ? 'nothing' : shortDigest(staged.digest)}: name the digest of the image for one architecture, not that of an index`,
  )
}

export const otherStaged = (digest: string): string => `another image is staged and boots next (${shortDigest(digest)})`

/** The boot is counted before the deployment may become the default. */
function toArm(digest: string, seen: Deployments): Next {
  const { status, isLocked, isCountingOne } = seen
  if (status.isRollbackNext) return refused('the rollback deployment boots next, not what runs: run bootc rollback')
  const first = toStage(digest, seen)
  if (first !== undefined) return first
  if (!isCountingOne) return lockedOr(move('CountOne'), seen)
  return isLocked ? move('Unlock') : DONE
}

/** The counter first: with it, GRUB would boot the second entry, which after the rollback is the new one. */
function onTrial(digest: string, { status, isCounting }: Deployments): Next {
  if (status.booted.digest !== digest) return DONE
  if (status.rollback === undefined) return refused('no deployment is left to go back to')
  if (isCounting) return move('StopCounting')
  return status.isRollbackNext ? DONE : move('Rollback')
}

function toGiveUp({ before, digest }: Extract<Goal, { kind: 'GivenUp' }>, seen: Deployments): Next {
  const { status, isLocked, isCounting, isCountingOne } = seen
  const { booted, staged, rollback, isRollbackNext } = status
  if (before === undefined || booted.id === before) {
    if (staged !== undefined && !isLocked && (digest === undefined || staged.digest === digest)) return move('Lock')
    // GRUB gave it up and boots the second entry. One boot is counted while the order changes, so the failed one is never booted for good.
    if (isRollbackNext && before !== undefined) return move(isCountingOne ? 'Rollback' : 'CountOne')
    return isCounting ? move('StopCounting') : DONE
  }
  if (rollback?.id !== before) return refused(`the deployment before (${before}) no longer exists`)
  if (isCounting) return move('StopCounting')
  return isRollbackNext ? DONE : move('Rollback')
}

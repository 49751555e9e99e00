// Decides the next step of a component whose switch is open: continue, reboot, commit, or go back to the version before. Pure.
import { formatDuration } from '#lib/duration.ts'
import { assertNever } from '#lib/errors.ts'
import type { ProcessEnd } from '../supervise/process-end.ts'
import { type ComponentPlan, act, wait } from './actions.ts'
import { PERMIT_RETRY_MS } from './permit-reading.ts'
import { type RebootStep, rebootBack, rebootTo } from './reboot.ts'
import type { OpenSwitch, SecondStart } from './record.ts'
import type { ComponentSeen, Unreadable } from './seen.ts'
import { gathering, gatheringBack, sharedVerdict } from './shared-reboot.ts'

/** How long what is needed to judge a version may be unreadable: a disk that is being checked, or a host under load, answers before. */
export const UNREADABLE_WITHIN_MS = 120_000

/** One exit that is not evidence against the version restarts the settle window. Any further exit counts, whatever the cause. */
export function planOpenSwitch(seen: ComponentSeen): ComponentPlan {
  const { record, process, probes, end } = seen
  const open = record?.open
  const reboot = open && planReboot(seen, open)
  if (reboot !== undefined) return reboot
  if (open?.phase === 'GoingBack')
    return act({ kind: 'RollBack', because: 'RolledBackByAgent', reason: record?.message ?? INTERRUPTED_ROLLBACK })
  if (open?.phase === 'Switching') return act({ kind: 'ContinueSwitch', reason: 'the switch was interrupted' })
  const shared = open && sharedVerdict(open, seen.mates ?? [])
  if (shared?.kind === 'Failed')
    return act({
      kind: 'RollBack',
      because: 'RebootShared',
      reason: `${shared.component} shared the reboot and failed`,
    })
  if (seen.unreadable !== undefined) return planUnreadable(seen.unreadable)
  const second = open?.secondStart
  if (second?.isStarted === false) return startAgain(second.how)
  const isOver = process === 'Crashed' || process === 'Frozen' || (process === 'Ended' && probes.verdict === 'Failing')
  if (isOver && second === undefined && end?.isEvidence === false) return startAgain(end.how)
  if (process === 'Crashed' || process === 'Frozen')
    return act({ kind: 'RollBack', because: 'CrashLooping', reason: endReason(process, end, second) })
  if (process === 'Stopped') return act({ kind: 'ContinueSwitch', reason: 'the process is not running' })
  switch (probes.verdict) {
    case 'Failing':
      return act({ kind: 'RollBack', because: 'ProbeFailed', reason: probes.message ?? 'a probe fails' })
    case 'Passing':
      if (!probes.isSettled) return wait('waiting for the settle window to end')
      return shared === undefined
        ? act({ kind: 'Commit', reason: 'every probe passed for the whole settle window' })
        : wait(`settled; waiting for ${shared.component}, which shared the reboot`)
    case 'Unknown':
      return wait('waiting for the probes')
    default:
      return assertNever(probes.verdict)
  }
}

/** A version that cannot be judged does not stay. */
function planUnreadable({ what, forMs }: Unreadable): ComponentPlan {
  const bound = formatDuration(UNREADABLE_WITHIN_MS)
  return forMs >= UNREADABLE_WITHIN_MS
    ? act({ kind: 'RollBack', because: 'Unreadable', reason: `${what}, for ${bound}` })
    : wait(
        `${what}; unless it can be read within ${bound}, the version before comes back`,
        UNREADABLE_WITHIN_MS - forMs,
      )
}

const INTERRUPTED_ROLLBACK = 'the rollback was interrupted'

/** Undefined: the switch does not wait for a reboot. */
function planReboot(
  { record, boot, permit, isNodeFrozen = false, isNodePending, mates = [] }: ComponentSeen,
  open: OpenSwitch,
): ComponentPlan | undefined {
  if (boot === undefined) return undefined
  const isBack = open.phase === 'GoingBack'
  const step: RebootStep | undefined = (isBack ? rebootBack : rebootTo)({
    open,
    boot,
    permit,
    isNodeFrozen,
    isNodePending,
  })
  const isNext = step?.kind === 'ReadPermit' || step?.kind === 'ReadNode' || step?.kind === 'Reboot'
  const own = { component: record?.component ?? '', open, boot, mates }
  const first = isNext ? (isBack ? gatheringBack : gathering)(own) : undefined
  if (first?.kind === 'Share')
    return act({ kind: 'ShareReboot', with: first.with, reason: 'one reboot for all of them' })
  if (first !== undefined) return wait(first.why, PERMIT_RETRY_MS)
  switch (step?.kind) {
    case undefined:
      return undefined
    case 'Wait':
      return wait(step.why, PERMIT_RETRY_MS)
    case 'ReadPermit':
      return act({ ...step, forReboot: true, reason: 'the version needs a reboot' })
    case 'ReadNode':
      return act({ kind: 'ReadNode', reason: 'a kernel boots without a permit while the node takes no pods' })
    case 'Reboot':
      return act({ kind: 'Reboot', reason: step.permit === undefined ? 'no pods yet' : `under permit ${step.permit}` })
    case 'Continue':
      return act({ kind: 'ContinueSwitch', reason: 'the machine has rebooted' })
    case 'GoBack':
      // The original cause of the revert stays.
      return isBack
        ? act({
            kind: 'RollBack',
            because: step.because,
            reason: record?.message ?? INTERRUPTED_ROLLBACK,
            pending: step.reason,
          })
        : act({ kind: 'RollBack', because: step.because, reason: step.reason })
    default:
      return assertNever(step)
  }
}

const startAgain = (how: string): ComponentPlan =>
  act({ kind: 'StartAgain', how, reason: `${how} in its settle window; not counted against the version` })

function endReason(
  process: 'Crashed' | 'Frozen',
  end: ProcessEnd | undefined,
  second: SecondStart | undefined,
): string {
  const how = end?.how ?? (process === 'Crashed' ? 'crashed' : 'froze')
  return second === undefined
    ? `${how} in its settle window`
    : `${how} in its second settle window; in the first it ${second.how}`
}

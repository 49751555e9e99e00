// Decides the next step of one component. A disruption needs an order for the staged attempt and a permit that was read in this pass;
// an unknown state never disrupts. Crashed processes are restarted under the local brake, without a permit.
import type { Reason } from '#api/catalogue.ts'
import { defined } from '#lib/defined.ts'
import { formatDuration } from '#lib/duration.ts'
import { assertNever } from '#lib/errors.ts'
import type { ProcessEnd } from '../supervise/process-end.ts'
import type { ComponentOrder } from '#api/kinds/machine.ts'
import { type Attempt, isSameAttempt } from '#api/protocol/component-order.ts'
import type { AdoptionMode } from './adoption.ts'
import type { PermitReading } from './permit-reading.ts'
import {
  type Boot,
  CANNOT_REBOOT,
  NOT_FOR_REBOOT,
  type RebootStep,
  isRebootFor,
  rebootBack,
  rebootTo,
} from './reboot.ts'
import type { ComponentRecord, OnRemoval, OpenSwitch, SecondStart, SharedWith, Slot } from './record.ts'
import { type Mate, gathering, gatheringBack, settlingMate, settlingText, sharedVerdict } from './shared-reboot.ts'
import { isPinned, isSlotOf, targetOf } from './record.ts'

/** Unread: the Machine was not read yet, neither now nor before a restart. Nothing is removed until then. None: the Machine does not list the component. */
export type OrderReading = ComponentOrder | 'None' | 'Unread'

export type ProcessReading = 'NoService' | 'Running' | 'Stopped' | 'Ended' | 'Crashed' | 'Frozen'

export interface ProbeReading {
  readonly verdict: 'Passing' | 'Failing' | 'Unknown'
  /** Every probe passed for its whole settle time since the component was started. */
  readonly isSettled: boolean
  readonly message?: string
}

export interface StartFailure {
  readonly problem: string
  /** Milliseconds until the next retry; another version may arrive first. */
  readonly backoffMs: number
}

export interface Unreadable {
  readonly what: string
  readonly forMs: number
}

export interface Missing {
  readonly because: 'RequirementUnmet' | 'SkewRefused'
  readonly what: string
}

export interface ComponentSeen {
  readonly order: OrderReading
  readonly record: ComponentRecord | undefined
  readonly process: ProcessReading
  /** How the last process exited. */
  readonly end?: ProcessEnd | undefined
  /** Set while the last start attempt failed. */
  readonly startFailure?: StartFailure | undefined
  /** Milliseconds until the local brake allows a restart of a crashed or frozen process. */
  readonly brakeMs: number
  readonly probes: ProbeReading
  readonly permit: PermitReading | undefined
  /** Read in this pass; undefined means unknown. */
  readonly isNodePending: boolean | undefined
  /** The staged version has hooks, and a process of an earlier hook does not end. */
  readonly hungHook?: number | undefined
  /** The first unmet requirement of the staged version. */
  readonly missingRequirement: Missing | undefined
  /** Milliseconds until the staged version may be switched to again: the host failed in the last try. */
  readonly switchBackoffMs?: number
  /** Milliseconds until the next staging attempt. */
  readonly stageBackoffMs: number
  /** The version that is being fetched in the background. */
  readonly staging: Attempt | undefined
  /** Requested by a permitted repair. */
  readonly asked: 'Restart' | 'Reinstall' | undefined
  /** Running or stored files differ from what was installed, and only a switch to a fresh copy fixes that. */
  readonly isDrifted?: boolean
  /** What to do with files of other owners. */
  readonly adoption?: AdoptionMode
  /** Why the staged version cannot be installed: files of other owners are in the way. */
  readonly inTheWay?: string | undefined
  /** A user froze the node: no disruption may start. A running switch may finish, and a crashed process may be restarted. */
  readonly isNodeFrozen?: boolean
  /** The staged version declares `disruption: Reboot`. */
  readonly needsReboot?: boolean
  /** The staged version is a kernel, which runs only after a reboot. */
  readonly isKernel?: boolean
  /** Absent where machines do not reboot. */
  readonly boot?: Boot | undefined
  /** What is needed to judge the version in use cannot be read: its slot, or what the machine booted. */
  readonly unreadable?: Unreadable | undefined
  /** The other components of the machine, where a reboot is to be prepared, is pending, or was shared. */
  readonly mates?: readonly Mate[]
}

export type ComponentAction =
  | { readonly kind: 'Stage'; readonly target: Attempt; readonly reason: string }
  | {
      readonly kind: 'ReadPermit'
      readonly permit: string
      /** The permit must list Reboot as well. */
      readonly forReboot?: boolean
      readonly reason: string
    }
  | { readonly kind: 'ShareReboot'; readonly with: readonly SharedWith[]; readonly reason: string }
  | { readonly kind: 'Reboot'; readonly reason: string }
  | { readonly kind: 'ReadNode'; readonly reason: string }
  | { readonly kind: 'Switch'; readonly to: Slot; readonly permit: string | undefined; readonly reason: string }
  | { readonly kind: 'ContinueSwitch'; readonly reason: string }
  | { readonly kind: 'UseInPlace'; readonly reason: string }
  | { readonly kind: 'Commit'; readonly reason: string }
  | { readonly kind: 'StartAgain'; readonly how: string; readonly reason: string }
  | {
      readonly kind: 'RollBack'
      readonly because: Reason
      readonly reason: string
      /** Why the machine does not reboot into the old version. */
      readonly pending?: string
    }
  | { readonly kind: 'Start'; readonly reason: string }
  | { readonly kind: 'Restart'; readonly reason: string }
  | { readonly kind: 'Reinstall'; readonly reason: string }
  | { readonly kind: 'Degrade'; readonly because: Reason; readonly reason: string }
  | { readonly kind: 'Recover'; readonly reason: string }
  | { readonly kind: 'NoteRemoval'; readonly onRemoval: OnRemoval | undefined; readonly reason: string }
  | { readonly kind: 'Remove'; readonly reason: string }

export interface ComponentPlan {
  readonly action: ComponentAction | undefined
  /** What the component waits for, as text for users. */
  readonly waiting?: string
  /** The reason as one word, if there is one. */
  readonly because?: Reason
  readonly requeueAfterMs?: number
}

/** How often permits are read while an order waits for a Granted permit. */
const PERMIT_RETRY_MS = 5_000

/** How long what is needed to judge a version may be unreadable: a disk that is being checked, or a host under load, answers before. */
export const UNREADABLE_WITHIN_MS = 120_000

/** After a file in the way is moved, the component is installed within seconds. */
const FOREIGN_POLL_MS = 3_000

/** A process of a hook that hangs in the kernel ends without an event. */
const HUNG_POLL_MS = 5_000

const NODE_IS_FROZEN = 'the node is frozen by a file on the node; remove it with kubenode thaw --node-folder'

const act = (action: ComponentAction): ComponentPlan => ({ action })
const wait = (waiting: string, requeueAfterMs?: number): ComponentPlan => ({
  action: undefined,
  waiting,
  ...defined({ requeueAfterMs }),
})

export function planComponent(seen: ComponentSeen): ComponentPlan {
  const { record, order } = seen
  if (record?.removal !== undefined) return act({ kind: 'Remove', reason: 'the removal was interrupted' })
  if (record?.open !== undefined) return planOpenSwitch(seen)
  if (order === 'Unread') return planHealth(seen) ?? wait('waiting to read the Machine')
  if (order === 'None') {
    if (record === undefined) return wait('the Machine does not list this component')
    if (seen.isNodeFrozen === true) return wait(NODE_IS_FROZEN)
    return act({ kind: 'Remove', reason: 'the Machine no longer lists this component' })
  }
  // Permitted repairs and crashed processes come before new versions.
  const now = planAsked(seen) ?? planHealth(seen)
  if (now?.action !== undefined) return now
  if (record !== undefined && record.onRemoval !== order.onRemoval)
    return act({ kind: 'NoteRemoval', onRemoval: order.onRemoval, reason: 'the declared end of the component changed' })
  const isNew = record === undefined || !isSameAttempt(record.target, order)
  return soonest(isNew ? planRetarget(seen, order) : planTarget(seen, record, order), now)
}

function soonest(a: ComponentPlan, b: ComponentPlan | undefined): ComponentPlan {
  if (a.action !== undefined || b?.requeueAfterMs === undefined) return a
  return { ...a, requeueAfterMs: Math.min(a.requeueAfterMs ?? b.requeueAfterMs, b.requeueAfterMs) }
}

function planRetarget(seen: ComponentSeen, order: ComponentOrder): ComponentPlan {
  if (seen.record !== undefined && isPinned(seen.record, order) && !isSlotOf(seen.record.current, order))
    return wait(`${order.version} failed here in attempt ${order.attempt}`)
  return planStaging(seen, targetOf(order), `the Machine desires ${order.version}`)
}

function planStaging({ staging, stageBackoffMs }: ComponentSeen, target: Attempt, reason: string): ComponentPlan {
  if (staging !== undefined && isSameAttempt(staging, target)) return wait('waiting for the artifact')
  if (stageBackoffMs > 0) return wait('fetching the artifact failed; retrying', stageBackoffMs)
  return act({ kind: 'Stage', target, reason })
}

function planTarget(seen: ComponentSeen, record: ComponentRecord, order: ComponentOrder): ComponentPlan {
  switch (record.state) {
    case 'Fetching':
      return planStaging(seen, record.target, 'staging was interrupted')
    case 'Staged':
      return planStaged(seen, record, order)
    case 'Healthy':
      if (!isUp(seen.process)) return act({ kind: 'Degrade', ...downBecause(seen) })
      return seen.probes.verdict === 'Failing'
        ? act({ kind: 'Degrade', because: 'ProbeFailed', reason: seen.probes.message ?? 'a probe fails' })
        : wait('up to date')
    case 'Degraded':
      return seen.probes.verdict === 'Passing' && isUp(seen.process)
        ? act({ kind: 'Recover', reason: 'every probe passes' })
        : wait('waiting for every probe to pass')
    case 'RolledBack':
    case 'Failed':
      return wait('waiting for another version, configuration or attempt')
    case 'Switching':
    case 'Probing':
      // Both fields are written and cleared together with the open switch; any other record is treated as staged.
      return planStaged(seen, record, order)
    default:
      return assertNever(record.state)
  }
}

const isUp = (p: ProcessReading): boolean => p === 'Running' || p === 'NoService' || p === 'Ended'

function planStaged(seen: ComponentSeen, record: ComponentRecord, order: ComponentOrder): ComponentPlan {
  const { staged, current } = record
  if (staged === undefined) return planStaging(seen, record.target, 'nothing is staged')
  if (current?.digest === staged.digest && (seen.isDrifted !== true || current.id === staged.id))
    return act({ kind: 'UseInPlace', reason: 'the staged version is already in use' })
  if (seen.isNodeFrozen === true) return wait(NODE_IS_FROZEN)
  if (seen.hungHook !== undefined)
    return {
      ...wait(
        `process ${seen.hungHook} of an earlier hook was killed and has not ended; see /proc/${seen.hungHook}/stack`,
        HUNG_POLL_MS,
      ),
      because: 'HostUnsuitable',
    }
  if (seen.switchBackoffMs !== undefined && seen.switchBackoffMs > 0)
    return {
      ...wait(record.message ?? 'this host failed in the last switch; retrying', seen.switchBackoffMs),
      because: 'HostUnsuitable',
    }
  if (seen.missingRequirement !== undefined) {
    const { what, because } = seen.missingRequirement
    return { ...wait(what), because }
  }
  if (seen.adoption === 'Preview') return wait('adoption is previewed only; nothing is changed')
  if (seen.inTheWay !== undefined) return { ...wait(seen.inTheWay, FOREIGN_POLL_MS), because: 'InstallFailed' }
  if (order.switch !== undefined && order.switch.attempt === record.target.attempt)
    return planPermitted(seen, staged, order.switch.permit)
  if (current !== undefined) return wait('waiting for the order to switch')
  return planFirstInstall(seen, staged)
}

function planPermitted(seen: ComponentSeen, staged: Slot, permit: string): ComponentPlan {
  const reading = seen.permit?.permit === permit ? seen.permit : undefined
  const forReboot = seen.needsReboot === true && isRebootFor(staged, seen.record?.current, permit)
  if (forReboot && !canReboot(seen)) return waitForMachine(seen)
  const settling = forReboot && seen.boot !== undefined ? settlingMate(seen.mates ?? [], seen.boot) : undefined
  if (settling !== undefined) return wait(settlingText(settling), PERMIT_RETRY_MS)
  if (reading === undefined)
    return act({
      kind: 'ReadPermit',
      permit,
      ...(forReboot && { forReboot }),
      reason: 'the switch order names this permit',
    })
  switch (reading.kind) {
    case 'Granted':
      if (forReboot && reading.forReboot !== true) return wait(`permit ${permit}: ${NOT_FOR_REBOOT}`, PERMIT_RETRY_MS)
      return act({ kind: 'Switch', to: staged, permit, reason: `ordered under permit ${permit}` })
    case 'NotGranted':
    case 'Unknown':
      return wait(`permit ${permit}: ${reading.why}`, PERMIT_RETRY_MS)
    default:
      return assertNever(reading)
  }
}

/** Checked before anything is switched: otherwise the wait would never end. */
const canReboot = ({ boot }: ComponentSeen): boolean => boot !== undefined && boot.refusal === undefined
const waitForMachine = ({ boot }: ComponentSeen): ComponentPlan => ({
  ...wait(`${CANNOT_REBOOT}: ${boot?.refusal ?? 'it is no machine'}`),
  because: 'RequirementUnmet',
})

function planFirstInstall(seen: ComponentSeen, staged: Slot): ComponentPlan {
  if (seen.isKernel === true && !canReboot(seen)) return waitForMachine(seen)
  if (seen.isNodePending === undefined)
    return act({ kind: 'ReadNode', reason: 'a first install needs no permit while the node waits for its components' })
  if (!seen.isNodePending) return wait('waiting for the order to switch: the node already takes pods', PERMIT_RETRY_MS)
  return act({
    kind: 'Switch',
    to: staged,
    permit: undefined,
    reason: 'first install, the node does not take pods yet',
  })
}

function planAsked({ asked, record, isNodeFrozen }: ComponentSeen): ComponentPlan | undefined {
  if (asked === undefined || record?.current === undefined || isNodeFrozen === true) return undefined
  return act({ kind: asked, reason: 'requested by a repair with a granted permit' })
}

const notStarted = ({ startFailure }: ComponentSeen): string | undefined =>
  startFailure === undefined ? undefined : `cannot be started: ${startFailure.problem}`

function downBecause(seen: ComponentSeen): { readonly because: Reason; readonly reason: string } {
  const problem = notStarted(seen)
  if (problem !== undefined) return { because: 'InstallFailed', reason: problem }
  return { because: 'CrashLooping', reason: seen.end?.how ?? `the process is ${seen.process}` }
}

function planHealth(seen: ComponentSeen): ComponentPlan | undefined {
  const { record, process, brakeMs, isNodeFrozen, startFailure } = seen
  if (record?.current === undefined) return undefined
  if (!isUp(process) && startFailure !== undefined && startFailure.backoffMs > 0)
    return wait(notStarted(seen) ?? '', startFailure.backoffMs)
  switch (process) {
    case 'NoService':
    case 'Running':
    case 'Ended':
      return undefined
    case 'Stopped':
      return act({ kind: 'Start', reason: 'the process is not running' })
    case 'Crashed':
      return brakeMs > 0
        ? wait('waiting for the restart backoff', brakeMs)
        : act({ kind: 'Start', reason: 'the process crashed' })
    case 'Frozen':
      // A user froze the node to keep this stopped process stopped.
      if (isNodeFrozen === true) return wait(NODE_IS_FROZEN)
      return brakeMs > 0
        ? wait('waiting for the restart backoff', brakeMs)
        : act({ kind: 'Restart', reason: 'the process is frozen' })
    default:
      return assertNever(process)
  }
}

/** One exit that is not evidence against the version restarts the settle window. Any further exit counts, whatever the cause. */
function planOpenSwitch(seen: ComponentSeen): ComponentPlan {
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

// Decides the next step of one component. A disruption needs an order for the staged attempt and a permit that was read in this pass;
// an unknown state never disrupts. Crashed processes are restarted under the local brake, without a permit.
import type { Reason } from '#api/catalogue.ts'
import { assertNever } from '#lib/errors.ts'
import type { ComponentOrder } from '#api/kinds/machine.ts'
import { type Attempt, isSameAttempt } from '#api/protocol/component-order.ts'
import { type ComponentPlan, act, wait } from './actions.ts'
import { PERMIT_RETRY_MS } from './permit-reading.ts'
import { planOpenSwitch } from './plan-open-switch.ts'
import { CANNOT_REBOOT, NOT_FOR_REBOOT, isRebootFor } from './reboot.ts'
import { type ComponentRecord, type Slot, isPinned, isSlotOf, targetOf } from './record.ts'
import type { ComponentSeen, ProcessReading } from './seen.ts'
import { settlingMate, settlingText } from './shared-reboot.ts'

export type { StartFailure } from './seen.ts'

/** After a file in the way is moved, the component is installed within seconds. */
const FOREIGN_POLL_MS = 3_000

/** A process of a hook that hangs in the kernel ends without an event. */
const HUNG_POLL_MS = 5_000

/**
 * How long a host may block an ordered switch. Until it is reported, neither the slice nor the next version of its set can continue, on any
 * machine; a disk that is full for a moment has room again before.
 */
const HOST_BLOCKS_WITHIN_MS = 600_000

const NODE_IS_FROZEN = 'the node is frozen by a file on the node; remove it with kubenode thaw --node-folder'

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
  const blocked = planHostBlock(seen, record)
  if (blocked !== undefined) return blocked
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

/** The host failed in the last try, or does not let the next one begin. */
function planHostBlock(seen: ComponentSeen, { message }: ComponentRecord): ComponentPlan | undefined {
  const { hungHook, switchBackoffMs = 0, hostBlocksMs = 0 } = seen
  const what =
    hungHook === undefined
      ? (message ?? 'this host failed in the last switch; retrying')
      : `process ${hungHook} of an earlier hook was killed and has not ended; see /proc/${hungHook}/stack`
  const because = 'HostUnsuitable'
  if (hostBlocksMs >= HOST_BLOCKS_WITHIN_MS) return act({ kind: 'GiveUp', because, reason: what })
  if (hungHook !== undefined) return { ...wait(what, HUNG_POLL_MS), because }
  return switchBackoffMs > 0 ? { ...wait(what, switchBackoffMs), because } : undefined
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

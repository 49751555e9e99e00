// Decides about a version that is reached step by step: one permit covers all steps, and a return over the one-way step needs an approval beside it. Pure.
import { minorOf } from '#api/constructs/control-plane/settings.ts'
import type { ControlPlaneRequest } from '#controlplanes/port.ts'
import { orderOf } from '#controlplanes/upgrade/versions.ts'
import { approvalDigest } from '#permits/approval-digest.ts'
import { permitAnswer } from '#permits/permits.ts'
import { byPermit } from '#permits/under-permit.ts'
import type { ClusterAction, ClusterPlan } from './actions.ts'
import { finished, permitFor } from './plan-permit.ts'
import { isOfReplacement } from './plan-members.ts'
import { isOfDefragmentation } from './plan-store.ts'
import type { Seen } from './seen.ts'

const SOON_MS = 2_000
const VERSION_PERMIT = 'version'
const RETURN_PERMIT = 'return'

/** The host answers each call soon, with the step that it takes. */
export const isStepwise = ({ host }: Pick<Seen, 'host'>): boolean => host.capabilities.keepsCredentials === true

/** A change that was begun waits where it is while the permit is missing: every state between two steps serves. */
export function planSteps(seen: Seen, request: ControlPlaneRequest, now: number): ClusterPlan {
  const { plane } = seen
  const { from, to } = plane?.change ?? { from: plane?.version ?? '', to: request.version }
  const restore = restoreNeeded(seen, request)
  const isBack =
    restore !== undefined || orderOf(to, from) < 0 || (plane?.change !== undefined && request.version === from)
  const phase = isBack ? 'RollingBack' : 'Upgrading'
  const change =
    restore === undefined
      ? `${isBack ? 'go back' : 'upgrade'} from ${from} to ${to}`
      : `restore ${restore.snapshot} to go back to ${request.version}; writes since ${restore.since} are lost`
  const what = restore === undefined ? `${VERSION_PERMIT}-${from}-${to}` : `${RETURN_PERMIT}-${restore.snapshot}`
  const step = permitFor(seen, what, change, now)
  if (step.kind !== 'Granted')
    return { actions: step.actions, notices: [], requeueAfter: step.afterMs ?? SOON_MS, phase, wait: step.wait }
  const { permit } = step
  if (restore?.hasBegun === false && !seen.approved.has(approvalDigest(permit.spec)))
    return {
      actions: step.actions,
      notices: [],
      requeueAfter: SOON_MS,
      phase,
      wait: {
        predicate: 'ApprovalMissing',
        seen: change,
        unblock: `a person approves it: kubenode approve permit/${permit.metadata.name ?? ''}`,
      },
    }
  const terms = request.upgrade ?? { soakMs: 0, walksMinors: false }
  const approving = restore === undefined ? {} : { upgrade: { ...terms, approvedRestore: restore.snapshot } }
  return {
    actions: [
      ...step.actions,
      { kind: 'Put', reason: change, request: { ...request, ...approving }, by: byPermit(permit) },
    ],
    notices: [],
    requeueAfter: SOON_MS,
    phase,
    wait: undefined,
  }
}

interface NeededRestore {
  readonly snapshot: string
  readonly since: string
  /** An approval that ends meanwhile must not leave the control plane half restored. */
  readonly hasBegun: boolean
}

/** The snapshot over which alone the version can be reached, and since when writes are lost with it. */
function restoreNeeded({ plane }: Seen, { version }: ControlPlaneRequest): NeededRestore | undefined {
  if (plane === undefined) return undefined
  const { change, snapshots } = plane
  const [newest, wanted] = [minorOf(change?.to ?? plane.version), minorOf(version)]
  if (newest === undefined || wanted === undefined || wanted >= newest) return undefined
  if (change !== undefined)
    return change.wayBack === 'Programs' ? undefined : { ...change.wayBack, hasBegun: plane.version === change.from }
  const kept = snapshots.findLast((s) => s.version === version)
  return kept && { snapshot: kept.name, since: kept.takenAt, hasBegun: false }
}

/** Of versions that were reached, and of a restore, a defragmentation or a replaced member that another pass finished. */
export const finishedPermits = (seen: Seen): readonly ClusterAction[] => {
  const { cluster, permits } = seen
  const uid = cluster.metadata.uid ?? ''
  return permits
    .filter((permit) => {
      const { name = '' } = permit.metadata
      const isOfVersion = [VERSION_PERMIT, RETURN_PERMIT, 'restore'].some((what) => name.includes(`-${what}-`))
      const isOver = isOfVersion || isOfDefragmentation(name, seen) || isOfReplacement(name, seen)
      return isOver && permitAnswer(permit, uid).kind === 'Granted'
    })
    .flatMap((permit) => finished(seen, permit, 'all steps are done'))
}

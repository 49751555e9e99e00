// Decides about a version that is reached in steps. One permit covers all steps. Going back over the one-way step also needs an approval. Pure.
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

/** The host answers each call quickly, with the step it is taking. */
export const isStepwise = ({ host }: Pick<Seen, 'host'>): boolean => host.capabilities.keepsCredentials === true

/** A change in progress pauses where it is while the permit is missing: the control plane serves in every state between steps. */
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
  /** An approval that expires in the middle must not leave the control plane half restored. */
  readonly hasBegun: boolean
}

/** The snapshot that is the only way to reach the version, and the time after which writes are lost with it. */
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

/** Permits of reached versions, and of a restore, defragmentation or member replacement that another pass finished. */
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

// Decides the next step for a Cluster with a control plane on the hub. Pure. While the host does not answer, nothing happens: what cannot be observed
// is neither recreated nor removed.
import type { Reason } from '#api/catalogue.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { Phase } from '#api/phases.ts'
import { FINALIZERS, hostedKubeconfigKey } from '#api/names.ts'
import { attemptAfter, restoreToken } from '#api/restore-token.ts'
import { isBeingDeleted, keyText } from '#api/schema/object-meta.ts'
import { renewTime } from '#controlplanes/credentials/prints.ts'
import type { ControlPlaneRequest } from '#controlplanes/port.ts'
import { clusterProblems, unreadable } from '#controlplanes/upgrade/preflight.ts'
import { orderOf } from '#controlplanes/upgrade/versions.ts'
import { type Authority, byPermit } from '#permits/under-permit.ts'
import type { Notice } from '#runtime/reconcile-with.ts'
import type { Wait } from '#runtime/waiting.ts'
import type { ClusterAction, ClusterPlan } from './actions.ts'
import { announced, lifetimeSeen, planExpiry, tooMany } from './plan-expiry.ts'
import type { Lifetime } from './plan-lifetime.ts'
import { addonIn, hasNamedAddons, unappliedAddons } from './addons/status.ts'
import { finished, permitFor } from './plan-permit.ts'
import { tooManyCreated } from './plan-creation.ts'
import { announcedOverdue } from './snapshots/status.ts'
import { planLostMember } from './plan-members.ts'
import { finishedPermits, isStepwise, planSteps } from './plan-steps.ts'
import { firstNumbers, rotationRequeueMs, rotationDue, rotationRequest } from './plan-rotation.ts'
import { scheduleOf } from './snapshots/schedule.ts'
import { shapeOf, upgradeTerms } from './control-planes/shape.ts'
import { isFull, planFull, restoreHelps, tidied } from './plan-store.ts'
import { placeActions, placeAfter, waitOfMove } from './programs/place.ts'
import { programKubeconfigs, waitOfPrograms } from './programs/plan.ts'
import { planDeletion } from './plan-delete.ts'
import { mayExist, mistake, unservedFlavor } from './plan-mistakes.ts'
import { type ControlPlaneSpec, type Seen, idOf, UPGRADE_UNBLOCK } from './seen.ts'
import { defined } from '#lib/defined.ts'

/** A control plane that exits on its own is noticed within this time. */
const REQUEUE_MS = 30_000
/** Members that are being replaced, or whose nodes restart, are back within this time. */
const QUORUM_WITHIN_MS = 10 * 60_000
/** A restarting host answers within seconds. */
const AWAY_MS = 5_000
/** For a control plane that is starting or waiting. */
const SOON_MS = 2_000
/** Programs that wait for pods may wait for days: a cluster may get its first node then. */
const MOVE_MS = 5_000

export function plan(seen: Seen, now: number): ClusterPlan {
  const lifetime = lifetimeSeen(seen, now)
  return announcedOverdue(seen, announced(seen, lifetime, planWithin(seen, lifetime, now)), now)
}

function planWithin(seen: Seen, lifetime: Lifetime, now: number): ClusterPlan {
  const { cluster, unanswered } = seen
  if (unanswered !== undefined) {
    const wait = {
      predicate: 'HostUnreachable' as const,
      seen: unanswered,
      unblock: 'the host of control planes answers',
    }
    const phase = isBeingDeleted(cluster) ? 'Deleting' : (cluster.status?.phase ?? 'Pending')
    return { ...waiting(phase, wait), requeueAfter: AWAY_MS }
  }
  const unserved = unservedFlavor(seen)
  // The hub can no longer observe this control plane: do not end it as if it were absent, and do not report it as deleted.
  if (unserved !== undefined && mayExist(seen))
    return waiting(isBeingDeleted(cluster) ? 'Deleting' : (cluster.status?.phase ?? 'Pending'), unserved)
  if (isBeingDeleted(cluster)) return planDeletion(seen, now)
  const { controlPlane, version } = cluster.spec
  if (controlPlane === undefined || version === undefined) return { ...nothing, phase: 'Pending', wait: undefined }
  if (lifetime.state === 'Expired') return planExpiry(seen, lifetime, now)
  const wrong = mistake(seen, version) ?? tooMany(seen, now) ?? tooManyCreated(seen)
  if (wrong !== undefined) return waiting(seen.plane === undefined ? 'Pending' : phaseNow(seen), wrong)
  if (!(cluster.metadata.finalizers ?? []).includes(FINALIZERS.cluster))
    return {
      ...nothing,
      actions: [{ kind: 'AddFinalizer', reason: 'a control plane is made for it' }],
      phase: 'Pending',
      wait: undefined,
      requeueAfter: 0,
    }
  return planLife(seen, controlPlane, version, now)
}

/** A lost member comes first: losing one more loses the majority. If its permit is missing, everything else continues. */
function planLife(seen: Seen, controlPlane: ControlPlaneSpec, version: string, now: number): ClusterPlan {
  const lost = planLostMember(seen, now)
  if (lost?.isGranted === true) {
    const { actions, wait, afterMs: requeueAfter } = lost
    return { actions, notices: [], phase: phaseMeanwhile(seen.cluster), wait, requeueAfter }
  }
  const others = planOthers(seen, controlPlane, version, now)
  if (lost === undefined) return others
  return { ...others, actions: [...others.actions, ...lost.actions], wait: others.wait ?? lost.wait }
}

function planOthers(seen: Seen, controlPlane: ControlPlaneSpec, version: string, now: number): ClusterPlan {
  const { cluster, plane } = seen
  const request: ControlPlaneRequest = {
    id: idOf(cluster),
    owner: cluster.metadata.uid ?? '',
    version,
    ...defined({ port: controlPlane.endpoint?.port }),
    ...(isStepwise(seen) && {
      shape: shapeOf(cluster, controlPlane),
      upgrade: upgradeTerms(controlPlane),
      ...(plane?.own !== undefined && { rotation: rotationRequest(seen) }),
    }),
  }
  if (plane === undefined) return put(seen, 'Creating', 'it does not exist', { ...request, ...firstNumbers(cluster) })
  if (plane.restoring !== undefined && plane.version !== version)
    return afterRestore(seen, { ...request, version: plane.version }, plane.restoring)
  const full = plane.state === 'Running' ? planStore(seen, request, now) : undefined
  if (full !== undefined) return full
  if (isStepwise(seen) && (plane.version !== version || plane.change !== undefined) && plane.state !== 'Stopped')
    return planSteps(seen, request, now)
  if (plane.version !== version) return planUpgrade(seen, request, now)
  const isOther = plane.owner !== request.owner || (request.port !== undefined && plane.port !== request.port)
  const lost = isOther ? undefined : planLostQuorum(seen, request, now)
  if (lost !== undefined) return lost
  if (plane.state !== 'Running' || isOther)
    return put(
      seen,
      phaseMeanwhile(cluster),
      isOther ? 'its endpoint or its Cluster changed' : `it is ${plane.state}`,
      request,
    )
  const missing = planAddons(seen) ?? planNamedAddons(seen)
  if (missing !== undefined) return missing
  const { snapshot } = controlPlane
  const restoring = planRestore(seen, now)
  if (restoring !== undefined) return restoring
  if (seen.kubeconfig !== undefined && seen.kubeconfig.owner === undefined)
    return waiting('Creating', secretTaken(seen))
  const actions: ClusterAction[] = isStepwise(seen)
    ? [...finishedPermits(seen), { kind: 'Put', reason: 'it is kept as declared', request, by: { exempt: 'NoChange' } }]
    : []
  if (snapshot !== undefined && plane.snapshots.every((s) => s.name !== snapshot))
    actions.push({ kind: 'Snapshot', reason: 'it was asked for', name: snapshot })
  const stale = staleKubeconfig(seen, now)
  const care = scheduled(seen, now)
  const due = isStepwise(seen) ? undefined : rotationDue(seen, now)
  if (stale !== undefined) actions.push({ kind: 'WriteKubeconfig', reason: stale })
  if (hasNamedAddons(cluster)) actions.push({ kind: 'DeliverAddons', reason: 'they are kept as declared' })
  if (due !== undefined)
    actions.push({
      kind: 'Put',
      reason: due,
      request: { ...request, rotation: rotationRequest(seen) },
      by: { exempt: 'Rotates' },
    })
  if (stale === undefined)
    actions.push(
      ...care,
      ...tidied(seen, now),
      ...programKubeconfigs(seen, (kubeconfig) => staleKubeconfig({ ...seen, kubeconfig }, now)),
      ...placeActions(seen, now),
    )
  const isSoon = (care.length > 0 && !hasStuck(seen)) || waitOfPrograms(seen, plane) !== undefined
  const place = placeAfter(seen, now)
  const isMoving = place?.place !== cluster.status?.programs?.place || waitOfMove(seen, place) !== undefined
  const requeueAfter = Math.min(
    isSoon ? SOON_MS : isMoving ? MOVE_MS : REQUEUE_MS,
    rotationRequeueMs(seen, now) ?? REQUEUE_MS,
  )
  return { actions, notices: [], requeueAfter, phase: 'Ready', wait: undefined }
}

/** A full store is changed only to make room in it. */
function planStore(seen: Seen, request: ControlPlaneRequest, now: number): ClusterPlan | undefined {
  if (!isFull(seen.plane)) return undefined
  const restoring = restoreHelps(seen) && seen.plane?.change === undefined ? planRestore(seen, now) : undefined
  return restoring ?? planFull(seen, request, now)
}

/** Once per declared attempt. */
function planRestore(seen: Seen, now: number): ClusterPlan | undefined {
  const restore = seen.cluster.spec.controlPlane?.restore
  if (restore === undefined) return undefined
  const { snapshot } = restore
  const token = restoreToken(restore)
  if (seen.plane?.restored === token) return undefined
  return withPermit(seen, now, 'Restoring', `restore-${token}`, `restore ${snapshot}; later writes are lost`, (by) => [
    { kind: 'Restore', reason: `${snapshot} is to be restored`, snapshot, token, by },
  ])
}

/** Reported, but never repaired automatically: members may come back with all data. A commit that declares a restore confirms that they will not. */
function planLostQuorum(seen: Seen, request: ControlPlaneRequest, now: number): ClusterPlan | undefined {
  const { cluster, plane } = seen
  if (plane?.quorumLost === undefined || (cluster.status?.history ?? []).length === 0) return undefined
  const { since, serving, members } = plane.quorumLost
  if (!(now - Date.parse(since) >= QUORUM_WITHIN_MS)) return undefined
  const restoring = planRestore(seen, now)
  if (restoring !== undefined) return restoring
  const last = plane.snapshots.findLast((s) => s.version === plane.version)
  const offer =
    last === undefined
      ? 'no snapshot of this version was opened, so only these volumes have its data'
      : `or a commit sets controlPlane.restore: {snapshot: ${last.name}, attempt: ${attemptAfter(plane.restored, last.name)}}, which loses all writes since ${last.takenAt}`
  return {
    ...put(seen, 'Failed', 'etcd has no quorum', request),
    requeueAfter: REQUEUE_MS,
    wait: {
      predicate: 'QuorumLost',
      seen: `${serving} of ${members} members of etcd serve since ${since}; ${plane.message ?? ''}`,
      unblock: `the members come back with their volumes; ${offer}`,
    },
  }
}

/** It failed before anything started. Do not retry the same every two seconds. */
const hasStuck = ({ cluster, plane }: Seen): boolean =>
  plane?.taking === undefined &&
  cluster.status?.phase === 'Ready' &&
  cluster.status.snapshotSchedule?.message !== undefined

/** Last: work that waits for a pod must not block the rest. */
function scheduled(seen: Seen, now: number): readonly ClusterAction[] {
  const { due, drop = [] } = scheduleOf(seen, now) ?? {}
  return [
    ...(drop.length > 0 ? [{ kind: 'DropSnapshots' as const, reason: 'newer ones were opened', names: drop }] : []),
    ...(due !== undefined ? [{ kind: 'ScheduledSnapshot' as const, reason: 'it is due', name: due }] : []),
  ]
}

/** A restore finishes first: a version change in the middle of it has nothing to go back to. */
const afterRestore = (seen: Seen, request: ControlPlaneRequest, snapshot: string): ClusterPlan => ({
  ...put(seen, 'Restoring', `${snapshot} is being restored`, request),
  wait: {
    predicate: 'RestoreUnderWay',
    seen: `${snapshot} is being restored; version ${seen.cluster.spec.version ?? ''} comes after it`,
    unblock: 'the restore ends; then the change of the version begins by itself',
  },
})

/** Runs before sync reaches the control plane. A control plane that was Ready stays Ready while it gets the addons of another release. */
function planAddons({ addons, cluster }: Seen): ClusterPlan | undefined {
  const known = addonIn(cluster)
  if (known?.version === addons && known.healthy === 'True') return undefined
  const hasFailed = known?.version === addons
  return {
    ...nothing,
    actions: [
      { kind: 'ApplyAddons', reason: hasFailed ? 'they failed before' : `they are ${known?.version ?? 'missing'}` },
    ],
    phase: cluster.status?.phase === 'Ready' ? 'Ready' : 'Addons',
    wait: undefined,
    requeueAfter: hasFailed ? SOON_MS : 0,
  }
}

/** Joining machines expect these addons. A control plane that was Ready stays Ready, and its other work continues in parallel. */
function planNamedAddons({ cluster }: Seen): ClusterPlan | undefined {
  const missing = cluster.status?.phase === 'Ready' ? [] : unappliedAddons(cluster)
  const [first] = missing
  if (first === undefined) return undefined
  const hasFailed = missing.some(({ failed }) => failed)
  return {
    ...nothing,
    actions: [{ kind: 'DeliverAddons', reason: `${first.name} is not applied` }],
    phase: 'Addons',
    wait: undefined,
    requeueAfter: hasFailed ? SOON_MS : 0,
  }
}

/** Take a snapshot first. Its name contains the version before the upgrade, so a retry uses the same one. */
function planUpgrade(seen: Seen, request: ControlPlaneRequest, now: number): ClusterPlan {
  const from = seen.plane?.version ?? ''
  const problems = upgradeProblems(seen, request)
  if (problems.length > 0)
    return waiting(phaseNow(seen), {
      predicate: 'UpgradeRefused',
      seen: problems.join('; '),
      unblock: UPGRADE_UNBLOCK,
    })
  const isBack = orderOf(request.version, from) < 0
  const change = `${isBack ? 'go back' : 'upgrade'} from ${from} to ${request.version}`
  return withPermit(
    seen,
    now,
    isBack ? 'RollingBack' : 'Upgrading',
    `version-${from}-${request.version}`,
    change,
    (by) => [
      {
        kind: 'Snapshot',
        reason: `before the change to ${request.version}`,
        name: snapshotBefore(from, request.version),
      },
      { kind: 'Put', reason: change, request, by },
    ],
  )
}

function upgradeProblems({ plane, readiness, cluster }: Seen, { version }: ControlPlaneRequest): readonly string[] {
  // An API server that is down cannot be read, and the other version may be the fix.
  if (plane?.state !== 'Running') return []
  const isBack = orderOf(version, plane.version) < 0
  return clusterProblems(readiness ?? unreadable('they were not asked for'), version, {
    ...defined({ accepts: cluster.spec.controlPlane?.accept }),
    isBack,
  })
}

export const snapshotBefore = (from: string, to: string): string =>
  `from-${from}-to-${to}`.replaceAll(/[^a-z0-9-]/g, '-')

function withPermit(
  seen: Seen,
  now: number,
  phase: Phase<'Cluster'>,
  what: string,
  reason: string,
  change: (by: Authority) => readonly ClusterAction[],
): ClusterPlan {
  const step = permitFor(seen, what, reason, now)
  if (step.kind !== 'Granted')
    return { actions: step.actions, notices: [], requeueAfter: step.afterMs ?? SOON_MS, phase, wait: step.wait }
  return {
    actions: [...step.actions, ...change(byPermit(step.permit)), ...finished(seen, step.permit)],
    notices: [],
    requeueAfter: 0,
    phase,
    wait: undefined,
  }
}

const nothing = { actions: [] as readonly ClusterAction[], notices: [] as readonly Notice[] }

const waiting = (phase: Phase<'Cluster'>, wait: Wait<Reason>): ClusterPlan => ({
  ...nothing,
  phase,
  wait,
  requeueAfter: REQUEUE_MS,
})

/** Some hosts answer at once and not on completion. Ask those again after a while. */
const put = (seen: Seen, phase: Phase<'Cluster'>, reason: string, request: ControlPlaneRequest): ClusterPlan => ({
  ...nothing,
  actions: [{ kind: 'Put', reason, request, by: { exempt: 'NoChange' } }],
  phase,
  wait: undefined,
  requeueAfter: isStepwise(seen) ? SOON_MS : 0,
})

/** A control plane that served before and does not now is no longer Creating. */
const phaseMeanwhile = ({ status }: Cluster): Phase<'Cluster'> => {
  if (status?.phase === 'Ready') return 'Ready'
  return (status?.history ?? []).length === 0 ? 'Creating' : 'Failed'
}

const phaseNow = ({ plane }: Seen): Phase<'Cluster'> => (plane?.state === 'Running' ? 'Ready' : 'Failed')

const secretTaken = ({ cluster: { metadata } }: Seen): Wait<Reason> => {
  const { namespace = '', name = '' } = metadata
  const secret = keyText(hostedKubeconfigKey(namespace, name))
  return {
    predicate: 'SecretTaken',
    seen: `Secret ${secret} was made by a person`,
    unblock: 'a person deletes that Secret',
  }
}

/** Why sync's kubeconfig must be written. Undefined while it is valid, or belongs to something else. */
function staleKubeconfig({ cluster, plane, kubeconfig }: Seen, now: number): string | undefined {
  if (kubeconfig === undefined) return 'there is none'
  if (plane === undefined) return undefined
  if (kubeconfig.owner !== cluster.metadata.uid) return 'it is of an earlier Cluster'
  if (kubeconfig.endpoint !== plane.endpoint || kubeconfig.ca?.trim() !== plane.ca.trim())
    return 'endpoint or authority changed'
  if (plane.own !== undefined && kubeconfig.signedBy !== plane.own.signer) return 'another authority signs'
  if (now < kubeconfig.from) return 'it is not valid yet: it was made by a clock that was ahead'
  return now >= renewTime(kubeconfig.from, kubeconfig.until) ? 'two thirds of its life are over' : undefined
}

// The status of a Cluster with a control plane on the hub. Pure. Sync's part of the status is carried over unchanged: its condition and its versions.
import type { Cluster, ClusterStatus } from '#api/kinds/cluster.ts'
import type { ConditionType, Reason } from '#api/catalogue.ts'
import type { Phase } from '#api/phases.ts'
import { hostedKubeconfigName, KUBECONFIG_KEY, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { ControlPlane, PutResult, Snapshot, TroubleCause } from '#controlplanes/port.ts'
import { removeCondition, setConditions, type WantedCondition } from '#kube/conditions.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import type { ActionResult } from '#runtime/reconcile-with.ts'
import { fit, type Wait, waitingSince } from '#runtime/waiting.ts'
import type { ClusterAction, ClusterPlan } from './actions.ts'
import { addonsAfter, waitOfAddons } from './addons/status.ts'
import type { Lifetime } from './plan-lifetime.ts'
import { mayExist, unservedFlavor } from './plan-mistakes.ts'
import { snapshotBefore } from './plan.ts'
import { isFull } from './plan-store.ts'
import { lifetimeSeen, lifetimeText } from './plan-expiry.ts'
import { rotationsOf, waitOfRotation } from './plan-rotation.ts'
import { scheduleStatus } from './snapshots/status.ts'
import type { Deployed } from './programs/deploy.ts'
import { placeAfter, type Place, waitOfMove } from './programs/place.ts'
import { programsCondition, waitOfPrograms } from './programs/plan.ts'
import { type Seen, UPGRADE_UNBLOCK } from './seen.ts'

type Status = NonNullable<ClusterStatus>
type Results = readonly ActionResult<ClusterAction>[]

const MOST_HISTORY = 10
/** The status has room for this many. */
const MOST_SERVED = 32
const SECOND_MS = 1_000

export function statusOf(seen: Seen, plan: ClusterPlan, results: Results, now: number): Status {
  const { cluster } = seen
  const put = putResult(results)
  const plane = withTaken(put?.kind === 'Plane' ? put.plane : seen.plane, results)
  const before = cluster.status ?? {}
  const failed = waitOfPut(put, plan) ?? waitOfRestore(results) ?? waitOfAddons(results)
  const wait =
    failed ??
    waitOfUnfinished(results, plan.wait) ??
    plan.wait ??
    waitOfRotation(plane) ??
    waitOfParts(plane) ??
    waitOfPrograms(seen, plane) ??
    waitOfMove(seen, placeIn(seen, results, now), problemIn(results))
  const isDone = results.length > 0 && results.every((r) => r.outcome.kind === 'Applied') && failed === undefined
  const {
    change: _change,
    rotations: _rotations,
    waitingFor: _,
    highAvailability: _h,
    served: _v,
    expiresAt: _end,
    addons: _addons,
    snapshotSchedule: _s,
    programs: _place,
    ...kept
  } = before
  const addons = addonsAfter(seen, results)
  const lifetime = lifetimeSeen(seen, now)
  const { generation } = cluster.metadata
  const schedule = scheduleStatus(seen, plan, results, now)
  const place = placeIn(seen, results, now)
  const programs = programsCondition(seen, plane, place)
  const without: readonly ConditionType[] = [
    ...(programs === undefined ? (['ProgramsReady'] as const) : []),
    ...(lifetime.state === 'Unlimited' ? (['Expiring'] as const) : []),
    ...(schedule === undefined ? (['SnapshotsCurrent'] as const) : []),
  ]
  return {
    ...kept,
    ...defined({ observedGeneration: generation }),
    phase: phaseAfter(plan, plane, failed, isDone),
    ...availabilityOf(seen),
    ...(plane !== undefined && ofPlane(plane, before.change, now)),
    ...(addons.length > 0 && { addons }),
    ...(cluster.metadata.namespace === SYSTEM_NAMESPACE && { kubeconfigSecret: secretOf(cluster) }),
    history: historyOf(seen, before, plane, now),
    ...(wait !== undefined && { waitingFor: waitingSince(before.waitingFor, wait, now) }),
    ...defined({ programs: place }),
    ...expiresAtOf(lifetime),
    ...(schedule !== undefined && { snapshotSchedule: schedule.status }),
    conditions: setConditions(
      without.reduce<Status['conditions']>(removeCondition, before.conditions),
      [
        plan.phase === 'Expired' ? expiredOf(seen) : readyOf(seen, plane, wait, programs),
        ...(lifetime.state === 'Unlimited' ? [] : [expiringOf(lifetime, seen)]),
        ...(schedule === undefined ? [] : [schedule.condition]),
        ...(programs === undefined ? [] : [programs]),
      ],
      now,
    ),
  }
}

/** Once nothing is left in the cluster, nothing is recorded. */
function placeIn(seen: Seen, results: Results, now: number): Place | undefined {
  if (results.some((r) => r.action.kind === 'RemovePrograms' && r.outcome.kind === 'Applied')) return undefined
  const place = placeAfter(seen, now)
  const problem = problemIn(results)
  if (place === undefined || problem === undefined) return place
  // A program without a leader moves them all to the hub: the problem may be why, and does not hide it.
  const { message, unledSince } = place
  if (unledSince === undefined || message === undefined) return { ...place, message: fit(problem) }
  return { ...place, message: fit(message.includes(problem) ? message : `${message}; ${problem}`) }
}

/** What the cluster refused of its programs. */
function problemIn(results: Results): string | undefined {
  const deployed = results.find((r) => r.action.kind === 'DeployPrograms' && r.outcome.kind === 'Applied')
  return ((deployed?.outcome.kind === 'Applied' ? deployed.outcome.object : {}) as Partial<Deployed>).problem
}

/** If this hub has no host for the flavor, nothing is known. */
function availabilityOf({ cluster, host }: Seen): Pick<Status, 'highAvailability' | 'served'> {
  const { flavor, replicas = 1 } = cluster.spec.controlPlane ?? {}
  if (flavor !== host.name) return {}
  const { isHighlyAvailable, minors } = host.capabilities
  return { highAvailability: isHighlyAvailable && replicas > 1 ? 'Yes' : 'No', served: minors.slice(0, MOST_SERVED) }
}

/** The Defender uses this condition. What the host does not report is unknown, never unhealthy. */
function readyOf(
  { cluster, host, unanswered }: Seen,
  plane: ControlPlane | undefined,
  wait: Wait<Reason> | undefined,
  programs: WantedCondition | undefined,
): WantedCondition {
  const type = 'Ready'
  const observedGeneration = cluster.metadata.generation ?? 0
  const of = { type, observedGeneration } as const
  if (unanswered !== undefined) return { ...of, status: 'Unknown', reason: 'HostUnreachable', message: unanswered }
  const unserved = unservedFlavor({ cluster, host })
  if (unserved !== undefined && mayExist({ cluster }))
    return { ...of, status: 'Unknown', reason: 'FlavorNotServed', message: unserved.seen }
  if (plane?.state === 'Running' && isFull(plane))
    return {
      ...of,
      status: 'False',
      reason: 'EtcdFull',
      message: fit(wait?.seen ?? 'etcd takes no writes: it is full'),
    }
  // Without them it serves, and nothing in it converges.
  if (plane?.state === 'Running' && programs?.status === 'False')
    return { ...of, status: 'False', reason: programs.reason, message: programs.message }
  if (plane?.state === 'Running') return { ...of, status: 'True', reason: 'ClusterAnswers', message: servedText(plane) }
  const message = wait?.seen ?? plane?.message ?? 'the control plane does not run'
  // A wait for a person or a commit is not a start.
  return { ...of, status: 'False', reason: wait?.predicate ?? 'ControlPlaneStarting', message }
}

const servedText = ({ message }: ControlPlane): string =>
  fit(`the host serves the API server${message === undefined ? '' : `; ${message}`}`)

/** It answers, but a part is missing, for example an etcd member: the next loss stops all writes. */
function waitOfParts(plane: ControlPlane | undefined): Wait<Reason> | undefined {
  if (plane?.state !== 'Running' || plane.message === undefined) return undefined
  return { predicate: 'WaitingForOther', seen: plane.message, unblock: 'all pods of its control plane are ready' }
}

/** Stopped on purpose. */
const expiredOf = ({ cluster }: Seen): WantedCondition => ({
  type: 'Ready',
  observedGeneration: cluster.metadata.generation ?? 0,
  status: 'False',
  reason: 'LifetimeOver',
  message: 'the time to live is over; the control plane is stopped and keeps its data',
})

type Limited = Exclude<Lifetime, { readonly state: 'Unlimited' }>

const EXPIRING = {
  Alive: { status: 'False', reason: 'LifetimeRunning' },
  Held: { status: 'False', reason: 'LifetimeRunning' },
  Expiring: { status: 'True', reason: 'LifetimeEnding' },
  Expired: { status: 'True', reason: 'LifetimeOver' },
} as const satisfies Readonly<Record<Limited['state'], { status: string; reason: Reason }>>

const expiringOf = (lifetime: Limited, { cluster }: Seen): WantedCondition => ({
  type: 'Expiring',
  observedGeneration: cluster.metadata.generation ?? 0,
  ...EXPIRING[lifetime.state],
  message: lifetimeText(lifetime),
})

const expiresAtOf = (lifetime: Lifetime): Pick<Status, 'expiresAt'> =>
  lifetime.state === 'Unlimited' || lifetime.expiresAt === undefined ? {} : { expiresAt: timestamp(lifetime.expiresAt) }

const secretOf = ({ metadata: { namespace = '', name = '' } }: Cluster) => ({
  name: hostedKubeconfigName(namespace, name),
  key: KUBECONFIG_KEY,
})

const ofPlane = (plane: ControlPlane, before: Status['change'], now: number): Partial<Status> => ({
  endpoint: plane.endpoint,
  versions: [{ part: 'apiserver', version: plane.version }],
  snapshots: plane.snapshots.slice(-10).map(({ name, takenAt, version, bytes, sha256, revision, objects }) => ({
    name,
    takenAt,
    version,
    bytes,
    ...defined({ sha256, revision }),
    objects,
  })),
  ...defined({ restored: plane.restored }),
  ...changeOf(plane, before, now),
  ...rotationsIn(plane),
})

function rotationsIn(plane: ControlPlane): Pick<Status, 'rotations'> {
  const rotations = rotationsOf(plane)
  return rotations.length === 0 ? {} : { rotations: [...rotations] }
}

const changeOf = ({ change }: ControlPlane, before: Status['change'], now: number): Pick<Status, 'change'> => {
  if (change === undefined) return {}
  const isSame = before?.from === change.from && before.to === change.to
  const { wayBack, message, ...rest } = change
  return {
    change: {
      ...rest,
      message: fit(message),
      startedAt: (isSame ? before.startedAt : undefined) ?? timestamp(now),
      ...(wayBack === 'Programs' ? { wayBack } : { wayBack: 'Restore' as const, ...wayBack }),
    },
  }
}

function putResult(results: Results): PutResult | undefined {
  const put = results.find((r) => r.action.kind === 'Put' && r.outcome.kind === 'Applied')
  return put?.outcome.kind === 'Applied' ? (put.outcome.object as PutResult) : undefined
}

function waitOfPut(put: PutResult | undefined, { wait }: ClusterPlan): Wait<Reason> | undefined {
  if (put?.kind === 'Refused')
    return {
      predicate: put.reason,
      seen: put.message,
      unblock:
        put.reason === 'UpgradeRefused' ? UPGRADE_UNBLOCK : 'a commit changes the Cluster, or another one is deleted',
    }
  if (put?.kind === 'Plane' && put.plane.state !== 'Running') {
    const { state, message = 'no answer yet', cause } = put.plane
    // The plan knows why it is starting.
    if (cause === undefined && wait !== undefined) return undefined
    return {
      predicate: cause ?? 'ControlPlaneStarting',
      seen: `${state}: ${message}`,
      unblock: cause === undefined ? 'the host starts it; it is tried again and again' : UNBLOCKS[cause],
    }
  }
  return undefined
}

/** The host was polled before the snapshot was taken. */
function withTaken(plane: ControlPlane | undefined, results: Results): ControlPlane | undefined {
  if (plane === undefined) return undefined
  const taken = results.flatMap(({ action, outcome }): readonly Snapshot[] => {
    const snapshot = action.kind === 'Snapshot' && outcome.kind === 'Applied' ? outcome.object : undefined
    return isObject(snapshot) && plane.snapshots.every((s) => s.name !== snapshot['name']) ? [snapshot as never] : []
  })
  return taken.length === 0 ? plane : { ...plane, snapshots: [...plane.snapshots, ...taken] }
}

const UNBLOCKS: Readonly<Record<TroubleCause, string>> = {
  StorageMissing: 'the hub gives the claim a volume; it is tried again and again',
  QuotaFull: 'the ResourceQuota is raised, or what fills it is removed; it is tried again and again',
}

/** A restore, a last snapshot or a removal waits for the hub. What a person can do comes first. */
function waitOfUnfinished(results: Results, planned: Wait<Reason> | undefined): Wait<Reason> | undefined {
  const found = results.find(({ outcome }) => outcome.kind === 'Unfinished')
  if (found?.outcome.kind !== 'Unfinished') return undefined
  const seen = `${found.action.kind}: ${found.outcome.reason}`
  return planned === undefined
    ? {
        predicate: 'Progressing',
        seen,
        unblock: 'the hub does its part; it is continued every few seconds',
      }
    : { ...planned, seen: `${planned.seen}; ${seen}` }
}

function waitOfRestore(results: Results): Wait<Reason> | undefined {
  const restore = results.find((r) => r.action.kind === 'Restore' && r.outcome.kind === 'Outdated')
  return restore?.action.kind === 'Restore'
    ? {
        predicate: 'SnapshotMissing',
        seen: `snapshot ${restore.action.snapshot}`,
        unblock: 'a commit names one of status.snapshots, or takes restore away',
      }
    : undefined
}

/** A control plane that is starting in one of these phases is doing what was requested. */
const IS_UNDER_WAY: ReadonlySet<Phase<'Cluster'>> = new Set(['Creating', 'RollingBack', 'Upgrading', 'Restoring'])

function phaseAfter(
  plan: ClusterPlan,
  plane: ControlPlane | undefined,
  failed: Wait<Reason> | undefined,
  isDone: boolean,
): Phase<'Cluster'> {
  if (failed?.predicate === 'AddonFailed') return plan.phase
  if (failed !== undefined && !(plane?.state === 'Starting' && IS_UNDER_WAY.has(plan.phase)))
    return plane?.state === 'Running' ? 'Ready' : 'Failed'
  if (failed !== undefined) return plan.phase
  // The kubeconfig comes next: the Cluster is Ready once sync can reach it.
  if (plan.phase === 'Ready' && plan.actions.some((a) => a.kind === 'WriteKubeconfig') && !isDone) return 'Creating'
  return plan.phase
}

type History = NonNullable<Status['history']>

/**
 * Version and time are the key of an entry. If a version returns within the same second, or after the clock was set back, use the next free second.
 */
function freeTime(history: History, version: string, now: number): string {
  const taken = new Set(history.filter((h) => h.version === version).map((h) => h.startedAt))
  let at = now
  while (taken.has(timestamp(at))) at += SECOND_MS
  return timestamp(at)
}

/** Newest last. An entry is complete once the control plane runs the version. */
function historyOf({ plane: seenPlane }: Seen, before: Status, plane: ControlPlane | undefined, now: number): History {
  const history = before.history ?? []
  if (plane === undefined || plane.state !== 'Running') return history
  const last = history.at(-1)
  if (last?.version === plane.version) return history
  const completedAt = freeTime(history, plane.version, now)
  // A return to the version before is a part of the same change: its start is not known.
  const began = before.change?.to === plane.version ? before.change.startedAt : undefined
  const startedAt = began === undefined ? completedAt : freeTime(history, plane.version, Date.parse(began))
  const snapshot = seenPlane === undefined ? undefined : snapshotBefore(seenPlane.version, plane.version)
  const entry = {
    version: plane.version,
    startedAt,
    completedAt,
    ...(snapshot !== undefined && plane.snapshots.some((s) => s.name === snapshot) && { snapshot }),
    message: last === undefined ? 'created' : `changed from ${last.version}`,
  }
  return [...history, entry].slice(-MOST_HISTORY)
}

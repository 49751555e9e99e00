// Decides the steps of a deletion. Each step can be repeated: machines, permit, API server, final snapshot, the host's data, kubeconfig, and finally
// the finalizer. Pure.
import type { Reason } from '#api/catalogue.ts'
import { FINALIZERS } from '#api/names.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { ControlPlane } from '#controlplanes/port.ts'
import { counted } from '#lib/counted.ts'
import { isUnprotected } from '#permits/holds/unprotected.ts'
import { approvalDigest } from '#permits/approval-digest.ts'
import { type Authority, byPermit } from '#permits/under-permit.ts'
import type { Wait } from '#runtime/waiting.ts'
import type { ClusterAction, ClusterPlan } from './actions.ts'
import { DELETES, finished, permitFor } from './plan-permit.ts'
import { endedPrograms } from './programs/plan.ts'
import type { Seen } from './seen.ts'
import { defined } from '#lib/defined.ts'
import { someOf } from '#lib/some-of.ts'

/**
 * If machines remain this long after the grant, the status names them and the deletion continues. A failed provider or a dead API server must not
 * block it forever.
 */
const MACHINES_WITHIN_MS = 10 * 60_000
/** If the final snapshot is not there by then, it may never be. */
const FINAL_WITHIN_MS = 30 * 60_000
const SOON_MS = 2_000
const MOST_NAMED = 5

export function planDeletion(seen: Seen, now: number): ClusterPlan {
  const declared = stillDeclared(seen, now)
  return declared === undefined
    ? planRemoval(seen, now)
    : { actions: [], notices: [], phase: 'Deleting', wait: declared, requeueAfter: SOON_MS }
}

/**
 * A `kubectl delete` alone does not end a cluster that git declares, even if the guard was bypassed. A deletion that already requested its permit is
 * completed: the hold that allowed it may have expired by then.
 */
function stillDeclared({ cluster, plane, permits, holds, isDeclared }: Seen, now: number): Wait<Reason> | undefined {
  const { name = '', namespace, uid } = cluster.metadata
  if (!isDeclared || plane === undefined || plane.owner !== uid) return undefined
  if (permits.some(({ spec }) => spec.operations.includes('DeleteControlPlane'))) return undefined
  if (isUnprotected(holds, { kind: 'Cluster', name, namespace }, now)) return undefined
  return {
    predicate: 'StillDeclared',
    seen: 'it was deleted by hand, and git declares it; its API server and machines keep running',
    unblock: `remove it from git, or run kubenode unprotect cluster/${name} --reason WHY`,
  }
}

function planRemoval(seen: Seen, now: number): ClusterPlan {
  const { cluster, plane, kubeconfig } = seen
  const { finalizers = [], uid = '' } = cluster.metadata
  const done = { notices: [], phase: 'Deleting' as const, wait: undefined }
  if (!finalizers.includes(FINALIZERS.cluster)) return { ...done, actions: [] }
  const end: ClusterAction[] = [
    ...(kubeconfig?.owner === uid ? [{ kind: 'DeleteKubeconfig' as const, reason: 'the Cluster is deleted' }] : []),
    ...endedPrograms(seen, 'the Cluster is deleted'),
    { kind: 'RemoveFinalizer', reason: 'nothing of it is left that is to be removed' },
  ]
  if (cluster.spec.deletionPolicy !== 'Delete') {
    const message = `the control plane ${plane?.id ?? ''} is kept: deletionPolicy is Orphan`
    return { ...done, actions: end, notices: plane === undefined ? [] : [{ reason: 'ControlPlaneKept', message }] }
  }
  if (plane === undefined || plane.owner !== uid) return { ...done, actions: end }
  const step = permitFor(seen, 'delete', 'delete the control plane after a final snapshot', now, DELETES)
  if (step.kind !== 'Granted')
    return { ...done, actions: step.actions, wait: step.wait, requeueAfter: step.afterMs ?? SOON_MS }
  const by = byPermit(step.permit)
  const final = `final-${uid.slice(0, 8)}`
  const since = sinceGrant(seen, step.permit)
  const restMs = since + MACHINES_WITHIN_MS - now
  const remaining = restMs > 0 ? machinesStep(seen, by, plane, final, restMs) : undefined
  if (remaining !== undefined) return { ...done, ...remaining, actions: [...step.actions, ...remaining.actions] }
  const without = withoutFinal(seen, plane, final, since, now)
  const deleted = (permit: OperationPermit) => finished(seen, permit, 'it is deleted')
  if (without?.approved !== undefined)
    return {
      ...done,
      actions: [
        ...step.actions,
        {
          kind: 'Delete',
          by,
          reason: 'a person approved that it has no final snapshot',
          ...defined({ keep: without.kept }),
        },
        ...deleted(step.permit),
        ...deleted(without.approved),
        ...end,
      ],
    }
  return {
    ...done,
    ...(without !== undefined && { wait: without.wait }),
    actions: [
      ...step.actions,
      ...(without?.actions ?? []),
      // If it is already stopped, its etcd may be running for the snapshot.
      ...(plane.state === 'Stopped' ? [] : [{ kind: 'Stop' as const, reason: 'no client may write any more', by }]),
      { kind: 'Snapshot', reason: 'the last of it', name: final },
      { kind: 'Delete', reason: 'deletionPolicy is Delete', keep: final, by },
      ...deleted(step.permit),
      ...end,
    ],
    notices: leftMachines(seen, plane, final),
  }
}

/** Time spent waiting for a permit does not count: machines could not leave then. */
function sinceGrant({ cluster }: Seen, { status }: OperationPermit): number {
  const deleted = Date.parse(cluster.metadata.deletionTimestamp ?? '')
  return Math.max(deleted, Date.parse(status?.decidedAt ?? '') || deleted)
}

interface WithoutFinal {
  readonly actions: readonly ClusterAction[]
  readonly wait: Wait<Reason>
  readonly approved?: OperationPermit
  /** The newest snapshot, kept in place of the final one. */
  readonly kept: string | undefined
}

/** A final snapshot that never completes must not block the deletion forever. It is retried, and a person may give up the data in it. */
function withoutFinal(
  seen: Seen,
  plane: ControlPlane,
  final: string,
  since: number,
  now: number,
): WithoutFinal | undefined {
  if (plane.snapshots.some((s) => s.name === final) || !(now >= since + FINAL_WITHIN_MS)) return undefined
  const last = plane.snapshots.at(-1)
  const change =
    last === undefined
      ? 'delete it without any snapshot; all of its data is lost'
      : `delete it without a final snapshot; writes since ${last.takenAt} are lost, ${last.name} is kept for a week`
  const step = permitFor(seen, 'delete-without-snapshot', change, now)
  const kept = last?.name
  if (step.kind !== 'Granted') return { actions: step.actions, wait: step.wait, kept }
  const { permit, actions } = step
  return {
    actions,
    kept,
    wait: {
      predicate: 'ApprovalMissing',
      seen: change,
      unblock: `the final snapshot is taken, or a person approves: kubenode approve permit/${permit.metadata.name ?? ''}`,
    },
    ...(seen.approved.has(approvalDigest(permit.spec)) && { approved: permit }),
  }
}

type MachinesStep = Pick<ClusterPlan, 'actions' | 'wait' | 'requeueAfter'>

/** What to do about its machines within their time limit. Undefined when there are none. */
function machinesStep(
  seen: Seen,
  by: Authority,
  plane: ControlPlane,
  final: string,
  restMs: number,
): MachinesStep | undefined {
  const { machines } = seen
  const minutes = `after ${Math.ceil(restMs / 60_000)} more minutes the deletion continues without`
  if (machines !== undefined) {
    if (machines.length === 0) return undefined
    const there = `${counted(machines.length, 'machine')}: ${named(machines)}`
    return {
      actions: [{ kind: 'RemoveMachines', reason: there, by }],
      wait: { predicate: 'MachinesRemain', seen: there, unblock: `its controllers remove them; ${minutes}` },
      requeueAfter: SOON_MS,
    }
  }
  if (!mayHaveMachines(seen, plane, final)) return undefined
  const { id, owner, version, port } = plane
  const reason = 'its machines are removed through it'
  return {
    actions:
      plane.state === 'Running'
        ? []
        : [{ kind: 'Put', reason, request: { id, owner, version, port }, by: { exempt: 'NoChange' } }],
    wait: {
      predicate: 'MachinesRemain',
      seen: `its machines are not known: its API server is ${plane.state}${plane.message === undefined ? '' : `: ${plane.message}`}`,
      unblock: `its API server answers; ${minutes}`,
    },
    requeueAfter: SOON_MS,
  }
}

/**
 * For a control plane that does not answer: it was ready before, and this deletion did not stop it. If its expiry stopped it, it is started once more
 * for the machines.
 */
function mayHaveMachines({ cluster: { status } }: Seen, { state, snapshots }: ControlPlane, final: string): boolean {
  if ((status?.history ?? []).length === 0) return false
  return state !== 'Stopped' || (status?.expiresAt !== undefined && snapshots.every((s) => s.name !== final))
}

function leftMachines(seen: Seen, plane: ControlPlane, final: string): ClusterPlan['notices'] {
  const { machines } = seen
  if (machines?.length === 0) return []
  const left = machines === undefined ? 'those that its API server, which did not answer, has' : named(machines)
  return machines === undefined && !mayHaveMachines(seen, plane, final)
    ? []
    : [{ reason: 'MachinesLeft', message: `not removed with the cluster: ${left}`, severity: 'Warning' }]
}

const named = (names: readonly string[]): string => someOf(names, MOST_NAMED)

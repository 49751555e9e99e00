// Decides the steps of a deletion, in an order in which each can be repeated: machines, permit, API server, final snapshot, what the host has, kubeconfig, and
// last the finalizer. Pure.
import type { Reason } from '#api/catalogue.ts'
import { FINALIZERS } from '#api/names.ts'
import type { ControlPlane } from '#controlplanes/port.ts'
import { counted } from '#lib/counted.ts'
import type { Wait } from '#runtime/waiting.ts'
import type { ClusterAction, ClusterPlan } from './actions.ts'
import { permitFor } from './permit.ts'
import type { Seen } from './seen.ts'

/** Machines that are still there after this are named, and the deletion continues: hosts whose provider failed must not keep it for ever. */
const MACHINES_WITHIN_MS = 10 * 60_000
const SOON_MS = 2_000
const MOST_NAMED = 5

export function planDeletion(seen: Seen, now: number): ClusterPlan {
  const { cluster, plane, kubeconfig } = seen
  const { finalizers = [], uid = '' } = cluster.metadata
  const done = { notices: [], phase: 'Deleting' as const, wait: undefined }
  if (!finalizers.includes(FINALIZERS.cluster)) return { ...done, actions: [] }
  const end: ClusterAction[] = [
    ...(kubeconfig?.owner === uid ? [{ kind: 'DeleteKubeconfig' as const, reason: 'the Cluster is deleted' }] : []),
    { kind: 'RemoveFinalizer', reason: 'nothing of it is left that is to be removed' },
  ]
  if (cluster.spec.deletionPolicy !== 'Delete') {
    const message = `the control plane ${plane?.id ?? ''} is kept: deletionPolicy is Orphan`
    return { ...done, actions: end, notices: plane === undefined ? [] : [{ reason: 'ControlPlaneKept', message }] }
  }
  if (plane === undefined || plane.owner !== uid) return { ...done, actions: end }
  const step = permitFor(seen, 'delete', 'delete the control plane after a final snapshot', now)
  if (step.kind === 'Waiting')
    return { ...done, actions: step.actions, wait: step.wait, requeueAfter: step.afterMs ?? SOON_MS }
  const final = `final-${uid.slice(0, 8)}`
  if (isTombstone(seen, plane, final, now)) {
    const { id, owner, version, port } = plane
    const request = { id, owner, version, port }
    return {
      ...done,
      actions: [...step.actions, { kind: 'Put', reason: 'it expired; its machines are removed through it', request }],
      requeueAfter: 0,
    }
  }
  const remaining = machinesWait(seen, now)
  if (remaining !== undefined)
    return {
      ...done,
      actions: [...step.actions, { kind: 'RemoveMachines', reason: remaining.seen }],
      wait: remaining,
      requeueAfter: SOON_MS,
    }
  const left = seen.machines ?? []
  return {
    ...done,
    actions: [
      ...step.actions,
      { kind: 'Stop', reason: 'no client may write any more' },
      { kind: 'Snapshot', reason: 'the last of it', name: final },
      { kind: 'Delete', reason: 'deletionPolicy is Delete', keep: final },
      { kind: 'Report', reason: 'it is deleted', permit: step.permit, result: 'Succeeded' },
      ...end,
    ],
    notices:
      left.length === 0
        ? []
        : [{ reason: 'MachinesLeft', message: `not removed with the cluster: ${named(left)}`, severity: 'Warning' }],
  }
}

/** One that its expiry stopped may have machines. It is started for them once more, within the time that they have. */
function isTombstone({ cluster }: Seen, plane: ControlPlane, final: string, now: number): boolean {
  const since = Date.parse(cluster.metadata.deletionTimestamp ?? '')
  return (
    plane.state === 'Stopped' &&
    cluster.status?.expiresAt !== undefined &&
    plane.snapshots.every((s) => s.name !== final) &&
    now < since + MACHINES_WITHIN_MS
  )
}

/** An API server that does not answer cannot tell, and is stopped already or never had any. */
function machinesWait({ cluster, machines, plane }: Seen, now: number): Wait<Reason> | undefined {
  if (plane?.state !== 'Running' || machines === undefined || machines.length === 0) return undefined
  const since = Date.parse(cluster.metadata.deletionTimestamp ?? '')
  const restMs = since + MACHINES_WITHIN_MS - now
  if (!(restMs > 0)) return undefined
  return {
    predicate: 'MachinesRemain',
    seen: `${counted(machines.length, 'machine')}: ${named(machines)}`,
    unblock: `its controllers remove them; after ${Math.ceil(restMs / 60_000)} more minutes the deletion continues without`,
  }
}

const named = (names: readonly string[]): string =>
  names.length <= MOST_NAMED
    ? names.join(', ')
    : `${names.slice(0, MOST_NAMED).join(', ')} and ${names.length - MOST_NAMED} more`

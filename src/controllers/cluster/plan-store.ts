// Decides what to do about a full etcd store, or one with much free space in its files. Pure. The host handles compaction and the alarm. Rewriting
// the members pauses each of them, so it needs a permit. Nothing is deleted to make room: a person chooses what to delete.
import type { ControlPlane, ControlPlaneRequest, StoreState } from '#controlplanes/port.ts'
import { byPermit } from '#permits/under-permit.ts'
import type { Wait } from '#runtime/waiting.ts'
import type { Reason } from '#api/catalogue.ts'
import type { ClusterAction, ClusterPlan } from './actions.ts'
import { finished, permitFor } from './plan-permit.ts'
import type { Seen } from './seen.ts'
import { MIB } from '#lib/bytes.ts'

const SOON_MS = 2_000
/** The host polls the members once a minute. */
const FULL_MS = 10_000
/** A restored store must have more room than this one. */
const ROOMY = 0.9
const DEFRAGMENT_PERMIT = 'defragment'

export const isFull = (plane: ControlPlane | undefined): boolean => plane?.store?.fullSince !== undefined

/** Restoring a store that had room helps. Restoring one that was just as full does not. */
export function restoreHelps({ plane, cluster }: Seen): boolean {
  const restore = cluster.spec.controlPlane?.restore
  const from = plane?.snapshots.find((s) => s.name === restore?.snapshot)
  return from !== undefined && from.bytes < ROOMY * (plane?.store?.quotaBytes ?? 0)
}

/** No version change and no ordinary restore starts. The control plane keeps what it runs. */
export function planFull(seen: Seen, request: ControlPlaneRequest, now: number): ClusterPlan | undefined {
  const { store, version, change } = seen.plane ?? {}
  if (store?.fullSince === undefined || version === undefined) return undefined
  const held: ControlPlaneRequest = change === undefined ? { ...request, version } : request
  const put: ClusterAction = { kind: 'Put', reason: 'etcd is full', request: held, by: { exempt: 'NoChange' } }
  const of = { notices: [], phase: 'Failed' as const }
  if (!store.isWorthDefragmenting)
    return { ...of, actions: [put], requeueAfter: FULL_MS, wait: waitOf(store, store.fullSince, unblockOf(store)) }
  const step = defragmentation(seen, store, now)
  if (step.isGranted) {
    const wait = waitOf(store, store.fullSince, 'its members are defragmented one at a time; nothing is to be done')
    return { ...of, actions: step.actions, requeueAfter: SOON_MS, wait }
  }
  return { ...of, actions: [put, ...step.actions], requeueAfter: step.afterMs ?? SOON_MS, wait: step.wait }
}

/** Last in a pass: a serving control plane does not wait for this. */
export function tidied(seen: Seen, now: number): readonly ClusterAction[] {
  const store = seen.plane?.store
  return store === undefined || !store.isWorthDefragmenting || isFull(seen.plane)
    ? []
    : defragmentation(seen, store, now).actions
}

type Defragmentation =
  | { readonly isGranted: true; readonly actions: readonly ClusterAction[] }
  | {
      readonly isGranted: false
      readonly actions: readonly ClusterAction[]
      readonly wait: Wait<Reason>
      readonly afterMs?: number
    }

function defragmentation(seen: Seen, { defragmented }: StoreState, now: number): Defragmentation {
  const number = defragmented + 1
  const reason = 'defragment etcd, one member at a time'
  const step = permitFor(seen, `${DEFRAGMENT_PERMIT}-${number}`, reason, now)
  if (step.kind !== 'Granted') return { ...step, isGranted: false }
  return {
    isGranted: true,
    actions: [
      ...step.actions,
      { kind: 'Defragment', reason, number, by: byPermit(step.permit) },
      ...finished(seen, step.permit),
    ],
  }
}

/** The permit of a defragmentation that another pass finished. */
export const isOfDefragmentation = (name: string, { plane }: Seen): boolean =>
  plane?.store !== undefined && name.includes(`-${DEFRAGMENT_PERMIT}-${plane.store.defragmented}-b`)

const waitOf = (store: StoreState, since: string, unblock: string): Wait<Reason> => ({
  predicate: 'EtcdFull',
  seen: `etcd takes no writes since ${since}: ${sizesOf(store)}${store.problem === undefined ? '' : `; ${store.problem}`}`,
  unblock,
})

const sizesOf = ({ bytes, inUseBytes, quotaBytes }: StoreState): string =>
  `its largest member has ${mib(bytes)} (quota ${mib(quotaBytes)}), ${mib(inUseBytes)} of them in use`

const mib = (bytes: number): string => `${Math.round(bytes / MIB)} MiB`

function unblockOf({ bytes, quotaBytes }: StoreState): string {
  if (bytes < ROOMY * quotaBytes) return 'all members of etcd serve; then the alarm is disarmed by itself'
  return `objects that nothing needs are deleted (deletions still work), or a commit raises controlPlane.extraArgs etcd.quota-backend-bytes above ${Math.ceil(bytes / ROOMY)} for volumes with room; the rest is done by itself`
}

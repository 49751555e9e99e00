// One delivery to a cluster: observe, plan, act, and observe the changes.
import type { Baseline } from '#api/kinds/inventory.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { defined } from '#lib/defined.ts'
import type { Clearance } from '#permits/under-permit.ts'
import { actOnCluster, type ClusterResult } from './act.ts'
import type { ClusterConnection } from './connection.ts'
import { type DesiredObject, type RenderedTarget, shortDigest } from './desired.ts'
import type { ClusterConfig } from './diff.ts'
import type { InventoryMark } from './inventory.ts'
import { type InventoryRef, type ObjectRef, refText } from './object-ref.ts'
import { observeCluster, type Observed } from './observe.ts'
import { isDelete } from './operation.ts'
import { type ClusterPlan, type HeldPrune, planCluster } from './plan.ts'
import type { DeclaredIn, InventoryOwner } from './targets.ts'

export interface DeliveryOrder {
  readonly target: RenderedTarget
  readonly owner: InventoryOwner
  readonly mark: InventoryMark
  readonly config: Omit<ClusterConfig, 'source' | 'target'>
  /** What the commit declares for the other targets of the source. */
  readonly declaredIn?: DeclaredIn
  /** By `refText`: what other tracks declare. */
  readonly elsewhere: ReadonlySet<string>
  /** Recorded objects that another delivery of the same owner applies or deletes. They are neither read nor touched, and their entries stay. */
  readonly skips?: (ref: ObjectRef) => boolean
  /**
   * Only what is recorded exactly as declared is put back. Nothing else is read or touched, and its entry stays. Of a commit that is not the newest: the later
   * ones. What another track brought or deleted here since then is left alone.
   */
  readonly restoresOnly?: 'Newest' | ReadonlySet<string> | undefined
  /** Digests of approved deletions. */
  readonly approved: ReadonlySet<string>
  /** Absent if no Defender counts the target: an approval alone decides. */
  readonly permits?: PrunePermits
  /** Concurrent writes. Absent: as many as suit one cluster. */
  readonly atOnce?: number
  readonly signal?: AbortSignal
}

/** The Defender's answer about deletions in one cluster. */
export type PruneAnswer =
  | { readonly kind: 'Granted'; readonly permit: OperationPermit; readonly clearance: Clearance }
  | { readonly kind: 'Waiting'; readonly permit?: string; readonly seen: string; readonly unblock: string }

export interface PrunePermits {
  ask(held: HeldPrune): Promise<PruneAnswer>
  report(permit: OperationPermit, isDone: boolean): Promise<void>
}

export interface Delivered {
  readonly plan: ClusterPlan
  readonly result: ClusterResult
  readonly before: Observed
  /** The same as `before` if nothing changed. */
  readonly after: Observed
  readonly baseline: Baseline | undefined
  readonly answer: PruneAnswer | undefined
}

/**
 * `baselineOf` is called right before anything is applied. One write puts its result into the Inventory together with the objects that are about to
 * be applied.
 */
export async function deliver(
  connection: ClusterConnection,
  order: DeliveryOrder,
  baselineOf: (seen: Observed) => Promise<Baseline | undefined> = async () => undefined,
): Promise<Delivered> {
  const { target, owner, mark, declaredIn, elsewhere, approved, permits, restoresOnly, atOnce, signal } = order
  const config = restoresOnly !== undefined ? { ...order.config, replaces: [] } : order.config
  const rejected = restoresOnly !== undefined ? [] : target.rejected
  const skips = restoresOnly !== undefined ? () => true : order.skips
  let desired = target.objects
  const read = (): Promise<Observed> =>
    observeCluster(connection, {
      owner,
      desired,
      rejected,
      replaces: config.replaces ?? [],
      elsewhere,
      now: Date.parse(mark.appliedAt),
      ...defined({ declaredIn, skips, signal }),
    })
  const before = await read()
  if (restoresOnly !== undefined) desired = asRecorded(desired, before.inventory)
  if (typeof restoresOnly === 'object')
    desired = desired.filter(({ ref }) => !isMoved(refText(ref), before, restoresOnly))
  const planWith = (permitted: ReadonlySet<string>): ClusterPlan =>
    planCluster(
      {
        ...before,
        desired,
        rejected,
        elsewhere,
        approved,
        ...defined({ skips }),
        ...(permits !== undefined && { permitted }),
      },
      { ...config, source: owner.source, target: owner.target },
    )
  const first = planWith(new Set())
  const baseline = await baselineOf(before)
  // The permit is read last: the deletions follow at once.
  const answer = first.blocked?.isApproved === true ? await permits?.ask(first.blocked) : undefined
  const plan = answer?.kind === 'Granted' ? planWith(new Set([first.blocked?.digest ?? ''])) : first
  const result = await actOnCluster(plan, {
    connection,
    owner,
    mark: { ...mark, baseline },
    seen: before,
    correct: config.drift === 'Correct',
    ...defined({ atOnce, signal }),
  })
  if (answer?.kind === 'Granted') await permits?.report(answer.permit, areAllAccepted(plan, result))
  const after = result.applied + result.pruned > 0 ? await read() : before
  return { plan, result, before, after, baseline, answer }
}

function asRecorded(desired: readonly DesiredObject[], inventory: readonly InventoryRef[]): readonly DesiredObject[] {
  const recorded = new Map(inventory.map((ref) => [refText(ref), ref.digest]))
  return desired.filter(({ ref, digest }) => recorded.get(refText(ref)) === shortDigest(digest))
}

function isMoved(ref: string, { otherTracks, live }: Observed, later: ReadonlySet<string>): boolean {
  const there = live.get(ref)
  return otherTracks.has(ref) || (typeof there === 'object' && later.has(there.commit ?? ''))
}

/** Whether the server accepted all deletions. */
function areAllAccepted({ operations }: ClusterPlan, { failures }: ClusterResult): boolean {
  const asked = new Set(operations.filter(isDelete).map(({ ref }) => refText(ref)))
  return !failures.some(({ ref }) => asked.has(refText(ref)))
}

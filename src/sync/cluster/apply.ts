// Applies the rendered objects of one track to a cluster, and reports the state of the cluster. The first pass is like any other.
import type { Baseline } from '#api/kinds/inventory.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { defined } from '#lib/defined.ts'
import { printableLine } from '#lib/printable.ts'
import { refText, type ObjectRef } from '#delivery/object-ref.ts'
import { nextBaseline, type Content } from '../release/baseline.ts'
import type { ClusterLook } from '../release/cluster-phase.ts'
import type { ClusterHistory } from '../release/history.ts'
import { placedText, type RenderedTarget } from '#delivery/desired.ts'
import { actOnCluster, type ClusterResult } from '#delivery/act.ts'
import type { ClusterConnection } from '#delivery/connection.ts'
import { ABSENT, failuresOf, machinesOf, type FailingObject, type Failure } from '#delivery/failures.ts'
import { healthOf, type Health } from '#delivery/health.ts'
import { baselineIn, type InventoryMark } from '#delivery/inventory.ts'
import { withoutUnlisted } from './listed.ts'
import { observeCluster, type Observed } from '#delivery/observe.ts'
import {
  planCluster,
  shortDigest,
  type ClusterConfig,
  type ClusterPlan,
  type HeldPrune,
  type Skip,
} from '#delivery/plan.ts'
import { type DeclaredIn, type InventoryOwner, isOwn, isUndivided } from '#delivery/targets.ts'
import { failingMachines, readingsOf } from './readings.ts'
import { switchesOf } from './switches.ts'
import { unreachable } from './unreachable.ts'

export interface ApplyOrder {
  readonly target: RenderedTarget
  readonly owner: InventoryOwner
  readonly mark: InventoryMark
  readonly config: Omit<ClusterConfig, 'source' | 'target'>
  /** What the commit declares for the other targets of the source. */
  readonly declaredIn?: DeclaredIn
  readonly elsewhere: ReadonlySet<string>
  readonly approved: ReadonlySet<string>
  /** Absent where no Defender counts the target: an approval alone decides. */
  readonly permits?: PrunePermits
  readonly needs: { readonly machines: boolean; readonly repairs: boolean }
  /** The hub's knowledge of previous changes; absent where nothing is judged. */
  readonly history?: ReleaseHistory
  /** Writes in flight; absent: as many as one cluster uses well. */
  readonly atOnce?: number
  readonly signal?: AbortSignal
}

/** The Defender's answer about the deletions of one cluster. */
export type PruneAnswer =
  | { readonly kind: 'Granted'; readonly permit: OperationPermit }
  | { readonly kind: 'Waiting'; readonly permit?: string; readonly seen: string; readonly unblock: string }

export interface PrunePermits {
  ask(held: HeldPrune): Promise<PruneAnswer>
  report(permit: OperationPermit, isDone: boolean): Promise<void>
}

interface ReleaseHistory extends ClusterHistory {
  readonly release: string
}

export interface ApplyReport {
  readonly look: ClusterLook
  readonly plan?: ClusterPlan
  readonly result?: ClusterResult
}

export async function applyToCluster(connection: ClusterConnection, order: ApplyOrder): Promise<ApplyReport> {
  try {
    return await apply(connection, order)
  } catch (error) {
    const why = unreachable(error)
    if (why.because === 'ReconcileFailed') throw error
    return { look: { kind: 'Unreachable', ...why } }
  }
}

async function apply(connection: ClusterConnection, order: ApplyOrder): Promise<ApplyReport> {
  const { owner, config, mark, declaredIn, elsewhere, approved, needs, signal } = order
  const target = await withoutUnlisted(connection.client, order.target, signal)
  const { replaces = [] } = config
  const now = Date.parse(mark.appliedAt)
  const asked = {
    owner,
    desired: target.objects,
    rejected: target.rejected,
    ...defined({ declaredIn }),
    replaces,
    elsewhere,
    now,
    ...defined({ signal }),
  }
  const read = () => observeCluster(connection, asked)
  let seen = await read()
  const planWith = (permitted: ReadonlySet<string>) =>
    planCluster(
      {
        ...target,
        desired: target.objects,
        ...seen,
        elsewhere,
        approved,
        ...(order.permits !== undefined && { permitted }),
      },
      { ...config, source: owner.source, target: owner.target },
    )
  const first = planWith(new Set())
  const answer = first.blocked?.isApproved === true ? await order.permits?.ask(first.blocked) : undefined
  const plan = answer?.kind === 'Granted' ? planWith(new Set([first.blocked?.digest ?? ''])) : first
  const { inventory, shards, takeOver } = seen
  const baseline = await baselineFor(connection, { ...order, target }, seen)
  const context = {
    connection,
    owner,
    mark: { ...mark, baseline },
    shards,
    inventory,
    objects: seen.objects,
    takeOver,
    correct: config.drift === 'Correct',
    ...defined({ atOnce: order.atOnce, signal }),
  }
  const result = await actOnCluster(plan, context)
  if (answer?.kind === 'Granted') await order.permits?.report(answer.permit, isPruned(plan, result))
  if (result.applied + result.pruned > 0) seen = await read()
  const declared = new Map(target.objects.map((o) => [refText(o.ref), o]))
  const nameOf = (ref: ObjectRef): string => placedText(declared.get(refText(ref)) ?? { ref })
  const failures = [
    ...plan.skips.filter(isDeclaredTwice).map((s) => `${nameOf(s.ref)}: ${s.detail ?? ''}`),
    ...result.failures.map((f) => `${nameOf(f.ref)}: ${f.message}`),
    ...target.rejected.map((r) => `${placedText(r)}: ${r.problem}`),
  ].map(printableLine)
  const isLost = result.failures.some((f) => f.kind === 'Unreachable')
  const failing = failingIn(target, seen, contentOf(target, inventory))
  const readings = await readingsOf(connection, needs, signal)
  const prune = plan.blocked && { ...plan.blocked, ...(answer?.kind === 'Waiting' && { waits: answer }) }
  const machines = readings.machines?.total ?? machinesOf(seen.objects.values())
  const isApplied = failures.length === 0
  const switches = switchesOf(target.objects.flatMap(({ ref }) => seen.objects.get(refText(ref)) ?? []))
  const found = { isApplied, failures, failing, machines, baseline, readings, prune, switches }
  const answered: ClusterLook = { kind: 'Seen', ...found }
  const lost = { kind: 'Unreachable', because: 'ApiServerDown', message: failures[0] ?? 'no response' } as const
  return { look: isLost ? lost : answered, plan, result }
}

/** Whether all deletions were accepted. */
const isPruned = (plan: ClusterPlan, { failures }: ClusterResult): boolean => {
  const asked = new Set(plan.actions.flatMap((a) => (a.kind === 'Prune' ? [refText(a.ref)] : [])))
  return !failures.some((f) => asked.has(refText(f.ref)))
}

/** Declared here, and owned by another source. An object that is only listed here is silently left to the other. */
const isDeclaredTwice = ({ reason, isDeclared }: Skip): boolean => reason === 'OtherSource' && isDeclared === true

/** Taken once for each Release, before anything of it is applied here. */
async function baselineFor(
  connection: ClusterConnection,
  { target, owner, mark, needs, history, signal }: ApplyOrder,
  seen: Observed,
): Promise<Baseline | undefined> {
  if (history === undefined) return undefined
  const known = baselineIn(seen.shards, owner)
  if (known?.release === history.release) return known
  const before: Content = new Map(seen.inventory.map((r) => [refText(r), r.digest]))
  const objects = failingIn(target, seen, before).filter((f) => f.reason !== ABSENT)
  const machines = needs.machines ? await failingMachines(connection, signal) : []
  const isMarked = seen.shards.some(
    ({ spec }) => (isOwn(owner, spec) || isUndivided(owner, spec)) && spec.release === history.release,
  )
  return nextBaseline({
    release: history.release,
    hasPassed: history.hasPassed(known?.release),
    isFirst: history.isFirst,
    isReturn: history.isReturn,
    hasBegun: history.wasTaken || isMarked,
    now: Date.parse(mark.appliedAt),
    known,
    failing: [...objects, ...machines],
    before,
    after: contentOf(target, seen.inventory),
  })
}

/** Rejected objects keep their state. */
function contentOf({ objects, rejected }: RenderedTarget, inventory: Observed['inventory']): Content {
  const refused = new Set(rejected.map(({ ref }) => refText(ref)))
  const kept = inventory.filter((r) => refused.has(refText(r))).map((r) => [refText(r), r.digest] as const)
  return new Map([...kept, ...objects.map(({ ref, digest }) => [refText(ref), shortDigest(digest)] as const)])
}

/** The message is written by the writer of the object's status. */
const shownHealth = (health: Health): Health => ({ ...health, message: printableLine(health.message) })

function failingIn({ objects }: RenderedTarget, { objects: live }: Observed, content: Content): readonly Failure[] {
  return failuresOf(
    objects.map(({ ref }): FailingObject => {
      const name = refText(ref)
      const object = live.get(name)
      const health = object === undefined ? undefined : shownHealth(healthOf(object))
      return {
        name,
        object,
        health: health ?? { state: 'InProgress', message: 'not found' },
        digest: content.get(name),
      }
    }),
  )
}

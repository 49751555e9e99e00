// Applies the rendered objects of one track to a cluster, and reports the cluster's state. The first pass works like any other.
import type { Baseline } from '#api/kinds/inventory.ts'
import { printableLine } from '#lib/printable.ts'
import type { ClusterResult } from '#delivery/act.ts'
import type { ClusterConnection } from '#delivery/connection.ts'
import { deliver, type DeliveryOrder } from '#delivery/deliver.ts'
import { placedText, type RenderedTarget, shortDigest } from '#delivery/desired.ts'
import { ABSENT, failuresOf, machinesOf, type FailingObject, type Failure } from '#delivery/failures.ts'
import { healthOf, type Health } from '#delivery/health.ts'
import { baselineIn } from '#delivery/inventory.ts'
import { refText, type ObjectRef } from '#delivery/object-ref.ts'
import type { Observed } from '#delivery/observe.ts'
import type { ClusterPlan } from '#delivery/plan.ts'
import { isOwn, isUndivided } from '#delivery/targets.ts'
import { nextBaseline, type Content } from '../release/baseline.ts'
import type { ClusterAnswer } from '../release/cluster-seen.ts'
import type { ClusterHistory } from '../release/history.ts'
import { withoutUnlisted } from './listed.ts'
import { failingMachines, readingsOf } from './readings.ts'
import { switchesOf } from './switches.ts'
import { unreachable } from './unreachable.ts'

export interface ApplyOrder extends DeliveryOrder {
  readonly needs: { readonly machines: boolean; readonly repairs: boolean }
  /** What the hub knows about previous changes; absent where nothing is judged. */
  readonly history?: ReleaseHistory
}

interface ReleaseHistory extends ClusterHistory {
  readonly release: string
}

export interface ApplyReport {
  readonly answer: ClusterAnswer
  readonly plan?: ClusterPlan
  readonly result?: ClusterResult
}

export async function applyToCluster(connection: ClusterConnection, order: ApplyOrder): Promise<ApplyReport> {
  try {
    return await apply(connection, order)
  } catch (error) {
    const why = unreachable(error)
    if (why.because === 'ReconcileFailed') throw error
    return { answer: { kind: 'Unreachable', ...why } }
  }
}

async function apply(connection: ClusterConnection, order: ApplyOrder): Promise<ApplyReport> {
  const { needs, history: _history, ...asked } = order
  const target = await withoutUnlisted(connection.client, order.target, order.signal)
  const { plan, result, before, after, baseline, answer } = await deliver(connection, { ...asked, target }, (seen) =>
    baselineFor(connection, { ...order, target }, seen),
  )
  const declared = new Map(target.objects.map((o) => [refText(o.ref), o]))
  const nameOf = (ref: ObjectRef): string => placedText(declared.get(refText(ref)) ?? { ref })
  const failures = [
    ...plan.operations.flatMap((o) => (o.kind === 'Conflict' ? [`${nameOf(o.ref)}: ${o.detail}`] : [])),
    ...result.failures.map((f) => `${nameOf(f.ref)}: ${f.message}`),
    ...target.rejected.map((r) => `${placedText(r)}: ${r.problem}`),
  ].map(printableLine)
  const isLost = result.failures.some((f) => f.kind === 'Unreachable')
  const failing = failingIn(target, after, contentOf(target, before.inventory))
  const readings = await readingsOf(connection, needs, order.signal)
  const prune = plan.blocked && { ...plan.blocked, ...(answer?.kind === 'Waiting' && { waits: answer }) }
  const machines = readings.machines?.total ?? machinesOf(after.objects.values())
  const isApplied = failures.length === 0
  const switches = switchesOf(target.objects.flatMap(({ ref }) => after.objects.get(refText(ref)) ?? []))
  const found = { isApplied, failures, failing, machines, baseline, readings, prune, switches }
  const answered: ClusterAnswer = { kind: 'Seen', ...found }
  const lost = { kind: 'Unreachable', because: 'ApiServerDown', message: failures[0] ?? 'no response' } as const
  return { answer: isLost ? lost : answered, plan, result }
}

/** Taken once per Release, before any of its objects are applied here. */
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

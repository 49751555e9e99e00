// One look at a cluster for one track: makes it as rendered, and says how it is. The same whether it is the first time or the hundredth.
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machine, type Machine } from '#api/kinds/machine.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { messageOf } from '#lib/errors.ts'
import { refText } from '../object-ref.ts'
import type { ClusterLook } from '../release/cluster-phase.ts'
import type { ClusterReadings } from '../release/gates.ts'
import type { RenderedTarget } from '../render/rendered.ts'
import { actOnCluster, type ClusterResult } from './act.ts'
import { listAll, type ClusterConnection } from './connection.ts'
import { healthOf, worstHealth } from './health.ts'
import type { InventoryMark, InventoryOwner } from './inventory.ts'
import { observeCluster, type Observed } from './observe.ts'
import { planCluster, type ClusterConfig, type ClusterPlan } from './plan.ts'
import { unreachableReason } from './unreachable.ts'

export interface LookOrder {
  readonly target: RenderedTarget
  readonly owner: InventoryOwner
  readonly mark: InventoryMark
  readonly config: ClusterConfig
  readonly elsewhere: ReadonlySet<string>
  readonly approved: ReadonlySet<string>
  readonly needs: { readonly machines: boolean; readonly repairs: boolean }
  readonly signal?: AbortSignal
}

export interface LookReport {
  readonly look: ClusterLook
  readonly plan?: ClusterPlan
  readonly result?: ClusterResult
}

export async function lookAtCluster(connection: ClusterConnection, order: LookOrder): Promise<LookReport> {
  try {
    return await look(connection, order)
  } catch (error) {
    const because = unreachableReason(error)
    if (because === 'ReconcileFailed') throw error
    return { look: { kind: 'Unreachable', because, message: messageOf(error) } }
  }
}

async function look(connection: ClusterConnection, order: LookOrder): Promise<LookReport> {
  const { target, owner, config, mark, elsewhere, approved, needs, signal } = order
  const read = () => observeCluster(connection, owner, target.objects, Date.parse(mark.appliedAt), signal)
  let seen = await read()
  const plan = planCluster({ ...target, desired: target.objects, ...seen, elsewhere, approved }, config)
  const { inventory, shards } = seen
  const context = {
    connection,
    owner,
    mark,
    shards,
    inventory,
    correct: config.drift === 'Correct',
    ...(signal && { signal }),
  }
  const result = await actOnCluster(plan, context)
  if (result.applied + result.pruned > 0) seen = await read()
  const failures = [
    ...result.failures.map((f) => `${refText(f.ref)}: ${f.message}`),
    ...target.rejected.map((r) => `${refText(r.ref)}: ${r.problem}`),
  ]
  const isLost = result.failures.some((f) => f.kind === 'Unreachable')
  const health = worstHealth(healthOfAll(target, seen))
  const readings = await readingsOf(connection, needs, signal)
  const prune = plan.blocked
  const answered: ClusterLook = { kind: 'Seen', isApplied: failures.length === 0, failures, health, readings, prune }
  const lost = { kind: 'Unreachable', because: 'ApiServerDown', message: failures[0] ?? 'no answer' } as const
  return { look: isLost ? lost : answered, plan, result }
}

const healthOfAll = ({ objects }: RenderedTarget, { objects: live }: Observed) =>
  objects.map(({ ref }) => {
    const object = live.get(refText(ref))
    const health =
      object === undefined ? { state: 'InProgress' as const, message: 'it is not there' } : healthOf(object)
    return { ...health, name: refText(ref) }
  })

async function readingsOf(
  { client }: ClusterConnection,
  needs: LookOrder['needs'],
  signal: AbortSignal | undefined,
): Promise<ClusterReadings> {
  const call = signal === undefined ? {} : { signal }
  const machines = needs.machines ? await listAll(client, machine, call).catch(() => undefined) : undefined
  const sets = needs.machines ? await listAll(client, machineComponentSet, call).catch(() => []) : []
  const jobs = needs.repairs ? await listAll(client, remedyOperationJob, call).catch(() => undefined) : undefined
  const begun = (jobs ?? []).map((j) => Date.parse(j.metadata.creationTimestamp ?? '')).filter((t) => !Number.isNaN(t))
  return {
    ...(machines === undefined
      ? {}
      : {
          machines: {
            total: machines.length,
            ready: machines.filter(isReady).length,
            consistent: machines.filter(isConsistent).length,
            skipped: Math.max(0, ...sets.map((s) => s.status?.counts?.skipped ?? 0)),
          },
        }),
    ...(begun.length === 0 ? {} : { lastRepairAt: Math.max(...begun) }),
    repairsKnown: jobs !== undefined,
  }
}

const isReady = ({ status }: Machine): boolean =>
  status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') === true || status?.phase === 'Ready'

/** The agent reports every desired component at its version and healthy. */
function isConsistent({ spec, status }: Machine): boolean {
  const reported = new Map((status?.components ?? []).map((c) => [c.name, c]))
  return (spec.components ?? []).every(({ name, version }) => {
    const found = reported.get(name)
    return found?.version === version && found.state === 'Healthy'
  })
}

// What a commit does to one cluster's machines: how many, in which steps, how long it takes, what blocks it, and how long the way back takes.
import type { Risk } from '#defender/risk.ts'
import { machineUnit } from '#defender/unit.ts'
import { hardwareClass } from '#nodes/placement/hardware-class.ts'
import { matchesSelector } from '#kube/selector.ts'
import { readSelector } from '#nodes/placement/selecting.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type NeededApproval, permitApprovals } from './approvals.ts'
import { type Booked, bookedBetween } from './booked.ts'
import { durationsOf } from '#explain/durations.ts'
import { type Brake, type Forecast, type ForecastSlice, forecast } from './forecast.ts'
import type { FullBudget, Inventory } from './inventory.ts'
import { type Expected, expectedObjects } from './objects.ts'
import type { WorldObjects } from './simulation/world.ts'
import { rebootCount } from './reboots.ts'
import { type KernelChange, kernelChanges } from './kernel-changes.ts'
import { type TemplateChange, templateChanges } from './template-changes.ts'
import { defined } from '#lib/defined.ts'

export interface ClusterPrediction {
  readonly cluster: string
  readonly takenAt: string
  /** Of the machines that the changed sets select. */
  readonly of: number
  readonly machines: readonly string[]
  readonly slices: readonly ForecastSlice[]
  readonly drains: number
  readonly reboots: number
  /** In milliseconds: 50 % and 90 % of such rollouts finish within this time. */
  readonly p50: number
  readonly p90: number
  readonly mostUnavailable: number
  readonly brakes: readonly Brake[]
  readonly risk: Risk | undefined
  readonly approvals: readonly NeededApproval[]
  readonly fullBudgets: readonly FullBudget[]
  /** Hardware class → the first machine that gets it here. */
  readonly classes: ReadonlyMap<string, { readonly machine: string; readonly count: number; readonly step: number }>
  readonly skipped: Forecast['skipped']
  readonly stuck: Forecast['stuck']
  /** Components without recorded durations. */
  readonly untimed: readonly string[]
  readonly assumed: readonly string[]
  /** Milliseconds; undefined if the simulation does not finish. */
  readonly wayBack: number | undefined
  /** Machines that are unavailable anyway during the rollout and use up budget. */
  readonly booked: readonly Booked[]
  /** Pools whose labels, annotations or taints reach machines that exist. */
  readonly templates?: readonly TemplateChange[]
  /** Machines that boot another kernel. */
  readonly kernels?: readonly KernelChange[]
  /** Sets that are already rolling out. */
  readonly underWay: readonly string[]
}

export interface PredictRequest {
  readonly inventory: Inventory
  readonly before: readonly KubeObject[]
  readonly after: readonly KubeObject[]
  /** The planned commit, as named in permits. */
  readonly commit?: string
  readonly pause?: () => Promise<void>
}

export async function predict(request: PredictRequest): Promise<ClusterPrediction> {
  const { inventory, before, after, pause } = request
  const expected = expectedObjects(inventory, before, after)
  const { objects, changedSets, assumed } = expected
  const takenAt = Date.parse(inventory.takenAt)
  const sets = new Set(changedSets)
  const run = (of: WorldObjects, share: number, now = takenAt) => {
    const durationOf = durationsOf(inventory.sets, share)
    return forecast({
      objects: of,
      now,
      switchMs: (set, component) => durationOf(set, component).ms,
      sets,
      ...defined({ pause }),
    })
  }
  const likely = await run(objects, 0.5)
  const slow = likely.slices.length === 0 ? likely : await run(objects, 0.9)
  const back =
    likely.slices.length === 0 || likely.stuck.length > 0
      ? undefined
      : await run(goingBack(inventory, likely, { before, after }), 0.5, likely.endedAt)
  const machines = [...new Set(likely.slices.flatMap((s) => s.machines))].toSorted()
  const durationOf = durationsOf(inventory.sets, 0.5)
  const wanted = objects.sets.filter((s) => sets.has(s.metadata.name ?? ''))
  return {
    cluster: inventory.cluster,
    takenAt: inventory.takenAt,
    of: inventory.machines.filter((m) => wanted.some((s) => isSelected(s, m))).length,
    machines,
    slices: likely.slices,
    drains: machinesOf(likely, (s) => s.drains),
    reboots: rebootCount(likely.slices),
    p50: likely.ms,
    p90: Math.max(likely.ms, slow.ms),
    mostUnavailable: likely.mostUnavailable,
    brakes: likely.brakes,
    risk: likely.risk,
    approvals: approvalsFor(expected, likely, request),
    fullBudgets: likely.slices.some((s) => s.drains)
      ? inventory.fullBudgets.filter((b) => b.nodes.some((n) => nodesOf(objects, machines).has(n)))
      : [],
    classes: classesOf(objects, likely.slices),
    skipped: likely.skipped,
    stuck: likely.stuck,
    untimed: [
      ...new Set(likely.slices.filter((s) => durationOf(s.set, s.component).isAssumed).map((s) => s.component)),
    ],
    assumed,
    wayBack: back === undefined || back.stuck.length > 0 ? undefined : back.ms,
    booked:
      likely.slices.length === 0
        ? []
        : bookedBetween(inventory.maintenance ?? [], takenAt, takenAt + Math.max(likely.ms, slow.ms)),
    kernels: kernelChanges(objects, likely.slices),
    templates: templateChanges(objects, inventory.machineSets),
    underWay: inventory.sets.flatMap(({ metadata: { name = '' }, status }) =>
      status?.phase === 'Progressing' && (status.slices ?? []).length > 0 ? [name] : [],
    ),
  }
}

const isSelected = (set: WorldObjects['sets'][number], machine: Inventory['machines'][number]): boolean => {
  const read = readSelector(set.spec.selector)
  return read.kind === 'Selector' && matchesSelector(read.selector, machine.metadata.labels)
}

const machinesOf = ({ slices }: Forecast, is: (slice: ForecastSlice) => boolean): number =>
  new Set(slices.filter(is).flatMap((s) => s.machines)).size

/** From the end of the rollout back to what the previous commit declares. */
function goingBack(
  inventory: Inventory,
  { end }: Forecast,
  { before, after }: Pick<PredictRequest, 'before' | 'after'>,
): WorldObjects {
  const { machines, sets, revisions } = end
  const from: Inventory = { ...inventory, machines, sets, revisions, permits: [] }
  return { ...expectedObjects(from, after, before).objects, ledger: end.ledger }
}

function approvalsFor(
  { policies, objects }: Expected,
  { permits, end }: Forecast,
  { inventory, commit }: PredictRequest,
): readonly NeededApproval[] {
  const uids = new Set(objects.sets.map((s) => s.metadata.uid))
  const nodes = new Map(objects.nodes.map((n) => [n.metadata.name ?? '', n]))
  const machines = new Map(end.machines.map((m) => [m.metadata.uid ?? '', m]))
  return permitApprovals({
    permits: permits
      .filter((p) => uids.has(p.spec.requester.uid))
      .map((p) => (p.spec.commit === undefined && commit ? { ...p, spec: { ...p.spec, commit } } : p)),
    policies,
    approvals: inventory.approvals,
    unitOf: (uid) => {
      const machine = machines.get(uid)
      return machine && machineUnit(machine, nodes.get(machine.status?.nodeRef?.name ?? ''))
    },
    now: Date.parse(inventory.takenAt),
  })
}

const nodesOf = ({ machines }: WorldObjects, names: readonly string[]): ReadonlySet<string> => {
  const wanted = new Set(names)
  return new Set(
    machines
      .filter((m) => wanted.has(m.metadata.name ?? ''))
      .map((m) => m.status?.nodeRef?.name ?? m.metadata.name ?? ''),
  )
}

function classesOf({ machines, nodes }: WorldObjects, slices: readonly ForecastSlice[]): ClusterPrediction['classes'] {
  const nodeOf = new Map(nodes.map((n) => [n.metadata.name ?? '', n]))
  const byName = new Map(machines.map((m) => [m.metadata.name ?? '', m]))
  const found = new Map<string, { machine: string; count: number; step: number }>()
  const seen = new Set<string>()
  for (const slice of slices.toSorted((a, b) => a.asked - b.asked))
    for (const name of slice.machines) {
      const machine = byName.get(name)
      if (machine === undefined || seen.has(name)) continue
      seen.add(name)
      const kind = hardwareClass(machine, nodeOf.get(machine.status?.nodeRef?.name ?? ''))
      const known = found.get(kind)
      if (known === undefined) found.set(kind, { machine: name, count: 1, step: slice.step })
      else known.count++
    }
  return found
}

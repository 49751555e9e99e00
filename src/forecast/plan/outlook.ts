// A commit's effect on machines across all predicted clusters, in stage order. Pure.
import { HOLD_REASONS } from '#permits/holds/names.ts'
import { parseDuration } from '#lib/duration.ts'
import { isAtLeast, type Risk } from '#defender/risk.ts'
import type { Accuracy } from '../accuracy/accuracy.ts'
import type { NeededApproval } from '../approvals.ts'
import type { Inventory } from '../inventory.ts'
import type { ClusterPrediction } from '../predict.ts'
import type { ReleaseWait } from '../release-waits.ts'
import { type BindingHub, isInStage } from '../stage-members.ts'
import type { HubTurn } from './hub-turn.ts'
import { MINUTE, minutesText } from './minutes.ts'

interface StagedPrediction {
  readonly stage: string
  readonly prediction: ClusterPrediction
}

/** What a hold stops completely: the source, and sets held beyond the prediction, whose machines are in none of the plan's numbers. */
export const heldTexts = (outlook: Outlook): readonly string[] => [
  ...sourceHeldTexts(outlook),
  ...heldSets(outlook).map(
    ({ cluster, set, wait }) => `${cluster}: set ${set} waits for ${wait.seen}; it continues when ${wait.unblock}`,
  ),
]

export const sourceHeldTexts = ({ waits = [] }: Outlook): readonly string[] =>
  waits.filter(({ is }) => is !== 'Window').map(({ what }) => what)

const heldSets = ({ clusters }: Outlook) =>
  clusters.flatMap(({ prediction: { cluster, stuck } }) =>
    stuck.filter(({ wait }) => HOLD_REASONS.has(wait.predicate)).map(({ set, wait }) => ({ cluster, set, wait })),
  )

/** Appended to "no machine is touched" if the cause is a hold on a set, not on the source, or if templates of pools reach machines. */
export const whileHeld = (outlook: Outlook): string => {
  if (heldSets(outlook).length > 0) return ' while a hold lasts'
  return outlook.clusters.some(({ prediction: { templates = [] } }) => templates.length > 0)
    ? ' by a rollout of components'
    : ''
}

/** Holds that end within the prediction; its times include the wait. */
export const delayTexts = ({ clusters }: Outlook): readonly string[] =>
  clusters.flatMap(({ prediction: { cluster, brakes } }) =>
    brakes
      .filter((b) => b.isHold === true && b.ms >= MINUTE)
      .map(({ what, ms }) => `${cluster}: ${what} delays it by ${minutesText(ms)}, which the times include`),
  )

/** Stages that only start within their windows. */
export const windowTexts = ({ waits = [] }: Outlook): readonly string[] =>
  waits.filter(({ is }) => is === 'Window').map(({ what }) => what)

interface UncoveredClass {
  readonly class: string
  readonly cluster: string
  readonly machines: number
  readonly first: string
}

export interface Outlook {
  readonly clusters: readonly StagedPrediction[]
  /** Changed clusters without an inventory. */
  readonly unknown: readonly string[]
  readonly machines: number
  readonly batches: number
  readonly drains: number
  readonly reboots: number
  /** In milliseconds, including the soak between stages. */
  readonly p50: number
  readonly p90: number
  readonly mostUnavailable: number
  readonly risk: Risk | undefined
  readonly approvals: readonly NeededApproval[]
  readonly uncovered: readonly UncoveredClass[]
  readonly wayBack: number | undefined
  /** How much of p50 and p90 is soak between stages, in milliseconds. */
  readonly soak: number
  readonly stale?: readonly StaleInventory[]
  /** What the hub itself gets. */
  readonly hub?: HubTurn
  /** What the release waits for regardless of its machines. */
  readonly waits?: readonly ReleaseWait[]
  /** How well the recorded predictions of earlier rollouts held. */
  readonly earlier?: Accuracy
}

export interface StaleInventory {
  readonly cluster: string
  readonly takenAt: string
  /** Whole days; undefined if it is dated in the future. */
  readonly days: number | undefined
}

const DAY_MS = 86_400_000
/** Clocks of two computers differ by less. */
const CLOCKS_MS = 3_600_000

/** Readers trust a plan's numbers, so old inventories are listed. */
export function staleInventories(
  all: readonly Pick<Inventory, 'cluster' | 'takenAt'>[],
  now: number,
): readonly StaleInventory[] {
  return all.flatMap(({ cluster, takenAt }): StaleInventory[] => {
    const age = now - Date.parse(takenAt)
    if (age >= -CLOCKS_MS && age < DAY_MS) return []
    return [{ cluster, takenAt, days: age < 0 ? undefined : Math.floor(age / DAY_MS) }]
  })
}

interface StageOf {
  readonly name: string
  readonly index: number
  readonly soakMs: number
}

/** Of a cluster that no pipeline names, such as the hub as its own member. */
export const NO_STAGE: StageOf = { name: '-', index: Number.MAX_SAFE_INTEGER, soakMs: 0 }

/** The stage of each cluster in its pipeline. */
function stagesIn({ pipelines, clusters }: BindingHub): ReadonlyMap<string, StageOf> {
  const found = new Map<string, StageOf>()
  for (const pipeline of pipelines)
    for (const [index, stage] of pipeline.spec.stages.entries()) {
      const members =
        stage.clusters.names ?? clusters.filter((c) => isInStage(stage, c)).map((c) => c.metadata.name ?? '')
      const soakMs = parseDuration(stage.minSuccessTime ?? DEFAULT_SOAK)
      for (const name of members) if (!found.has(name)) found.set(name, { name: stage.name, index, soakMs })
    }
  return found
}

/** The kind's default. */
const DEFAULT_SOAK = '15m'

export function outlookOf(
  predictions: readonly ClusterPrediction[],
  hub: BindingHub,
  changed: readonly string[],
  ofRelease: readonly NeededApproval[] = [],
): Outlook {
  const stages = stagesIn(hub)
  const stageOf = (cluster: string) => stages.get(cluster) ?? NO_STAGE
  const inOrder = predictions.toSorted(
    (a, b) => stageOf(a.cluster).index - stageOf(b.cluster).index || (a.cluster < b.cluster ? -1 : 1),
  )
  const sum = (of: (p: ClusterPrediction) => number) => inOrder.reduce((n, p) => n + of(p), 0)
  const indexes = [...new Set(inOrder.map((p) => stageOf(p.cluster).index))]
  // A stage's clusters go one after the other unless the pipeline allows more; the longer estimate is the safer one.
  const soaks = inOrder
    .filter((p) => indexes.indexOf(stageOf(p.cluster).index) < indexes.length - 1)
    .reduce((all, p) => all.set(stageOf(p.cluster).index, stageOf(p.cluster).soakMs), new Map<number, number>())
  const soak = [...soaks.values()].reduce((n, ms) => n + ms, 0)
  const known = new Set(inOrder.map((p) => p.cluster))
  const risks = inOrder.flatMap((p) => p.risk ?? [])
  const backs = inOrder.filter((p) => p.machines.length > 0).map((p) => p.wayBack)
  return {
    clusters: inOrder.map((prediction) => ({ stage: stageOf(prediction.cluster).name, prediction })),
    unknown: changed.filter((c) => c !== 'hub' && !known.has(c)),
    machines: sum((p) => p.machines.length),
    batches: sum((p) => p.slices.length),
    drains: sum((p) => p.drains),
    reboots: sum((p) => p.reboots),
    soak,
    p50: sum((p) => p.p50) + soak,
    p90: sum((p) => p.p90) + soak,
    mostUnavailable: inOrder.reduce((most, p) => Math.max(most, p.mostUnavailable), 0),
    risk: risks.length === 0 ? undefined : risks.reduce((worst, r) => (isAtLeast(r, worst) ? r : worst)),
    approvals: summedApprovals([...ofRelease, ...inOrder.flatMap((p) => p.approvals)]),
    uncovered: uncoveredIn(inOrder, stageOf),
    wayBack: backs.includes(undefined) ? undefined : backs.reduce<number>((n, ms) => n + (ms ?? 0), 0),
  }
}

/** One entry per policy or gate, across all clusters. */
const summedApprovals = (all: readonly NeededApproval[]): readonly NeededApproval[] =>
  [...Map.groupBy(all, ({ asker, from, count }) => JSON.stringify([asker, from, count])).values()].flatMap((of) => {
    const [first] = of
    if (first === undefined) return []
    const sum = (number: (a: NeededApproval) => number) => of.reduce((n, a) => n + number(a), 0)
    return first.batches === undefined
      ? [{ ...first, missing: Math.max(...of.map((a) => a.missing)) }]
      : [{ ...first, batches: sum((a) => a.batches ?? 0), missing: sum((a) => a.missing) }]
  })

/** Hardware first met in a later stage: earlier stages prove nothing about it. */
function uncoveredIn(
  inOrder: readonly ClusterPrediction[],
  stageOf: (cluster: string) => StageOf,
): readonly UncoveredClass[] {
  const tried = new Map<string, number>()
  const first = inOrder[0] === undefined ? 0 : stageOf(inOrder[0].cluster).index
  const out: UncoveredClass[] = []
  for (const { cluster, classes } of inOrder)
    for (const [name, { machine, count }] of classes) {
      const { index } = stageOf(cluster)
      if (!tried.has(name) && index > first) out.push({ class: name, cluster, machines: count, first: machine })
      if (!tried.has(name)) tried.set(name, index)
    }
  return out
}

// Times and steps of a prediction as text, never more precise than the prediction.
import { counted } from '#lib/counted.ts'
import type { OneWay } from '../one-way.ts'
import type { ClusterPrediction } from '../predict.ts'
import type { Loosened } from '../loosened/loosened.ts'
import type { ClusterDifference } from '#sync/difference.ts'
import { clustersLost } from './losses.ts'
import { minutesText } from './minutes.ts'
import { type Outlook, whileHeld } from './outlook.ts'
import { someOf } from '#lib/some-of.ts'

function spanText(p50: number, p90: number): string {
  const [a, b] = [minutesText(p50), minutesText(p90)]
  return a === b ? a : `${a} to ${b}`
}

const ENDLESS = 'does not finish'

/** A permanently blocked rollout has no duration, only the prediction's end. */
export const clusterTimeText = ({ p50, p90, stuck }: Pick<ClusterPrediction, 'p50' | 'p90' | 'stuck'>): string =>
  stuck.length > 0 ? ENDLESS : spanText(p50, p90)

/** The soak between stages is in no cluster's row. */
export const timeText = ({ p50, p90, soak, clusters }: Pick<Outlook, 'p50' | 'p90' | 'soak' | 'clusters'>): string =>
  clusters.some((c) => c.prediction.stuck.length > 0)
    ? ENDLESS
    : `${spanText(p50, p90)}${soak === 0 ? '' : ` (${minutesText(soak)} of it soak between stages)`}`

/** Created and deleted machines, which are not component switches; empty if there are none. */
export function movedText(clusters: readonly ClusterDifference[]): string {
  const sum = (of: (d: ClusterDifference) => number) => clusters.reduce((n, d) => n + of(d), 0)
  const [deleted, created] = [sum((d) => d.machines.deleted), sum((d) => d.machines.created ?? 0)]
  return [
    ...(deleted === 0 ? [] : [`${counted(deleted, 'machine is', 'machines are')} deleted`]),
    ...(created === 0 ? [] : [`${counted(created, 'machine is', 'machines are')} created`]),
    ...(hasUncounted(clusters) ? ['an unknown number of machines may be deleted'] : []),
  ].join(', ')
}

const hasUncounted = (clusters: readonly ClusterDifference[]): boolean =>
  clusters.some((d) => d.machines.uncounted !== undefined)

const MOST_STEPS = 8

/** Machines per step of each component: `1·5·10`. */
export function stepsText({ slices }: ClusterPrediction): string {
  const parts = [...Map.groupBy(slices, (s) => `${s.set}\n${s.component}`).values()].map((of) => {
    const steps = [...Map.groupBy(of, (s) => s.step)].toSorted(([a], [b]) => a - b)
    const sizes = steps.map(([, all]) => all.reduce((n, s) => n + s.machines.length, 0))
    return `${sizes.slice(0, MOST_STEPS).join('·')}${sizes.length > MOST_STEPS ? '·…' : ''}`
  })
  return [...new Set(parts)].slice(0, 3).join(', ')
}

/** Clusters listed per line; the subject comes after them. */
const MOST_CLUSTERS = 8

/** Clusters with the same step share a line. */
export const oneWayLines = (all: readonly OneWay[], shown: (name: string) => string = (name) => name) =>
  [...Map.groupBy(all, (o) => o.what)].map(
    ([what, of]) =>
      `${someOf(
        of.map((o) => shown(o.cluster)),
        MOST_CLUSTERS,
      )}: ${shown(what)}`,
  )

/** One line, for a commit's status. */
export function summaryText(
  all: readonly ClusterDifference[],
  outlook: Outlook | undefined,
  loosened: readonly Loosened[] = [],
): string {
  const changed = all.filter((d) => d.changes.length > 0)
  if (changed.length === 0) return 'nothing changes'
  const deleted = changed.reduce((n, d) => n + d.machines.deleted, 0)
  const created = changed.reduce((n, d) => n + (d.machines.created ?? 0), 0)
  const planes = clustersLost(all)
  const left = all.filter((d) => d.isLeft === true).length
  const loss = [
    ...(planes === 0 ? [] : [`deletes ${counted(planes, 'cluster')}`]),
    ...(left === 0 ? [] : [`${counted(left, 'cluster leaves', 'clusters leave')} the fleet`]),
    ...(deleted === 0 ? [] : [`deletes ${counted(deleted, 'machine')}`]),
    ...(hasUncounted(changed) ? ['may delete machines, unknown how many'] : []),
    ...(created === 0 ? [] : [`creates ${counted(created, 'machine')}`]),
    ...(loosened.length === 0 ? [] : ['loosens gates or limits']),
  ]
  if (outlook === undefined) return [counted(changed.length, 'cluster'), ...loss, 'machines unknown'].join(' · ')
  const { machines, drains, p50, risk, approvals, unknown } = outlook
  const missing = approvals.reduce((n, a) => n + a.missing, 0)
  return [
    ...loss,
    machines === 0
      ? `no ${deleted + created === 0 && !hasUncounted(changed) ? '' : 'other '}machine is touched${whileHeld(outlook)}`
      : `${counted(machines, 'machine')} · ${counted(drains, 'drain')} · ~${minutesText(p50)}`,
    ...(risk === undefined ? [] : [risk.toLowerCase()]),
    ...(missing === 0 ? [] : [`${counted(missing, 'approval')} missing`]),
    ...(unknown.length === 0 ? [] : [`${counted(unknown.length, 'cluster')} unknown`]),
  ].join(' · ')
}

// Whether a rule may open one more repair: per node, per hour, per day, and at the same time.
import type { NodeRemedierSpec } from '#api/kinds/node-remedier.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { Reason } from '#api/catalogue.ts'
import { DAY_MS, HOUR_MS, countRepairs, isOpen, untilOneLeaves } from './history.ts'

export interface LimitHit {
  readonly reason: Extract<Reason, 'PerNodeLimit' | 'HourlyLimit' | 'DailyLimit' | 'InFlightLimit'>
  readonly message: string
  /** When it may let one through again by itself. */
  readonly afterMs: number | undefined
}

export interface LimitQuestion {
  readonly limits: NodeRemedierSpec['limits']
  /** All jobs of the rule of the same sort: repairs, or dry runs. */
  readonly ofRule: readonly RemedyOperationJob[]
  readonly nodeUid: string
  /** Nodes that the rule is asked about. */
  readonly nodes: number
  /** Jobs that the same plan makes already. */
  readonly planned: number
  readonly now: number
}

/** A percentage rounds down, but lets one through: a fleet of five could else never be repaired. */
export function inFlightLimit(max: NodeRemedierSpec['limits']['maxInFlight'], nodes: number): number {
  if (typeof max === 'number') return max
  const share = Number(/^(\d{1,3})%$/.exec(max)?.[1])
  return Number.isFinite(share) ? Math.max(1, Math.floor((share * nodes) / 100)) : 1
}

export function limitHit({ limits, ofRule, nodeUid, nodes, planned, now }: LimitQuestion): LimitHit | undefined {
  const { perNodePerDay, perHour, perDay, maxInFlight } = limits
  const ofNode = ofRule.filter((j) => j.spec.node.uid === nodeUid)
  const counts = (
    [
      ['PerNodeLimit', ofNode, DAY_MS, perNodePerDay, 0, 'repairs of this node in 24h'],
      ['HourlyLimit', ofRule, HOUR_MS, perHour, planned, 'repairs in 1h'],
      ['DailyLimit', ofRule, DAY_MS, perDay, planned, 'repairs in 24h'],
    ] as const
  ).map(([reason, jobs, windowMs, limit, more, what]) => ({ reason, jobs, windowMs, limit, more, what }))
  for (const { reason, jobs, windowMs, limit, more, what } of counts) {
    const count = countRepairs(jobs, windowMs, now) + more
    if (count >= limit)
      return { reason, message: `${count} of ${limit} ${what}`, afterMs: untilOneLeaves(jobs, windowMs, now) }
  }
  const open = ofRule.filter(isOpen).length + planned
  const most = inFlightLimit(maxInFlight, nodes)
  return open >= most
    ? { reason: 'InFlightLimit', message: `${open} of ${most} repairs at the same time`, afterMs: undefined }
    : undefined
}

// Whether a rule may start one more repair: per node, per hour, per day, and concurrently.
import type { NodeRemedierSpec } from '#api/kinds/node-remedier.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { Reason } from '#api/catalogue.ts'
import { DAY_MS, type Tally, countRepairs, untilOneLeaves } from './history.ts'

export interface LimitHit {
  readonly reason: Extract<Reason, 'PerNodeLimit' | 'HourlyLimit' | 'DailyLimit' | 'InFlightLimit'>
  readonly message: string
  /** When it may let one through again on its own. */
  readonly afterMs: number | undefined
}

export interface LimitQuestion {
  readonly limits: NodeRemedierSpec['limits']
  /** All jobs of the rule of the same sort: repairs or dry runs. */
  readonly ofRule: Tally
  /** Those on this node. */
  readonly ofNode: readonly RemedyOperationJob[]
  /** Nodes that the rule covers. */
  readonly nodes: number
  /** Jobs that the same plan already creates. */
  readonly planned: number
  readonly now: number
}

/** A percentage rounds down, but to at least one: otherwise a fleet of five could never be repaired. */
export function inFlightLimit(max: NodeRemedierSpec['limits']['maxInFlight'], nodes: number): number {
  if (typeof max === 'number') return max
  const share = Number(/^(\d{1,3})%$/.exec(max)?.[1])
  return Number.isFinite(share) ? Math.max(1, Math.floor((share * nodes) / 100)) : 1
}

export function limitHit({ limits, ofRule, ofNode, nodes, planned, now }: LimitQuestion): LimitHit | undefined {
  const { perNodePerDay, perHour, perDay, maxInFlight } = limits
  const mine = countRepairs(ofNode, DAY_MS, now)
  if (mine >= perNodePerDay)
    return {
      reason: 'PerNodeLimit',
      message: `${mine} of ${perNodePerDay} repairs of this node in 24h`,
      afterMs: untilOneLeaves(ofNode, DAY_MS, now),
    }
  if (ofRule.lastHour + planned >= perHour)
    return {
      reason: 'HourlyLimit',
      message: `${ofRule.lastHour + planned} of ${perHour} repairs in 1h`,
      afterMs: ofRule.hourLeavesInMs,
    }
  if (ofRule.lastDay + planned >= perDay)
    return {
      reason: 'DailyLimit',
      message: `${ofRule.lastDay + planned} of ${perDay} repairs in 24h`,
      afterMs: ofRule.dayLeavesInMs,
    }
  const open = ofRule.open + planned
  const most = inFlightLimit(maxInFlight, nodes)
  return open >= most
    ? { reason: 'InFlightLimit', message: `${open} of ${most} repairs at the same time`, afterMs: undefined }
    : undefined
}

// What monitors need from their environment: storage for their conditions, an event receiver, and counters.
import type { Finding, Problem } from '../problems.ts'
import type { Combined } from '../sources.ts'
import type { ConditionNow, Judgement, MonitorEvent } from './judge.ts'
import type { DefaultCondition } from '#api/agent-config/monitor-config.ts'
import type { ProblemMetrics } from './problem-metrics.ts'

export interface ConditionStore {
  /** What this source found. */
  problem(type: string): Problem | undefined
  /** What the node reports, combined from all sources. */
  reported(type: string): Combined | undefined
  readonly source: string
  find(type: string, finding: Finding): void
  see(type: string): void
}

export interface MonitorPort {
  readonly conditions: ConditionStore
  readonly metrics: ProblemMetrics
  readonly onEvent: (source: string, event: MonitorEvent) => void
}

export function conditionNow({ conditions }: MonitorPort, type: string): ConditionNow | undefined {
  const p = conditions.problem(type)
  if (p === undefined) return undefined
  return {
    status: p.isTrue ? 'True' : p.isUnknown === true ? 'Unknown' : 'False',
    reason: p.reason,
    message: p.message,
  }
}

export interface MonitorRule {
  readonly condition: string | undefined
  readonly reason: string
}

/** Conditions found by a previous agent in this boot stay; all others start as false. */
export function beginWell(
  port: MonitorPort,
  monitor: {
    readonly conditions: readonly DefaultCondition[]
    readonly rules: readonly MonitorRule[]
    readonly hasMetrics: boolean
  },
  isKept: boolean,
): void {
  for (const { type, reason, message } of monitor.conditions) {
    const now = conditionNow(port, type)
    if (now?.status === 'True' && isKept) continue
    port.conditions.find(type, { status: 'False', reason, message, isKept })
  }
  if (!monitor.hasMetrics) return
  for (const rule of monitor.rules) port.metrics.declare(rule.reason, rule.condition)
  for (const { type } of monitor.conditions) {
    const now = conditionNow(port, type)
    if (now?.status === 'True') port.metrics.show(port.conditions.source, type, now.reason, true)
  }
}

export interface Consequence {
  readonly source: string
  readonly hasMetrics: boolean
  readonly condition: string | undefined
  readonly isKept: boolean
}

export function carryOut(port: MonitorPort, { event, condition }: Judgement, about: Consequence): void {
  const { source, hasMetrics, condition: type, isKept } = about
  const { conditions, metrics } = port
  if (type !== undefined && condition !== undefined) {
    conditions.find(type, { ...condition, isKept })
    if (hasMetrics) metrics.show(conditions.source, type, condition.reason, condition.status === 'True')
  }
  const extra = event === undefined ? undefined : eventBeside(port, event, about, condition)
  if (extra === undefined) return
  // The end of a condition is not a problem and is not counted.
  if (hasMetrics && extra.type === 'Warning') metrics.count(extra.reason)
  port.onEvent(source, extra)
}

/** While another source holds the condition, another reason gets its own event. The end of this finding gets none, because the condition has not changed. */
function eventBeside(
  { conditions }: MonitorPort,
  event: MonitorEvent,
  { condition: type }: Consequence,
  condition: ConditionNow | undefined,
): MonitorEvent | undefined {
  const reported = type === undefined || condition === undefined ? undefined : conditions.reported(type)
  if (condition === undefined || reported === undefined || reported.source === conditions.source) return event
  if (condition.status === 'True') return { type: 'Warning', reason: condition.reason, message: condition.message }
  return reported.isTrue ? undefined : event
}

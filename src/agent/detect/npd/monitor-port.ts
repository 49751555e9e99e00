// What monitors need from their surroundings: a place for their conditions, a receiver of events, and counters.
import type { Finding, Problem } from '../problems.ts'
import type { ConditionNow, Judgement, MonitorEvent } from './judge.ts'
import type { DefaultCondition } from '#api/agent-config/monitor-config.ts'
import type { ProblemMetrics } from './problem-metrics.ts'

export interface ConditionStore {
  problem(type: string): Problem | undefined
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

/** Conditions that a previous agent found in this boot stay; all others start as false. */
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
    if (now?.status === 'True') port.metrics.show(type, now.reason, true)
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
  if (type !== undefined && condition !== undefined) {
    port.conditions.find(type, { ...condition, isKept })
    if (hasMetrics) port.metrics.show(type, condition.reason, condition.status === 'True')
  }
  if (event === undefined) return
  // The end of a condition is no problem and is not counted.
  if (hasMetrics && event.type === 'Warning') port.metrics.count(event.reason)
  port.onEvent(source, event)
}

// One log monitor: takes messages from its log, evaluates its rules, and reports the results. The feed reads the log.
import { judgeLine } from './judge.ts'
import { LogMatcher } from './log-matcher.ts'
import type { LogMonitorConfig } from '#api/agent-config/monitor-config.ts'
import { beginWell, carryOut, conditionNow, type MonitorPort } from './monitor-port.ts'

export class LogMonitor {
  readonly config: LogMonitorConfig
  readonly #port: MonitorPort
  readonly #matcher: LogMatcher
  /** Reasons already reported while their condition is true. */
  readonly #reported = new Map<string, Set<string>>()

  constructor(config: LogMonitorConfig, port: MonitorPort) {
    this.config = config
    this.#port = port
    this.#matcher = new LogMatcher(
      config.rules.map((r) => r.pattern),
      config.bufferSize,
    )
  }

  start(): void {
    beginWell(this.#port, this.config, true)
  }

  /** False: no message in this line can have an effect. */
  mayMatter(line: string): boolean {
    return this.#matcher.mayMatter(line)
  }

  take(message: string): void {
    for (const { rule: index, message: lines } of this.#matcher.push(message)) this.#matched(index, lines)
  }

  #matched(index: number, lines: string): void {
    const { rules, source, hasMetrics } = this.config
    const rule = rules[index]
    if (rule === undefined) return
    const { condition, reason, messageSuffix } = rule
    const message = messageSuffix === undefined ? lines : `${lines}; ${messageSuffix}`
    const now = condition === undefined ? undefined : conditionNow(this.#port, condition)
    const reported = condition === undefined ? undefined : this.#reportedOf(condition, now?.status === 'True')
    const judgement = judgeLine({ condition, reason, message }, now, reported?.has(reason) === true)
    reported?.add(reason)
    if (condition !== undefined && judgement.condition === undefined) this.#port.conditions.see(condition)
    carryOut(this.#port, judgement, { source, hasMetrics, condition, isKept: true })
  }

  #reportedOf(condition: string, isTrue: boolean): Set<string> {
    const reported = isTrue ? (this.#reported.get(condition) ?? new Set<string>()) : new Set<string>()
    this.#reported.set(condition, reported)
    return reported
  }
}

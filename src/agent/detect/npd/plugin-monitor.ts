// One custom plug-in monitor: runs the checks of its file at their intervals and reports the results. Several checks run in parallel, but never two runs
// of the same check.
import type { Clock } from '#lib/clock.ts'
import { judgePlugins, judgeTemporary, type PluginResult } from './judge.ts'
import type { PluginMonitorConfig, PluginRule } from '#api/agent-config/monitor-config.ts'
import { beginWell, carryOut, conditionNow, type MonitorPort } from './monitor-port.ts'

export type RunCheck = (rule: PluginRule) => Promise<PluginResult>

export class PluginMonitor {
  readonly config: PluginMonitorConfig
  readonly #port: MonitorPort
  readonly #clock: Clock
  readonly #run: RunCheck
  readonly #latest = new Map<PluginRule, PluginResult>()
  readonly #waiting: PluginRule[] = []
  readonly #busy = new Set<PluginRule>()
  readonly #timers = new Map<PluginRule, { cancel(): void }>()
  #isShown = false
  #isClosed = false

  constructor(config: PluginMonitorConfig, port: MonitorPort, clock: Clock, run: RunCheck) {
    this.config = config
    this.#port = port
    this.#clock = clock
    this.#run = run
  }

  start(): void {
    if (!this.config.skipsInitialStatus) this.#show()
    const now = this.#clock.monotonic()
    for (const rule of this.config.rules) this.#due(rule, now)
  }

  close(): void {
    this.#isClosed = true
    for (const timer of this.#timers.values()) timer.cancel()
  }

  #show(): void {
    if (!this.#isShown) beginWell(this.#port, this.config, false)
    this.#isShown = true
  }

  /** Scheduled from the planned time: otherwise a timer that always fires late would turn an interval of two seconds into three. */
  #due(rule: PluginRule, at: number): void {
    if (this.#isClosed) return
    const now = this.#clock.monotonic()
    const next = Math.max(now, at + rule.everyMs)
    this.#timers.set(
      rule,
      this.#clock.after(next - now, () => this.#due(rule, next)),
    )
    // A check that hangs until its timeout is not started a second time in parallel.
    if (this.#busy.has(rule) || this.#waiting.includes(rule)) return
    this.#waiting.push(rule)
    this.#next()
  }

  #next(): void {
    while (this.#busy.size < this.config.concurrency) {
      const rule = this.#waiting.shift()
      if (rule === undefined) return
      this.#busy.add(rule)
      void this.#run(rule)
        .catch((e: unknown): PluginResult => ({
          status: 'Unknown',
          message: e instanceof Error ? e.message : String(e),
        }))
        .then((result) => {
          this.#busy.delete(rule)
          if (this.#isClosed) return
          this.take(rule, result)
          this.#next()
        })
    }
  }

  take(rule: PluginRule, result: PluginResult): void {
    const { source, hasMetrics, conditions, rules, showsNewMessages } = this.config
    this.#show()
    this.#latest.set(rule, result)
    const type = rule.condition
    const healthy = conditions.find((c) => c.type === type)
    if (type === undefined || healthy === undefined) {
      const consequence = { source, hasMetrics, condition: undefined, isKept: false }
      carryOut(this.#port, judgeTemporary(rule.reason, result), consequence)
      return
    }
    const latest = rules.flatMap((r) => {
      const known = r.condition === type ? this.#latest.get(r) : undefined
      return known === undefined ? [] : [{ reason: r.reason, result: known }]
    })
    const now = conditionNow(this.#port, type)
    const judgement = judgePlugins(latest, healthy, now, showsNewMessages)
    carryOut(this.#port, judgement, { source, hasMetrics, condition: type, isKept: false })
  }
}

// What is left of each pool's error budget, for rules of policies: read from the ConfigMap of service levels, and only while some policy asks.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { type KeptDays, keptIn, SERVICE_LEVELS_KEY, SERVICE_LEVELS_MAP, sumOfDays } from '#measure/kept-days.ts'
import { budgetOf } from '#measure/service-level.ts'

const READ_MS = 60_000
const CALL_MS = 5_000
/** Written every five minutes. Older days say nothing of now: the budget is unknown, and unknown waits. */
export const MOST_AGE_MS = 1_800_000

export type PoolBudgets = ReadonlyMap<string, number>

export interface PoolBudgetsTools {
  readonly client: Pick<KubeClient, 'get'>
  readonly clock: Pick<Clock, 'monotonic' | 'now'>
  readonly log: Logger
}

export class PoolBudgetsWatch {
  readonly #tools: PoolBudgetsTools
  #readMs = Number.NEGATIVE_INFINITY
  #kept: KeptDays | undefined

  constructor(tools: PoolBudgetsTools) {
    this.#tools = tools
  }

  /** Share left by pool; a pool that is missing is unknown. */
  async now(): Promise<PoolBudgets> {
    const { clock, log } = this.#tools
    if (clock.monotonic() - this.#readMs >= READ_MS) {
      this.#readMs = clock.monotonic()
      try {
        this.#kept = await this.#read()
      } catch (e) {
        this.#kept = undefined
        log.warn('cannot read the service levels; budgets of pools are unknown', { error: messageOf(e) })
      }
    }
    return this.#kept === undefined ? new Map() : budgetsIn(this.#kept, clock.now())
  }

  async #read(): Promise<KeptDays | undefined> {
    const found = await this.#tools.client.get(coreKind('ConfigMap'), SERVICE_LEVELS_MAP, { timeoutMs: CALL_MS })
    const text = found?.data?.[SERVICE_LEVELS_KEY]
    return text === undefined ? undefined : keptIn(text)
  }
}

function budgetsIn(kept: KeptDays, nowMs: number): PoolBudgets {
  const age = nowMs - Date.parse(kept.at ?? '')
  if (Number.isNaN(age) || age > MOST_AGE_MS) return new Map()
  return new Map(
    [...sumOfDays(kept)].flatMap(([pool, seconds]) => {
      const budget = budgetOf(seconds, kept.nodes.get(pool) ?? 0, kept.days.length)
      return budget === undefined ? [] : [[pool, budget.left] as const]
    }),
  )
}

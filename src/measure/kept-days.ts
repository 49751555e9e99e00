// The node-seconds of each pool, day by day for the last month: what service levels of 30 days are counted from when neither Prometheus nor a history is there.
// One bounded ConfigMap, written every few minutes by the controllers that lead. Pure.
import { timestamp } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import { SERVICE_LEVELS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { NODE_STATES } from './node-state.ts'
import { NO_SECONDS, plus, type StateSeconds, WINDOW_DAYS } from './service-level.ts'

export const SERVICE_LEVELS_MAP = { namespace: SYSTEM_NAMESPACE, name: SERVICE_LEVELS } as const
export const SERVICE_LEVELS_KEY = 'days.json'

/** Of a pool that no Machine names. */
export const NO_POOL = 'none'
/** Further pools are summed up as `other`: 200 pools and 31 days are some 600 KB. */
const MOST_POOLS = 200
const OTHER = 'other'
const FORMAT = 1
/** The window, and the day that is not over. */
const MOST_DAYS = WINDOW_DAYS + 1

/** Pool → seconds by state. */
export type PoolSeconds = ReadonlyMap<string, StateSeconds>

interface KeptDay {
  /** Such as 2026-11-28, in UTC. */
  readonly day: string
  readonly pools: PoolSeconds
}

export interface KeptDays {
  readonly days: readonly KeptDay[]
  /** Nodes in service by pool when it was last written. */
  readonly nodes: ReadonlyMap<string, number>
  readonly at: string | undefined
}

export const NOTHING_KEPT: KeptDays = { days: [], nodes: new Map(), at: undefined }

/** Characters of a date in RFC 3339. */
const DATE = 10

export const dayOf = (nowMs: number): string => timestamp(nowMs).slice(0, DATE)

/** The days with what was measured since they were last written. */
export function withMeasured(
  kept: KeptDays,
  measured: PoolSeconds,
  nodes: ReadonlyMap<string, number>,
  nowMs: number,
): KeptDays {
  const day = dayOf(nowMs)
  const today = kept.days.find((d) => d.day === day)
  const pools = new Map(today?.pools)
  for (const [pool, seconds] of measured) {
    const name = pools.has(pool) || pools.size < MOST_POOLS ? pool : OTHER
    pools.set(name, plus(pools.get(name) ?? NO_SECONDS, seconds))
  }
  const days = [...kept.days.filter((d) => d.day !== day), { day, pools }].toSorted((a, b) =>
    a.day.localeCompare(b.day),
  )
  return { days: days.slice(-MOST_DAYS), nodes, at: timestamp(nowMs) }
}

/** Sums of the days from `sinceDay` on, by pool. */
export function sumOfDays({ days }: KeptDays, sinceDay = ''): PoolSeconds {
  const sums = new Map<string, StateSeconds>()
  for (const { day, pools } of days)
    if (day >= sinceDay)
      for (const [pool, seconds] of pools) sums.set(pool, plus(sums.get(pool) ?? NO_SECONDS, seconds))
  return sums
}

/** A file that is written every few minutes needs whole seconds only. */
export const keptText = ({ days, nodes, at }: KeptDays): string =>
  JSON.stringify({
    format: FORMAT,
    at,
    nodes: Object.fromEntries(nodes),
    days: days.map(({ day, pools }) => ({
      day,
      pools: Object.fromEntries(
        [...pools].map(([pool, s]) => [pool, NODE_STATES.map((state) => Math.round(s[state]))]),
      ),
    })),
  })

/** Undefined for a text of another format: what it says is unknown, and it is not written over. */
export function keptIn(text: string): KeptDays | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(value) || value['format'] !== FORMAT || !Array.isArray(value['days'])) return undefined
  return {
    days: value['days'].flatMap((d: unknown) => dayIn(d) ?? []),
    nodes: new Map(
      Object.entries(isObject(value['nodes']) ? value['nodes'] : {}).flatMap(([pool, n]) =>
        typeof n === 'number' ? [[pool, n] as const] : [],
      ),
    ),
    at: typeof value['at'] === 'string' ? value['at'] : undefined,
  }
}

function dayIn(value: unknown): KeptDay | undefined {
  if (!isObject(value) || typeof value['day'] !== 'string' || !isObject(value['pools'])) return undefined
  const pools = Object.entries(value['pools']).flatMap(([pool, numbers]) => {
    const list = Array.isArray(numbers) ? (numbers as readonly unknown[]) : []
    const seconds = Object.fromEntries(
      NODE_STATES.map((state, i) => [state, typeof list[i] === 'number' ? list[i] : 0]),
    ) as unknown as StateSeconds
    return [[pool, seconds] as const]
  })
  return { day: value['day'], pools: new Map(pools) }
}

// How long certificates of agents live: what the approver was told, carried to each agent by what the approver records. Pure.
import { isObject } from '#lib/json.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'

/** A key that was stolen, or whose Machine was deleted, can read for so long: roles cannot look at uids. */
export const DEFAULT_LIFE_SECONDS = 7 * 86_400
/** Shorter ones are renewed before people notice that nobody answers. */
export const SHORTEST_LIFE_SECONDS = 3_600
export const LONGEST_LIFE_SECONDS = 365 * 86_400

export const isLife = (seconds: unknown): seconds is number =>
  Number.isInteger(seconds) && Number(seconds) >= SHORTEST_LIFE_SECONDS && Number(seconds) <= LONGEST_LIFE_SECONDS

/** What the next certificate of the machine's agent may ask for. */
export function lifeSecondsOf({ metadata }: Pick<Machine, 'metadata'>): number {
  try {
    const record: unknown = JSON.parse(metadata.annotations?.[ANNOTATIONS.agentKey] ?? 'null')
    const seconds = isObject(record) ? record['seconds'] : undefined
    return isLife(seconds) ? seconds : DEFAULT_LIFE_SECONDS
  } catch {
    return DEFAULT_LIFE_SECONDS
  }
}

// How long certificates of agents live: set on the approver, passed to each agent in what the approver records. Pure.
import { isObject } from '#lib/json.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'

/** How long a stolen key, or the key of a deleted Machine, can still read: roles cannot check uids. */
export const DEFAULT_LIFE_SECONDS = 7 * 86_400
/** With a shorter one, certificates would expire before users notice that approvals fail. */
const SHORTEST_LIFE_SECONDS = 3_600
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

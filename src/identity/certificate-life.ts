// Lifetime of agent certificates: configured on the approver, passed to each agent in the approver's record. Pure.
import { isObject } from '#lib/json.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'

/** How long a stolen key, or the key of a deleted Machine, can still read: roles cannot check uids. */
export const DEFAULT_LIFE_SECONDS = 7 * 86_400
/** Shorter certificates would expire before users notice that approvals fail. */
const SHORTEST_LIFE_SECONDS = 3_600
export const LONGEST_LIFE_SECONDS = 365 * 86_400

export const isLife = (seconds: unknown): seconds is number =>
  Number.isInteger(seconds) && Number(seconds) >= SHORTEST_LIFE_SECONDS && Number(seconds) <= LONGEST_LIFE_SECONDS

/** The lifetime that the agent's next certificate may request. */
export function lifeSecondsOf({ metadata }: Pick<Machine, 'metadata'>): number {
  try {
    const record: unknown = JSON.parse(metadata.annotations?.[ANNOTATIONS.agentKey] ?? 'null')
    const seconds = isObject(record) ? record['seconds'] : undefined
    return isLife(seconds) ? seconds : DEFAULT_LIFE_SECONDS
  } catch {
    return DEFAULT_LIFE_SECONDS
  }
}

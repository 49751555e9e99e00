// Sets conditions so that equal reconciles give equal statuses: a time changes only with its status, order is kept, messages are short. Pure.
import { timestamp } from '#lib/clock.ts'
import type { Condition } from '#api/schema/object.ts'
import { defined } from '#lib/defined.ts'

/** A message is one line for users; lists and dumps do not fit. */
export const MAX_CONDITION_MESSAGE = 200

export interface WantedCondition {
  readonly type: string
  readonly status: Condition['status']
  readonly reason: string
  readonly message: string
  readonly observedGeneration?: number
}

type Conditions = readonly Condition[]

export const findCondition = (conditions: Conditions | undefined, type: string): Condition | undefined =>
  conditions?.find((c) => c.type === type)

/** Its status; Unknown if it is listed more than once, and the entries differ. Undefined if it is not listed. */
export function certainStatus(
  conditions: readonly Pick<Condition, 'type' | 'status'>[] | undefined,
  type: string,
): Condition['status'] | undefined {
  let status: Condition['status'] | undefined
  for (const c of conditions ?? []) {
    if (c.type !== type) continue
    if (status !== undefined && status !== c.status) return 'Unknown'
    status = c.status
  }
  return status
}

export const isConditionTrue = (conditions: Conditions | undefined, type: string): boolean =>
  findCondition(conditions, type)?.status === 'True'

/** Returns the same list if nothing changes. */
export function setCondition(conditions: Conditions | undefined, wanted: WantedCondition, nowMs: number): Conditions {
  const list = conditions ?? []
  const at = list.findIndex((c) => c.type === wanted.type)
  const old = list[at]
  const next = conditionOf(wanted, old, nowMs)
  if (old === undefined) return [...list, next]
  return isSame(old, next) ? list : list.with(at, next)
}

export function setConditions(
  conditions: Conditions | undefined,
  wanted: readonly WantedCondition[],
  nowMs: number,
): Conditions {
  return wanted.reduce<Conditions>((list, one) => setCondition(list, one, nowMs), conditions ?? [])
}

export function removeCondition(conditions: Conditions | undefined, type: string): Conditions {
  const list = conditions ?? []
  return list.some((c) => c.type === type) ? list.filter((c) => c.type !== type) : list
}

function conditionOf(wanted: WantedCondition, old: Condition | undefined, nowMs: number): Condition {
  return {
    type: wanted.type,
    status: wanted.status,
    reason: wanted.reason,
    message: shortened(wanted.message),
    lastTransitionTime:
      old?.status === wanted.status && isPast(old.lastTransitionTime, nowMs)
        ? old.lastTransitionTime
        : timestamp(nowMs),
    ...defined({ observedGeneration: wanted.observedGeneration }),
  }
}

/** After a clock moved back, a time in the future would delay every "has lasted this long" check. An unreadable time counts as none. */
const isPast = (time: string, nowMs: number): boolean => Date.parse(time) <= nowMs

/** Most messages are already one clean line. */
const ODD_SPACE = /^\s|[^\S ]|\s\s|\s$/

/** Cuts between characters, never inside one, and folds white space so that a message stays one line. */
function shortened(message: string): string {
  const line = ODD_SPACE.test(message) ? message.replaceAll(/\s+/g, ' ').trim() : message
  // Never more characters than code units, so most messages need no splitting.
  if (line.length <= MAX_CONDITION_MESSAGE) return line
  const letters = [...line]
  return letters.length <= MAX_CONDITION_MESSAGE ? line : `${letters.slice(0, MAX_CONDITION_MESSAGE - 1).join('')}…`
}

const isSame = (a: Condition, b: Condition): boolean =>
  a.status === b.status &&
  a.reason === b.reason &&
  a.message === b.message &&
  a.lastTransitionTime === b.lastTransitionTime &&
  a.observedGeneration === b.observedGeneration

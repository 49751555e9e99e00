// Decides whether an OperationalHold is in force. An unreadable hold is in force if it stops something, and is not if it lets something start.
import { HOLD_EFFECTS, type HoldEffect, type OperationalHold } from '#api/kinds/operational-hold.ts'
import { isObject } from '#lib/json.ts'
import { textOr } from '#lib/fields.ts'
import { findCondition } from '#kube/conditions.ts'
import type { Condition } from '#api/schema/object.ts'

const STOPS: ReadonlySet<HoldEffect> = new Set(['Pause', 'Freeze', 'Abort', 'Extend'])

/** An answer about a hold. `Unknown` if its text cannot be read. */
export type Answer = 'Yes' | 'No' | 'Unknown'

/** Unknown stops work and never starts it. */
export const binds = (answer: Answer, { spec }: OperationalHold): boolean =>
  answer === 'Yes' || (answer === 'Unknown' && STOPS.has(spec.effect))

const EFFECTS: ReadonlySet<unknown> = new Set(HOLD_EFFECTS)
const isEffect = (value: unknown): value is HoldEffect => EFFECTS.has(value)

/**
 * Returns a valid hold unchanged. Anything else becomes a hold that every reader can print. An unknown effect, possibly of a later version, counts as
 * Pause.
 */
export function readable(hold: OperationalHold): OperationalHold {
  const spec: unknown = hold.spec
  const { target, effect, reason, author, until } = isObject(spec) ? spec : {}
  const isWhole = isObject(target) && isEffect(effect) && [reason, author, until].every((v) => typeof v === 'string')
  if (isWhole) return hold
  return {
    ...hold,
    spec: {
      ...(isObject(spec) && (spec as object)),
      target: (isObject(target) ? target : {}) as OperationalHold['spec']['target'],
      effect: isEffect(effect) ? effect : 'Pause',
      reason: textOr(reason, 'this hold cannot be read'),
      author: textOr(author, 'an unknown author'),
      until: textOr(until, 'it is deleted'),
    },
  }
}

const TIME = /^\d{4}-\d{2}-\d{2}T/

/** In milliseconds. Undefined if the hold has no readable end. */
export function endOf({ spec: { until } }: OperationalHold): number | undefined {
  const end = TIME.test(until) ? Date.parse(until) : Number.NaN
  return Number.isNaN(end) ? undefined : end
}

/** A deleted hold that still has finalizers keeps blocking what it blocked. It lets nothing new start. */
export function isInForce(hold: OperationalHold, now: number): boolean {
  const end = endOf(hold)
  if (end !== undefined && end <= now) return false
  const isCertain = end !== undefined && hold.metadata.deletionTimestamp === undefined
  return binds(isCertain ? 'Yes' : 'Unknown', hold)
}

/** A Freeze takes precedence, then the newest: a second request replaces the first. Ties go by name. */
export const leading = (holds: readonly OperationalHold[]): OperationalHold | undefined =>
  holds.reduce<OperationalHold | undefined>(
    (first, h) => (first === undefined || comesBefore(h, first) ? h : first),
    undefined,
  )

function comesBefore(a: OperationalHold, b: OperationalHold): boolean {
  if ((a.spec.effect === 'Freeze') !== (b.spec.effect === 'Freeze')) return a.spec.effect === 'Freeze'
  if (madeAt(a) !== madeAt(b)) return madeAt(a) > madeAt(b)
  return (a.metadata.name ?? '') < (b.metadata.name ?? '')
}

const madeAt = ({ metadata }: OperationalHold): number => Date.parse(metadata.creationTimestamp ?? '') || 0

export const holdOf = (
  holds: readonly OperationalHold[],
  ...effects: readonly HoldEffect[]
): OperationalHold | undefined => leading(holds.filter((h) => effects.includes(h.spec.effect)))

/** Requeue delay for a hold whose end is unknown. */
const REQUEUE_MS = 60_000
/** Minimum delay, for an end that has just passed. */
const LEAST_MS = 1_000

/** Milliseconds until the hold ends, for the next reconcile. */
export function endsIn(hold: OperationalHold, now: number): number {
  const end = endOf(hold)
  return end === undefined ? REQUEUE_MS : Math.max(LEAST_MS, end - now)
}

/** When the first of these ends, in milliseconds since 1970. Undefined if none has an end. */
export function firstEnd(holds: readonly OperationalHold[], now: number): number | undefined {
  const ends = holds.map((h) => endOf(readable(h))).filter((end) => end !== undefined && end > now)
  return ends.length === 0 ? undefined : Math.min(...(ends as number[]))
}

/**
 * A file on the node forbids every disruption, and its agent follows no order while it exists. If the agent cannot determine this, the node counts as
 * frozen.
 */
export function isNodeFrozen(object: object | undefined): boolean {
  const status = object !== undefined && 'status' in object ? object.status : undefined
  const conditions =
    isObject(status) && Array.isArray(status['conditions']) ? (status['conditions'] as Condition[]) : []
  const frozen = findCondition(conditions, 'Frozen')
  return frozen !== undefined && frozen.status !== 'False'
}

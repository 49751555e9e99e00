// Builds the holds behind commands. Each names its author and reason, and ends on its own.
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { HoldEffect, OperationalHold } from '#api/kinds/operational-hold.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { durationMs } from '#lib/duration.ts'
import type { ErrorMessage } from '#lib/error-table.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { newHoldErrors } from './new-hold-errors.ts'

export type HoldTarget = OperationalHold['spec']['target']

/** Arguments that every such command takes. */
export interface HoldTexts {
  readonly reason: string
  readonly for: string
  readonly author: string
}

interface NewHold {
  readonly name: string
  readonly target: HoldTarget
  readonly effect: HoldEffect
  readonly to?: string
  readonly longestMs: number
  /** For an invalid or too long duration. */
  readonly refuse: (facts: { readonly length: string }) => ErrorMessage
}

/** Limit of the kind. */
const LONGEST_REASON = 512

function reasonOf(text: string): string {
  const reason = text.trim()
  if (reason === '') throw new KubeNodeError(newHoldErrors.KN1002_holdReason())
  if (reason.length <= LONGEST_REASON) return reason
  throw new KubeNodeError(newHoldErrors.KN1002_holdReasonTooLong({ count: reason.length, most: LONGEST_REASON }))
}

export function newHold(hold: NewHold, { reason: text, for: length, author }: HoldTexts, now: number): OperationalHold {
  const { name, target, effect, to, longestMs, refuse } = hold
  const ms = durationMs(length)
  const reason = reasonOf(text)
  if (ms === undefined || ms <= 0 || ms > longestMs) throw new KubeNodeError(refuse({ length: JSON.stringify(length) }))
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'OperationalHold',
    metadata: { name },
    spec: { target, effect, ...defined({ to }), reason, author, until: timestamp(now + ms) },
  }
}

// Builds Unprotects: for the whole cluster, for a short time, under one name, so that a second one updates the first.
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { timestamp } from '#lib/clock.ts'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { holdErrors } from './hold-errors.ts'

const UNPROTECT_NAME = 'unprotect-all'
/** Long enough for manual work, too short to be forgotten. */
const LONGEST_MS = 24 * 3_600_000

export interface UnprotectWish {
  readonly reason: string
  readonly for: string
  readonly author: string
}

export function unprotectHold({ reason, for: length, author }: UnprotectWish, now: number): OperationalHold {
  const ms = durationMs(length)
  if (ms === undefined || ms <= 0 || ms > LONGEST_MS)
    throw new KubeNodeError(holdErrors.KN1332({ length: JSON.stringify(length) }))
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'OperationalHold',
    metadata: { name: UNPROTECT_NAME },
    spec: {
      target: { kind: 'Cluster', selector: {} },
      effect: 'Unprotect',
      reason,
      author,
      until: timestamp(now + ms),
    },
  }
}

// Detects a container runtime that answers, but slowly, in every one of its last answers. The kubelet's PLEG waits for the same answers. Pure.
import { formatDuration } from '#lib/duration.ts'
import type { Reading } from './reading.ts'

export interface LatencyLimit {
  readonly slowMs: number
  readonly slowInARow: number
}

/** How many answers in a row were slow. An answer that never came is another condition, and says nothing here. */
export const slowInARow = (before: number, tookMs: number, { slowMs }: LatencyLimit): number =>
  tookMs > slowMs ? before + 1 : 0

/** It ends with the first quick answer. */
export function judgeLatency(inARow: number, service: string, limit: LatencyLimit): readonly Reading[] {
  const type = 'ContainerRuntimeSlow'
  if (inARow === 0) return [{ type, status: 'False', reason: 'AnswersQuickly', message: `${service} answers quickly` }]
  if (inARow < limit.slowInARow) return []
  const message = `each of the last ${limit.slowInARow} answers of ${service} took longer than ${formatDuration(limit.slowMs)}`
  return [{ type, status: 'True', reason: type, message }]
}

// A machine whose agent misses its heartbeats: until it counts as silent, its status is what it reported last. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import { findCondition } from '#kube/conditions.ts'
import { formatDuration } from '#lib/duration.ts'
import type { Lease } from '#runtime/lease.ts'
import type { Finding } from './finding.ts'

/** Two renewals were missed. */
const LATE_AFTER_MS = 25_000
const BEYOND: ReadonlySet<string> = new Set(['Pending', 'Provisioning', 'Deleting', 'Lost'])

/** By the clock of the reader, which may differ from that of the node: a hint, and no verdict. */
export function lateHeartbeat({ status = {} }: Machine, lease: Lease | undefined, now: number): readonly Finding[] {
  const renewed = Date.parse(lease?.spec?.renewTime ?? '')
  const isToldAlready = findCondition(status.conditions, 'AgentReachable')?.status !== 'True'
  if (Number.isNaN(renewed) || isToldAlready || BEYOND.has(status.phase ?? '')) return []
  const agoMs = now - renewed
  if (agoMs < LATE_AFTER_MS) return []
  return [
    {
      text: `No heartbeat from its agent for ${formatDuration(agoMs)}: this state may be out of date`,
      urgency: 'Waiting',
      ends: 'its agent reports again, or counts as silent',
    },
  ]
}

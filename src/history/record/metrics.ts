// Metrics of a recorder.
import type { RuntimeMetrics } from '#runtime/metrics.ts'
import { figuresIn } from '#runtime/figures.ts'
import type { GapReason } from '../store/writer.ts'

export interface HistoryMetrics {
  wrote(rows: number): void
  failed(): void
  waiting(rows: number): void
  gap(why: GapReason): void
  bytes(bytes: number): void
}

const NAMES = [
  'kubenode_history_rows_total',
  'kubenode_history_write_failures_total',
  'kubenode_history_rows_waiting',
  'kubenode_history_gaps_total',
  'kubenode_history_bytes',
] as const

export function createHistoryMetrics({ registry }: Pick<RuntimeMetrics, 'registry'>): HistoryMetrics {
  // Counts restart with each leadership term.
  for (const name of NAMES) registry.removeSingleMetric(name)
  const { counter, gauge } = figuresIn(registry)
  const [rowsName, failuresName, waitingName, gapsName, bytesName] = NAMES
  const rows = counter(rowsName, 'Transitions written to the history.')
  const failures = counter(failuresName, 'Writes of the history that failed and are tried again.')
  const waiting = gauge(waitingName, 'Transitions that wait for the disk.')
  const gaps = counter(gapsName, 'Times in which something was not recorded, by reason.', 'reason')
  const bytes = gauge(bytesName, 'Size of the file of the history.')
  return {
    wrote: (n) => rows.inc(n),
    failed: () => failures.inc(),
    waiting: (n) => waiting.set(n),
    gap: (reason) => gaps.inc({ reason }),
    bytes: (n) => bytes.set(n),
  }
}

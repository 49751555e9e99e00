// How long faults existed before they were noticed: from the detector's timestamp to the evaluation that found a rule true.
import { Histogram } from 'prom-client'
import { type RuntimeMetrics, boundedLabel } from '#runtime/metrics.ts'

/** From the promised time between a condition and its repair to a rule that waits for an age. */
const DETECT_BUCKETS_S = [0.05, 0.1, 0.5, 1, 2, 5, 15, 30, 60, 180, 600, 1_800]

export interface RemedyMetrics {
  detected(rule: string, afterMs: number): void
}

export function createRemedyMetrics({ registry }: Pick<RuntimeMetrics, 'registry'>): RemedyMetrics {
  const name = 'kubenode_repair_detect_seconds'
  const label = boundedLabel()
  // A new term of leadership starts with new counts.
  registry.removeSingleMetric(name)
  const detect = new Histogram({
    name,
    help: 'Time from the fault as recorded by a detector to the reconcile that found the rule true; timestamps are in whole seconds.',
    labelNames: ['rule'],
    buckets: DETECT_BUCKETS_S,
    registers: [registry],
  })
  return { detected: (rule, afterMs) => detect.observe({ rule: label(rule) }, Math.max(0, afterMs) / 1_000) }
}

// The process's metrics: one registry, names `kubenode_…`, and labels with bounded values.
import { Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import type { ControllerMetrics } from './controller-metrics.ts'
import { figuresIn } from './figures.ts'

/** Distinct values of a label; further ones share a bucket. Enough for a few dozen controllers and parts. */
const MOST_LABEL_VALUES = 64
const OTHER = 'other'

/** Passes the first values through and maps later ones to `other`. */
export function boundedLabel(most = MOST_LABEL_VALUES): (value: string) => string {
  const known = new Set<string>()
  return (value) => {
    if (known.has(value)) return value
    if (known.size >= most) return OTHER
    known.add(value)
    return value
  }
}

/** From a cache hit to the timeout. A reconcile over 0.1 s of its own work is a defect, so the buckets are dense there. */
const RECONCILE_BUCKETS_S = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

export interface RuntimeMetrics {
  readonly registry: Registry
  controller(name: string): ControllerMetrics
  leader(isLeader: boolean): void
  /** A part stalled, or recovered. */
  stalled(part: string, isStalled: boolean): void
}

export interface MetricsOptions {
  /** Adds Node's process metrics. */
  readonly process?: boolean
  /** Label on every series, as the shipped alerts expect: a Prometheus may scrape many clusters. */
  readonly cluster?: string
}

export function createMetrics({ process = false, cluster }: MetricsOptions = {}): RuntimeMetrics {
  const registry = new Registry()
  if (cluster !== undefined) registry.setDefaultLabels({ cluster })
  const { counter, gauge } = figuresIn(registry)
  if (process) collectDefaultMetrics({ register: registry, prefix: 'kubenode_' })
  const label = boundedLabel()
  const reconciles = counter('kubenode_reconcile_total', 'Reconciles by outcome.', 'controller', 'outcome')
  const seconds = new Histogram({
    name: 'kubenode_reconcile_seconds',
    help: 'Duration of one reconcile.',
    labelNames: ['controller'],
    buckets: RECONCILE_BUCKETS_S,
    registers: [registry],
  })
  const depth = gauge('kubenode_queue_depth', 'Keys waiting to be reconciled.', 'controller')
  const refusedHelp = 'Keys refused because the queue was full; a resync adds them again.'
  const refused = counter('kubenode_queue_refused_total', refusedHelp, 'controller')
  const hungHelp = 'Reconciles abandoned because they ignore their abort signal.'
  const hung = gauge('kubenode_reconcile_hung', hungHelp, 'controller')
  const leader = gauge('kubenode_leader', '1 while this process is the leader.')
  const stalledHelp = '1 while a watch or loop has been silent for longer than its limit.'
  const stalled = gauge('kubenode_stalled', stalledHelp, 'part')
  return {
    registry,
    controller: (name) => {
      const controller = label(name)
      return {
        reconciled: (outcome, s) => {
          reconciles.inc({ controller, outcome })
          seconds.observe({ controller }, s)
        },
        depth: (ready) => depth.set({ controller }, ready),
        hung: (count) => hung.set({ controller }, count),
        refused: () => refused.inc({ controller }),
      }
    },
    leader: (isLeader) => leader.set(isLeader ? 1 : 0),
    stalled: (part, isStalled) => stalled.set({ part: label(part) }, isStalled ? 1 : 0),
  }
}

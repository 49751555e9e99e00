// How many notifications were sent, and how many attempts failed.
import { Counter } from 'prom-client'
import type { RuntimeMetrics } from '#runtime/metrics.ts'

export interface NotifyMetrics {
  sent(target: string, isSent: boolean): void
}

export function createNotifyMetrics({ registry }: Pick<RuntimeMetrics, 'registry'>): NotifyMetrics {
  const name = 'kubenode_notifications_total'
  // A new leadership term starts with new counts.
  registry.removeSingleMetric(name)
  const counter = new Counter({
    name,
    help: 'Notifications and git notes of releases by kind of target (webhook, slack, commitStatus, note) and result (sent, failed).',
    labelNames: ['target', 'result'],
    registers: [registry],
  })
  return { sent: (target, isSent) => counter.inc({ target, result: isSent ? 'sent' : 'failed' }) }
}

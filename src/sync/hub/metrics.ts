// How many commits were verified, and why others were refused.
import { Counter } from 'prom-client'
import type { RuntimeMetrics } from '#runtime/metrics.ts'
import type { Trust } from './source/trust-seen.ts'

export interface TrustMetrics {
  judged(source: string, trust: Trust): void
}

export function createTrustMetrics({ registry }: Pick<RuntimeMetrics, 'registry'>): TrustMetrics {
  const name = 'kubenode_commits_verified_total'
  // A new leadership term starts with new counts.
  registry.removeSingleMetric(name)
  const counter = new Counter({
    name,
    help: 'Commits by result of their verification (verified, refused) and the rule that refused them.',
    labelNames: ['result', 'reason'],
    registers: [registry],
  })
  /** The last refusal by source, because every pass finds the same one. */
  const refused = new Map<string, string>()
  return {
    judged(source, trust) {
      if (trust.kind === 'Running') return
      if (trust.kind === 'Verified') {
        refused.delete(source)
        counter.inc({ result: 'verified', reason: '' }, trust.commits)
        return
      }
      const seen = `${trust.head} ${trust.reason}`
      if (refused.get(source) === seen) return
      refused.set(source, seen)
      counter.inc({ result: 'refused', reason: trust.reason })
    },
  }
}

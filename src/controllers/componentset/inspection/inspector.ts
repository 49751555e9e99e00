// Runs inspections over the network.
import type { HttpLimits } from '#runtime/outbound/get.ts'
import { type ChecksConfig, createChecks } from '#runtime/outbound/external-checks.ts'
import type { Inspector } from './inspections.ts'

export function createInspector(config: ChecksConfig, resolve?: HttpLimits['resolve']): Inspector {
  const checks = createChecks(config, resolve)
  return {
    can: { http: true, prometheus: checks.hasPrometheus, podProbe: true },
    async check({ http, prometheus }, signal) {
      if (http !== undefined) return checks.page(http, signal)
      if (prometheus !== undefined) return checks.query(prometheus, signal)
      return { holds: false, seen: 'not supported by these controllers' }
    },
  }
}

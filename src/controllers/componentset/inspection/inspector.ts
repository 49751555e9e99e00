// Runs inspections over the network.
import type { HttpLimits } from '#runtime/outbound/get.ts'
import { type LooksConfig, createLooks } from '#runtime/outbound/looks.ts'
import type { Inspector } from './inspections.ts'

export function createInspector(config: LooksConfig, resolve?: HttpLimits['resolve']): Inspector {
  const looks = createLooks(config, resolve)
  return {
    can: { http: true, prometheus: looks.hasPrometheus, podProbe: true },
    async look({ http, prometheus }, signal) {
      if (http !== undefined) return looks.page(http, signal)
      if (prometheus !== undefined) return looks.query(prometheus, signal)
      return { holds: false, seen: 'not supported by these controllers' }
    },
  }
}

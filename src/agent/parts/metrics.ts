// The part that serves metrics; none unless the configuration names a port.
import type { AllComponents } from '../components/all-components.ts'
import { AgentMetrics } from '../metrics/agent-metrics.ts'
import { MetricsServer } from '../metrics/server.ts'
import type { RepairCounts } from '../repair/repair-counts.ts'
import type { DetectionParts } from './detection.ts'
import type { PartsContext } from './context.ts'

export interface MetricsNeeds extends DetectionParts {
  readonly components: AllComponents
  readonly repairs: RepairCounts
}

export function buildMetrics(context: PartsContext, needs: MetricsNeeds): MetricsServer | undefined {
  const { clock, log, version, address, config } = context
  const { detection, board, components, repairs } = needs
  const { metricsPort } = config.detect
  if (metricsPort === undefined) return undefined
  const metrics = new AgentMetrics({
    detection,
    problems: () => board.problems,
    components: () => components.records,
    repairs: () => repairs.all,
    version,
    nowMs: () => clock.monotonic(),
  })
  return new MetricsServer({ address, port: metricsPort, log, clock, text: () => metrics.text() })
}

// The parts that serve metrics: on loopback, and at the node's address if the configuration allows it.
import type { AllComponents } from '../components/all-components.ts'
import { AgentMetrics } from '../metrics/agent-metrics.ts'
import { ScrapeServer } from '../metrics/scrape-server.ts'
import { MetricsServer } from '../metrics/server.ts'
import { scrapeKeyFile } from '../node-dir.ts'
import type { RepairCounts } from '../repair/repair-counts.ts'
import type { DetectionParts } from './detection.ts'
import type { PartsContext } from './context.ts'

export interface MetricsNeeds extends DetectionParts {
  readonly components: AllComponents
  readonly repairs: RepairCounts
}

export interface ServedMetrics {
  start(): Promise<void>
  stop(): Promise<void>
}

export function buildMetrics(context: PartsContext, needs: MetricsNeeds): ServedMetrics {
  const { clock, log, version, address, config, client, files, dir, node, isHost } = context
  const { detection, board, components, repairs } = needs
  const { port, scrape, ...settings } = config.detect.metrics
  const metrics = new AgentMetrics({
    detection,
    problems: () => board.problems,
    components: () => components.records,
    repairs: () => repairs.all,
    version,
    nowMs: () => clock.monotonic(),
    wallMs: () => clock.now(),
    settings,
  })
  const text = () => metrics.text()
  const loopback = port === undefined ? undefined : new MetricsServer({ address, port, log, clock, text })
  const door =
    scrape === undefined
      ? undefined
      : new ScrapeServer({
          settings: scrape,
          client,
          clock,
          log,
          files,
          keyFile: scrapeKeyFile(dir),
          node,
          address: isHost ? undefined : address,
          text,
        })
  return {
    start: async () => {
      await loopback?.start()
      await door?.start()
    },
    stop: async () => {
      loopback?.close()
      await door?.stop()
    },
  }
}

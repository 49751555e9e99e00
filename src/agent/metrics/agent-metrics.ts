// The content of one /metrics response: problems under node-problem-detector's names, the host, the node's components, detectors and repairs, and the agent itself.
import type { Detection } from '../detect/detection.ts'
import type { Problem } from '../detect/problems.ts'
import type { ComponentRecord } from '../components/record.ts'
import type { RepairCount } from '../repair/repair-counts.ts'
import { exposition, single, type MetricFamily } from './exposition.ts'
import type { MetricsConfig } from '#api/agent-config/metrics-config.ts'
import { hostFiles, readHostText } from './host-files.ts'
import { hostMetrics, ownFamilies, ownProcess, proportionalMemory, type DiskHistory } from './host-metrics.ts'
import { nodeExporterFamilies } from './node-exporter.ts'
import { type ReadTimex, timexFamilies, timexReader } from './timex.ts'
import { type SecurityHistory, securityMetrics, setuidProgramsOfHost, sizeOfHostFile } from './security.ts'

export interface MetricsPorts {
  readonly detection: Pick<Detection, 'metrics' | 'monitors' | 'detectors' | 'events'>
  readonly problems: () => readonly Problem[]
  readonly components: () => readonly ComponentRecord[]
  readonly repairs: () => readonly RepairCount[]
  readonly version: string
  /** Monotonic. */
  readonly nowMs: () => number
  readonly wallMs: () => number
  readonly settings: Pick<MetricsConfig, 'names' | 'security'>
}

/** Between two readings of the agent's own memory. */
const MEMORY_EVERY_MS = 60_000

export class AgentMetrics {
  readonly #ports: MetricsPorts
  #memory: { readonly readMs: number; readonly bytes: number | undefined } | undefined
  #disks: DiskHistory | undefined
  #readTimex: ReadTimex | undefined
  #security: SecurityHistory | undefined

  constructor(ports: MetricsPorts) {
    this.#ports = ports
  }

  text(): string {
    return exposition([
      ...this.#problems(),
      ...this.#host(),
      ...ownFamilies(readHostText),
      ...this.#ofSecurity(),
      ...this.#own(),
      ...ownProcess(this.#proportionalMemory()),
    ])
  }

  #host(): readonly MetricFamily[] {
    const { detection, nowMs, wallMs, settings } = this.#ports
    const exporter = settings.names === 'npd' ? [] : [...nodeExporterFamilies(hostFiles, wallMs()), ...this.#timex()]
    if (settings.names === 'node-exporter') return exporter
    const { families, disks } = hostMetrics(detection.monitors.stats, readHostText, this.#disks, nowMs())
    this.#disks = disks
    return [...families, ...exporter]
  }

  #proportionalMemory(): number | undefined {
    const nowMs = this.#ports.nowMs()
    if (this.#memory === undefined || nowMs - this.#memory.readMs >= MEMORY_EVERY_MS)
      this.#memory = { readMs: nowMs, bytes: proportionalMemory(readHostText) }
    return this.#memory.bytes
  }

  #timex(): readonly MetricFamily[] {
    this.#readTimex ??= timexReader()
    return timexFamilies(this.#readTimex())
  }

  #ofSecurity(): readonly MetricFamily[] {
    const { nowMs, settings } = this.#ports
    if (!settings.security) return []
    const ports = { read: readHostText, nowMs: nowMs(), sizeOf: sizeOfHostFile, setuidPrograms: setuidProgramsOfHost }
    const { families, history } = securityMetrics(ports, this.#security)
    this.#security = history
    return families
  }

  #problems(): readonly MetricFamily[] {
    const { metrics } = this.#ports.detection
    return [
      {
        name: 'problem_counter',
        help: 'Number of times a specific type of problem have occurred.',
        type: 'counter',
        samples: metrics.counters,
      },
      {
        name: 'problem_gauge',
        help: 'Whether a specific type of problem is affecting the node or not.',
        type: 'gauge',
        samples: metrics.gauges,
      },
    ]
  }

  #own(): readonly MetricFamily[] {
    const { detection, problems, components, repairs, version } = this.#ports
    const { monitors, detectors, events } = detection
    return [
      {
        name: 'kubenode_agent_info',
        help: 'The version of the agent',
        type: 'gauge',
        samples: [{ labels: { version }, value: 1 }],
      },
      {
        name: 'kubenode_node_condition',
        help: 'Conditions that the agent reports: 1 when true',
        type: 'gauge',
        samples: problems().map((p) => ({ labels: { type: p.type, reason: p.reason }, value: p.isTrue ? 1 : 0 })),
      },
      {
        name: 'kubenode_component_state',
        help: 'The state of each component of the node: 1 for the current state',
        type: 'gauge',
        samples: components().map(({ component, state, current }) => ({
          labels: { component, state, version: current?.version ?? '' },
          value: 1,
        })),
      },
      {
        name: 'kubenode_repair_steps_total',
        help: 'Repair steps run by this agent since it started',
        type: 'counter',
        samples: repairs().map(({ operation, outcome, count }) => ({ labels: { operation, outcome }, value: count })),
      },
      {
        name: 'kubenode_detector_failures_total',
        help: 'Failed detector runs',
        type: 'counter',
        samples: [...detectors.failures].map(([detector, value]) => ({ labels: { detector }, value })),
      },
      {
        name: 'kubenode_monitor_problems',
        help: 'Monitors that cannot be used completely',
        type: 'gauge',
        samples: [{ value: monitors.problems.size }],
      },
      single(
        'counter',
        'kubenode_kernel_records_lost_total',
        'Kernel records overwritten before they were read',
        monitors.lostRecords,
      ),
      single('counter', 'kubenode_events_lost_total', 'Node events that were not reported', events.lost),
    ]
  }
}

// One scrape of an agent: this host as it is, with a dozen components, conditions and detectors.
import { AgentMetrics } from '#agent/metrics/agent-metrics.ts'
import { systemClock } from '#lib/system-clock.ts'
import { type Figures, median, rounded } from '../result.ts'
import { cpuMs } from './cpu.ts'

const COMPONENTS = 12
const CONDITIONS = 24

type Ports = ConstructorParameters<typeof AgentMetrics>[0]

const metricsOf = (security: boolean): AgentMetrics =>
  new AgentMetrics({
    detection: {
      metrics: {
        counters: Array.from({ length: CONDITIONS }, (_, n) => ({ labels: { reason: `Reason${n}` }, value: n })),
        gauges: Array.from({ length: CONDITIONS }, (_, n) => ({
          labels: { type: `Type${n}`, reason: 'AsUsual' },
          value: 0,
        })),
      },
      monitors: { stats: [], problems: new Map(), lostRecords: 0 },
      detectors: { failures: new Map() },
      events: { lost: 0 },
    } as unknown as Ports['detection'],
    problems: () =>
      Array.from({ length: CONDITIONS }, (_, n) => ({ type: `Type${n}`, reason: 'AsUsual', isTrue: false })) as never,
    components: () =>
      Array.from({ length: COMPONENTS }, (_, n) => ({
        component: `component-${n}`,
        state: 'Healthy',
        current: { version: '1.0.0' },
      })) as never,
    repairs: () => [],
    version: '0.1.0',
    nowMs: () => systemClock.monotonic(),
    wallMs: () => systemClock.now(),
    settings: { names: 'both', security },
  })

export function agentFigures(scrapes: number): Figures {
  const measured = (security: boolean) => {
    const metrics = metricsOf(security)
    let text = metrics.text()
    const took: number[] = []
    const before = cpuMs()
    for (let n = 0; n < scrapes; n++) {
      const from = performance.now()
      text = metrics.text()
      took.push(performance.now() - from)
    }
    return { ms: median(took), cpuMs: (cpuMs() - before) / scrapes, text }
  }
  const [plain, secure] = [measured(false), measured(true)]
  return {
    agent_ms: rounded(plain.ms),
    agent_cpu_ms: rounded(plain.cpuMs),
    agent_kb: rounded(plain.text.length / 1_000),
    agent_series: plain.text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length,
    agent_security_cpu_ms: rounded(secure.cpuMs),
    agent_security_kb: rounded(secure.text.length / 1_000),
  }
}

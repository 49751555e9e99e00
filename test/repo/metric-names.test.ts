// No panel, rule or alert names a metric or a label that nothing exports: the registries of the programs and the agent's exposition are asked, not the source.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { hostFiles } from '#agent/metrics/host-files.ts'
import { nodeExporterFamilies } from '#agent/metrics/node-exporter.ts'
import { clusterFigures } from '#controllers/cluster/metrics.ts'
import { orphanGauge, providerMeter } from '#controllers/machine/metrics.ts'
import { metricsModule } from '#controllers/metrics/metrics.ts'
import type { ControllerContext } from '#controllers/module.ts'
import { createRemedyMetrics } from '#controllers/remedy/metrics.ts'
import { createDefenderMetrics } from '#defender/metrics.ts'
import { silentLogger } from '#lib/log.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { createTrustMetrics } from '#sync/hub/metrics.ts'
import { releaseMetrics } from '#sync/hub/release-metrics.ts'
import { createNotifyMetrics } from '#sync/notify/metrics.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { promqlNames } from '#test/support/tools/promql-names.ts'
import { BOARDS } from '../../deploy/dashboards/boards.ts'

const ROOT = join(import.meta.dirname, '../..')

/** What every scrape adds: the cluster by our programs, the others by Prometheus and the configuration that we render. */
const OF_SCRAPE = ['cluster', 'job', 'instance']
const OF_HOST = [...OF_SCRAPE, 'node', 'machine', 'pool', 'zone', 'rack', 'class']
/** Labels of families that this host has no sample of: a table, beside the cases in the tests of the agent. */
const OF_HARDWARE: Readonly<Record<string, readonly string[]>> = {
  node_edac_uncorrectable_errors_total: ['controller'],
  node_md_disks: ['device', 'state'],
  node_md_disks_required: ['device'],
  node_nf_conntrack_entries: [],
  node_nf_conntrack_entries_limit: [],
  node_pressure_memory_waiting_seconds_total: [],
}

interface Exported {
  readonly name: string
  readonly labelNames: readonly string[]
  readonly type: string
}

async function exported(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const cache = { list: () => [], get: () => undefined, isSynced: true, onChange: () => () => undefined }
  const clock = new VirtualClock(0)
  const metrics = createMetrics({ cluster: 'c' })
  const registry: Registry = metrics.registry
  createDefenderMetrics(registry)
  createRemedyMetrics(metrics)
  createTrustMetrics(metrics)
  createNotifyMetrics(metrics)
  orphanGauge(registry)
  providerMeter(registry)
  const signal = new AbortController().signal
  await clusterFigures(registry, () => []).start(signal)
  await releaseMetrics(metrics, cache as never, clock).start(signal)
  const context = {
    informers: { of: () => cache },
    clock,
    log: silentLogger,
    client: { get: () => Promise.resolve(undefined) },
    metrics,
  } as unknown as ControllerContext
  for (const part of metricsModule.setup(context).parts ?? []) await part.start(signal)

  const found = new Map<string, ReadonlySet<string>>()
  for (const { name, labelNames, type } of registry.getMetricsAsArray() as unknown as readonly Exported[]) {
    const labels = [...labelNames, ...OF_SCRAPE]
    found.set(name, new Set(labels))
    if (type !== 'histogram') continue
    found.set(`${name}_bucket`, new Set([...labels, 'le']))
    for (const part of ['sum', 'count']) found.set(`${name}_${part}`, new Set(labels))
  }
  for (const { name, samples } of nodeExporterFamilies(hostFiles, 0))
    found.set(name, new Set([...Object.keys(samples[0]?.labels ?? {}), ...OF_HOST]))
  for (const [name, labels] of Object.entries(OF_HARDWARE)) found.set(name, new Set([...labels, ...OF_HOST]))
  found.set('up', new Set(OF_HOST))
  found.set('kubenode_node_condition', new Set(['type', 'reason', ...OF_HOST]))
  return found
}

interface Rule {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
}
const { groups } = parse(readFileSync(join(ROOT, 'deploy/alerts/kubenode.rules.yaml'), 'utf8')) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[]
}
const rules = groups.flatMap((g) => g.rules)
const known = await exported()

/** What a rule records has the labels that it sums by, or those of what it is made of. */
const recorded = new Map<string, ReadonlySet<string>>()
for (const { record, expr } of rules) {
  if (record === undefined) continue
  const { grouped, metrics } = promqlNames(expr)
  const inherited = metrics.flatMap(({ metric }) => [...(recorded.get(metric) ?? [])])
  recorded.set(record, new Set(grouped.length > 0 ? grouped : inherited))
}

function strangersIn(expr: string): readonly string[] {
  const { metrics, grouped } = promqlNames(expr)
  const labelsOf = (metric: string) => known.get(metric) ?? recorded.get(metric)
  const all = new Set(metrics.flatMap(({ metric }) => [...(labelsOf(metric) ?? [])]))
  return [
    ...metrics.flatMap(({ metric, labels }) => {
      const has = labelsOf(metric)
      return has === undefined ? [metric] : labels.filter((l) => !has.has(l)).map((l) => `${metric}{${l}}`)
    }),
    ...grouped.filter((label) => !all.has(label)).map((label) => `by (${label})`),
  ]
}

const panels = BOARDS.flatMap(({ title, rows }) =>
  rows.flatMap((row) =>
    row.panels.flatMap((p) => p.queries.map((q) => [`${title}: ${p.title}`, q.expr, q.legend] as const)),
  ),
)

describe('what is named is exported', () => {
  test.each(rules.map((r) => [r.alert ?? r.record ?? '', r.expr] as const))('%s', (_, expr) => {
    expect(promqlNames(expr).metrics.length).toBeGreaterThan(0)
    expect(strangersIn(expr)).toEqual([])
  })

  test.each(panels)('%s', (_, expr, legend) => {
    expect(promqlNames(expr).metrics.length).toBeGreaterThan(0)
    expect(strangersIn(expr)).toEqual([])
    // A legend shows labels that the result still has.
    const { metrics, grouped } = promqlNames(expr)
    const left = new Set(
      grouped.length > 0
        ? grouped
        : metrics.flatMap(({ metric }) => [...(known.get(metric) ?? recorded.get(metric) ?? [])]),
    )
    const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map((m) => m[1] ?? '')
    expect(shown.filter((label) => !left.has(label))).toEqual([])
  })

  test('six boards, each with a title and panels that say what they mean', () => {
    expect(BOARDS.map((b) => b.uid)).toHaveLength(6)
    expect(BOARDS.flatMap((b) => b.rows.flatMap((r) => r.panels)).filter((p) => p.description === '')).toEqual([])
  })
})

describe('the test above can fail', () => {
  test.each([
    ['sum by (cluster) (kubenode_machine{phase="Lost"})', ['kubenode_machine', 'by (cluster)']],
    ['sum by (cluster) (kubenode_machines{faze="Lost"})', ['kubenode_machines{faze}']],
    ['sum by (kluster) (kubenode_machines{phase="a{b}"})', ['by (kluster)']],
    ['rate(kubenode_node_seconds_total{state=~"x"}[5m]) > 0 and on (pool) up == 1', []],
    ['histogram_quantile(0.5, sum by (track, le) (rate(kubenode_release_lead_seconds_bucket[5m])))', []],
  ])('%s', (expr, strangers) => {
    expect(strangersIn(expr)).toEqual(strangers)
  })
})

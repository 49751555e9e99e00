// A real Prometheus beside the local fleet: it scrapes the hub, the clusters and their nodes, answers what the dashboards ask, and an alert fires when a node
// stops and resolves when it continues. The rules are the shipped ones, with every waiting time set to some seconds.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '#lib/free-port.ts'
import { until } from '#test/support/tools/processes.ts'
import { BOARDS } from '../../../deploy/dashboards/boards.ts'
import { PATIENCE_MS, TestFleet } from '../whole-way/fleet.ts'

const isHere = spawnSync('prometheus', ['--version']).status === 0
const ROOT = join(import.meta.dirname, '../../..')

interface Target {
  readonly health: string
  readonly lastError: string
  readonly labels: Readonly<Record<string, string>>
}
interface Alert {
  readonly state: string
  readonly labels: Readonly<Record<string, string>>
}

describe('Prometheus beside the local fleet', () => {
  let fleet: TestFleet
  let prometheus: ChildProcess
  let port = 0

  const ask = async (path: string): Promise<{ readonly data: unknown }> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${text}`)
    return JSON.parse(text) as { readonly data: unknown }
  }
  const targets = async () =>
    ((await ask('targets')).data as { readonly activeTargets: readonly Target[] }).activeTargets
  const firing = async (name: string) =>
    ((await ask('alerts')).data as { readonly alerts: readonly Alert[] }).alerts.filter(
      (a) => a.state === 'firing' && a.labels['alertname'] === name,
    )

  beforeAll(async () => {
    if (!isHere) return
    fleet = new TestFleet()
    fleet.start()
    await fleet.settled()
    const config = join(fleet.repository, 'fleet/machines/agent.json')
    const before = JSON.parse(readFileSync(config, 'utf8')) as object
    writeFileSync(config, `${JSON.stringify({ ...before, metrics: { scrape: true } }, null, 2)}\n`)
    fleet.commit('agents: open to Prometheus')
    const rules = readFileSync(join(ROOT, 'deploy/alerts/kubenode.rules.yaml'), 'utf8')
    const quick = join(fleet.checkout, 'quick.rules.yaml')
    writeFileSync(
      quick,
      rules.replaceAll(/^( +for: ).+$/gm, (_, key: string) => `${key}5s`),
    )
    port = (await freePort()) ?? 0
    const args = ['local', 'prometheus', '--data', fleet.data, '--port', String(port), '--rules', quick]
    prometheus = spawn(join(fleet.checkout, 'bin/kubenode'), args, { stdio: 'inherit' })
    await until('Prometheus answers', async () => (await targets()).length > 0, PATIENCE_MS)
  }, PATIENCE_MS * 2)

  afterAll(async () => {
    if (!isHere) return
    const ended = once(prometheus, 'exit')
    prometheus.kill('SIGINT')
    await ended
    await fleet.dispose()
  }, PATIENCE_MS)

  test('scrapes every program of hub and clusters, and every node', async (context) => {
    if (!isHere) context.skip('prometheus is not installed (Debian: prometheus)')
    const all = await until(
      'all targets are up',
      async () => {
        const found = await targets()
        const down = found.filter((t) => t.health !== 'up').map((t) => `${t.labels['job']}: ${t.lastError}`)
        const agents = found.filter((t) => t.labels['job'] === 'kubenode-agent')
        if (agents.length < 6) throw new Error(`${agents.length} agents`)
        if (down.length > 0) throw new Error(down.join(', '))
        return found
      },
      PATIENCE_MS,
    )
    const seen = new Set(all.map((t) => `${t.labels['cluster']} ${t.labels['job']}`))
    for (const one of [
      'hub kubenode-sync',
      'test kubenode-controllers',
      'prod kubenode-defender',
      'prod kubenode-agent',
    ])
      expect(seen).toContain(one)
  })

  test('answers every query of the six dashboards, each of which shows values', async (context) => {
    if (!isHere) context.skip('prometheus is not installed (Debian: prometheus)')
    const queries = BOARDS.flatMap((board) =>
      board.rows.flatMap((row) =>
        row.panels.flatMap((p) => p.queries.map((q) => ({ board: board.title, panel: p.title, ...q }))),
      ),
    )
    const answers = async () =>
      Promise.all(
        queries.map(async ({ board, panel, expr }) => {
          const query = expr.replaceAll('$cluster', '.*').replaceAll('$__rate_interval', '1m')
          const { data } = await ask(`query?query=${encodeURIComponent(query)}`)
          const { result } = data as { readonly result: readonly { readonly value: readonly [number, string] }[] }
          return { board, panel, series: result.length, first: result[0]?.value[1] ?? '' }
        }),
      )
    const found = await until(
      'each board has values',
      async () => {
        const rows = await answers()
        const empty = BOARDS.filter((b) => !rows.some((r) => r.board === b.title && r.series > 0)).map((b) => b.title)
        if (empty.length > 0) throw new Error(`nothing on ${empty.join(', ')}`)
        return rows
      },
      PATIENCE_MS,
    )
    for (const { board, panel, series, first } of found)
      console.log(`${board} | ${panel} | ${series} series | ${first}`)
    expect(found.length).toBe(queries.length)
  })

  test('an alert fires for a node that stops, names it, and resolves once it continues', async (context) => {
    if (!isHere) context.skip('prometheus is not installed (Debian: prometheus)')
    const name = 'KubeNodeHostNotScraped'
    await until('the alert is silent', async () => (await firing(name)).length === 0, PATIENCE_MS)
    const target = (await targets()).find((t) => t.labels['job'] === 'kubenode-agent' && t.labels['cluster'] === 'test')
    const machine = target?.labels['machine'] ?? 'no machine'
    const stopped = fleet.processes(`/${machine}`)
    expect(stopped.length).toBeGreaterThan(0)
    try {
      for (const { pid } of stopped) process.kill(pid, 'SIGSTOP')
      const alerts = await until(
        'the alert fires',
        async () => {
          const found = await firing(name)
          return found.length > 0 ? found : undefined
        },
        PATIENCE_MS,
      )
      expect(alerts.map((a) => [a.labels['cluster'], a.labels['machine']])).toEqual([['test', machine]])
    } finally {
      for (const { pid } of stopped) process.kill(pid, 'SIGCONT')
    }
    await until('the alert is resolved', async () => (await firing(name)).length === 0, PATIENCE_MS)
  })
})

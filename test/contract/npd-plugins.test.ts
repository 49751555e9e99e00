// node-problem-detector's own check programs and its metric names: the same results, the same names.
import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readHostText } from '#agent/metrics/host-files.ts'
import { hostMetrics } from '#agent/metrics/host-metrics.ts'
import { metricName } from '#agent/metrics/exposition.ts'
import { parseMonitor, type StatsMonitorConfig } from '#api/agent-config/monitor-config.ts'
import { healthOptions } from '#agent/detect/npd/health-options.ts'
import { countOptions } from '#agent/detect/npd/log-count.ts'
import { runPlugin } from '#agent/detect/npd/run-plugin.ts'
import { systemClock } from '#lib/system-clock.ts'
import { isNpdPresent, NO_NPD, npdJson, npdPath } from './npd-corpus.ts'

const environment = { PATH: '/usr/bin:/bin' }

const run = (name: string, timeoutMs = 5_000) =>
  runPlugin({ path: npdPath(name), args: [], timeoutMs, maxOutput: 80, environment, folder: '/', clock: systemClock })

test.for([
  ['ok.sh', 'Ok', 'OK'],
  ['non-ok.sh', 'NonOk', 'NonOK'],
  ['unknown.sh', 'Unknown', 'UNKNOWN'],
  ['non-defined-exit-status.sh', 'Unknown', 'NON-DEFINED-EXIT-STATUS'],
  [
    'longer-than-80-stdout-with-ok-exit-status.sh',
    'Ok',
    '01234567890123456789012345678901234567890123456789012345678901234567890123456789',
  ],
  // Its own message refers to a log; ours names the cause.
  ['non-executable.sh', 'Unknown', /^Error in starting plugin: .* EACCES$/],
] as const)('%s ends with %s', async ([name, status, message], context) => {
  if (!isNpdPresent) return context.skip(NO_NPD)
  const found = await run(`plugin-test-data/${name}`)
  expect(found.status).toBe(status)
  if (typeof message === 'string') expect(found.message).toBe(message)
  else expect(found.message).toMatch(message)
  return undefined
})

test('a check that sleeps longer than it may is ended and says nothing', async (context) => {
  if (!isNpdPresent) return context.skip(NO_NPD)
  const path = npdPath('plugin-test-data/sleep-3-second-with-ok-exit-status.sh')
  const message = `Timeout when running plugin "${path}": state - signal: killed. output - ""`.slice(0, 80)
  const said = await run('plugin-test-data/sleep-3-second-with-ok-exit-status.sh', 300)
  expect(said).toEqual({ status: 'Unknown', message })
  return undefined
})

test('every call of the health checker and of the log counter in its files is understood', (context) => {
  if (!isNpdPresent) return context.skip(NO_NPD)
  const said = readdirSync(npdPath('config'))
    .filter((f) => f.endsWith('.json'))
    .flatMap((f) => {
      const { monitor } = parseMonitor(npdJson('config', f))
      return monitor?.kind === 'Plugin' ? monitor.rules.map(({ path, args }) => ({ f, path, args })) : []
    })
    .flatMap(({ f, path, args }) => {
      if (path.includes('health-checker')) return [[f, typeof healthOptions(args)]]
      return path.includes('log-counter') ? [[f, typeof countOptions(args)]] : []
    })
  expect(said.length).toBeGreaterThan(10)
  expect(said.filter(([, kind]) => kind !== 'object')).toEqual([])
  expect(
    healthOptions(['--component=cri', '--cooldown-time=2m', '--cri-timeout=10s', '--health-check-timeout=60s']),
  ).toMatchObject({ component: 'cri', service: 'containerd', mayRepair: true, timeoutMs: 60_000, cooldownMs: 120_000 })
  return undefined
})

/** What this machine may not have, and what needs two looks. */
const MAY_LACK = new Set(['disk/avg_queue_len'])

test('the system statistics have its names, all of those that its files ask for and no other', (context) => {
  if (!isNpdPresent) return context.skip(NO_NPD)
  for (const file of ['system-stats-monitor.json', 'net-cgroup-system-stats-monitor.json']) {
    const stats = parseMonitor(npdJson('config', file)).monitor as StatsMonitorConfig
    const first = hostMetrics([stats], readHostText, undefined, 0)
    const { families } = hostMetrics([stats], readHostText, first.disks, 1_000)
    const got = families.map((f) => f.name).filter((n) => !n.startsWith('kubenode_'))
    const wanted = [...stats.metrics].filter(([name]) => !MAY_LACK.has(name)).map(([, shown]) => metricName(shown))
    expect(wanted.filter((n) => !got.includes(n))).toEqual([])
    expect(got.filter((n) => ![...stats.metrics.values()].map(metricName).includes(n))).toEqual([])
  }
  return undefined
})

// node-problem-detector's own configuration files run unchanged, and on the recorded messages say what it said.
import { appendFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { JournalHub } from '#agent/detect/npd/journal-hub.ts'
import { openFeed } from '#agent/detect/npd/log-feed.ts'
import { LogMonitor } from '#agent/detect/npd/log-monitor.ts'
import type { MonitorEvent } from '#agent/detect/npd/judge.ts'
import { parseMonitor, type LogMonitorConfig } from '#api/agent-config/monitor-config.ts'
import { osVersion } from '#agent/detect/npd/os-release.ts'
import { ProblemMetrics } from '#agent/detect/npd/problem-metrics.ts'
import { systemClock } from '#lib/system-clock.ts'
import { isObject } from '#lib/json.ts'
import { oneSource } from '#test/doubles/node/one-source.ts'
import { isNpdPresent, NO_NPD, npdJson, npdPath, npdText } from './npd-corpus.ts'

interface Recorded {
  readonly conditions: readonly Readonly<Record<string, string>>[]
  readonly events: readonly unknown[]
  readonly metrics: readonly string[]
}

interface Recording {
  readonly runs: Readonly<Record<string, Recorded>>
  readonly inputs: { readonly docker: readonly string[] }
}

const object = (v: unknown): Readonly<Record<string, unknown>> => (isObject(v) ? v : {})

function logMonitor(value: unknown): LogMonitorConfig {
  const { monitor, problems } = parseMonitor(value)
  expect(problems).toEqual([])
  if (monitor?.kind !== 'Log') throw new Error('no log monitor')
  return monitor
}

/** Everything that a run says, in the form of the recording. */
async function play(config: LogMonitorConfig, lines: readonly string[], old = lines.length / 2): Promise<Recorded> {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-npd-'))
  const conditions = oneSource()
  const events: (MonitorEvent & { readonly source: string })[] = []
  const metrics = new ProblemMetrics()
  const monitor = new LogMonitor(config, {
    conditions,
    metrics,
    onEvent: (source, event) => events.push({ ...event, source }),
  })
  let count = 0
  const path = join(folder, 'log')
  // Some lines exist before, the rest are appended.
  writeFileSync(path, lines.slice(0, old).join(''))
  const feed = openFeed({
    config,
    path,
    bootId: 'b',
    clock: systemClock,
    journal: (at) => new JournalHub(at, systemClock),
    position: undefined,
    pollMs: 10,
    mayMatter: (line) => monitor.mayMatter(line),
    onMessage: (message) => {
      count++
      monitor.take(message)
    },
    onLost: () => undefined,
    onProblem: () => undefined,
  })
  monitor.start()
  feed.start()
  appendFileSync(path, lines.slice(old).join(''))
  const size = Buffer.byteLength(lines.join(''))
  for (let n = 0; n < 500; n++) {
    if (feed.position?.kind === 'file' && feed.position.offset === size) break
    await systemClock.sleep(10)
  }
  feed.close()
  rmSync(folder, { recursive: true, force: true })
  expect(count).toBeGreaterThan(0)
  const line = (name: string, labels: Readonly<Record<string, string>>, value: number): string =>
    `${name}{${Object.entries(labels)
      .map(([k, v]) => `${k}="${v}"`)
      .join(',')}} ${value}`
  const isShown = ({ value }: { readonly value: number }): boolean => value !== 0
  return {
    conditions: conditions
      .all()
      .filter((p) => p.isTrue)
      .map(({ type, reason, message }) => ({ type, status: 'True', reason, message }))
      .sort((a, b) => (a.type < b.type ? -1 : 1)),
    events: events
      .map(({ type, reason, message, source }) => ({ type, reason, message, count: 1, source }))
      .sort((a, b) => (a.reason + '\n' + a.message < b.reason + '\n' + b.message ? -1 : 1)),
    metrics: [
      ...metrics.counters.filter(isShown).map((s) => line('problem_counter', s.labels, s.value)),
      ...metrics.gauges.filter(isShown).map((s) => line('problem_gauge', s.labels, s.value)),
    ].sort(),
  }
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function syslogTime(): string {
  const d = new Date()
  const two = (n: number, fill: string): string => String(n).padStart(2, fill)
  const time = [d.getHours(), d.getMinutes(), d.getSeconds()].map((n) => two(n, '0')).join(':')
  return `${MONTHS[d.getMonth()]} ${two(d.getDate(), ' ')} ${time}`
}

const kernelLines = (): readonly string[] =>
  npdText('recorded/kernel-messages.txt')
    .trimEnd()
    .split('\n')
    .map((m, n) => `${syslogTime()} node1 kernel: [${(n + 1).toFixed(6).padStart(12)}] ${m}\n`)

describe('what node-problem-detector recorded', () => {
  const asFile = (rules: string): unknown => {
    const { conditions, rules: own, source } = object(npdJson('config', rules))
    return { ...object(npdJson('config/kernel-monitor-filelog.json')), conditions, rules: own, source }
  }

  test.for([
    ['kernel-monitor-filelog', () => npdJson('config/kernel-monitor-filelog.json')],
    ['kernel-monitor-rules', () => asFile('kernel-monitor.json')],
    ['readonly-rules', () => asFile('readonly-monitor.json')],
  ] as const)('%s: the same conditions, events and counters', async ([run, config], context) => {
    if (!isNpdPresent) return context.skip(NO_NPD)
    const { runs } = npdJson('recorded/filelog.json') as Recording
    const said = await play(logMonitor(config()), kernelLines())
    expect(said).toEqual(sorted(runs[run]))
    return undefined
  })

  test('docker-monitor-filelog: the same conditions, events and counters', async (context) => {
    if (!isNpdPresent) return context.skip(NO_NPD)
    const { runs, inputs } = npdJson('recorded/filelog.json') as Recording
    const time = `${new Date().toISOString().slice(0, 23)}456789+00:00`
    const lines = inputs.docker.map((l) => l.replace('{T}', time))
    const said = await play(logMonitor(npdJson('config/docker-monitor-filelog.json')), lines)
    expect(said).toEqual(sorted(runs['docker-monitor-filelog']))
    return undefined
  })
})

test('kernel-monitor.json as it is, from records of the kernel: the same, and the two messages that file settings spoil', async (context) => {
  if (!isNpdPresent) return context.skip(NO_NPD)
  const recorded = sorted((npdJson('recorded/filelog.json') as Recording).runs['kernel-monitor-rules'])
  const messages = npdText('recorded/kernel-messages.txt').trimEnd().split('\n')
  const records = messages.map((m, n) => `6,${n},${n * 1_000},-;${m}\n SUBSYSTEM=none\n`)
  const said = await play(logMonitor(npdJson('config/kernel-monitor.json')), records, 0)
  // Read through the settings of a file, one message keeps a blank at its end, and another loses its beginning to the greedy pattern of the file.
  const event = (reason: string, message: string) => ({
    type: 'Warning',
    reason,
    message,
    count: 1,
    source: 'kernel-monitor',
  })
  const more = [
    event('TaskHung', 'INFO: task trailing:5 blocked for more than 120 seconds.'),
    event('KernelOops', 'divide error: 0000 [#1] SMP'),
  ]
  const events = [...recorded.events, ...more]
  const trimmed = events.map((e) => ({ ...object(e), message: String(object(e)['message']).trim() }))
  const ordered = sorted({ ...recorded, events: trimmed })
  expect(said.events).toEqual(ordered.events)
  expect(said.conditions).toEqual(recorded.conditions)
  const counted = recorded.metrics.map((m) =>
    m
      .replace('{reason="TaskHung"} 6', '{reason="TaskHung"} 7')
      .replace('{reason="KernelOops"} 1', '{reason="KernelOops"} 2'),
  )
  expect(said.metrics).toEqual(counted)
  return undefined
})

const sorted = (r: Recorded | undefined) => ({
  conditions: [...(r?.conditions ?? [])],
  events: (r?.events ?? []).toSorted((a, b) => {
    const [x, y] = [object(a), object(b)]
    return `${String(x['reason'])}\n${String(x['message'])}` < `${String(y['reason'])}\n${String(y['message'])}`
      ? -1
      : 1
  }),
  metrics: (r?.metrics ?? []).toSorted(),
})

test('every configuration file loads without a problem', (context) => {
  if (!isNpdPresent) return context.skip(NO_NPD)
  const files = [
    ...readdirSync(npdPath('config')).map((f) => ['config', f]),
    ...readdirSync(npdPath('deployment')).map((f) => ['deployment', f]),
  ].filter(([, f]) => f?.endsWith('.json'))
  expect(files.length).toBeGreaterThan(25)
  for (const names of files) {
    const { monitor, problems } = parseMonitor(npdJson(...names))
    expect([names.join('/'), monitor === undefined ? 'nothing' : 'used', problems]).toEqual([
      names.join('/'),
      'used',
      [],
    ])
  }
  return undefined
})

test('the version of any operating system is reported, also of those that node-problem-detector does not know', (context) => {
  if (!isNpdPresent) return context.skip(NO_NPD)
  const of = (name: string): string => osVersion(npdText('os-release', `os-release-${name}`))
  expect(
    ['cos', 'debian', 'ubuntu', 'centos', 'rocky', 'rhel', 'ol', 'amzn', 'sles', 'flatcar', 'unknown', 'empty'].map(of),
  ).toEqual([
    'cos 77-12293.0.0',
    'debian 9 (stretch)',
    'ubuntu 16.04.6 LTS (Xenial Xerus)',
    'centos 7 (Core)',
    'rocky 8.5 (Green Obsidian)',
    'rhel 7.7 (Maipo)',
    'ol 9.0',
    'amzn 2',
    'sles 15-SP4',
    'flatcar 4372.0.1',
    'foo-operating-system',
    'unknown',
  ])
  return undefined
})

// The fleet renders, the same bytes every time, and every object in it is valid for its kind.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { App } from 'cdk8s'
import { ClusterChart } from 'kubenode/constructs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { isAgentConfigMap } from '#api/agent-config/agent-config-map.ts'
import { kindNamed } from '#api/kinds.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import { NODE_CONDITIONS } from '#api/node-conditions.ts'
import { CONDITIONS_FOR_PEOPLE } from '#test/support/fleets/conditions-for-people.ts'
import { createValidator } from '#api/validate.ts'
import { parseMonitor } from '#api/agent-config/monitor-config.ts'
import { LogMatcher } from '#agent/detect/npd/log-matcher.ts'
import { agentConfigMapProblems } from '#declared/agent-config.ts'
import { declaredProblems } from '#declared/declared-problems.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { declareMachines } from './machines/workers.ts'

const root = join(import.meta.dirname, '..')
let out = ''

/** Each render is a process of seconds. */
let first: ReadonlyMap<string, string> | undefined
const rendered = () => (first ??= render())

function render(from = root): ReadonlyMap<string, string> {
  const directory = mkdtempSync(join(out, 'render-'))
  execFileSync(process.execPath, [join(from, 'fleet/main.ts')], { cwd: from, env: { CDK8S_OUTDIR: directory } })
  return new Map(readdirSync(directory).map((f) => [f, readFileSync(join(directory, f), 'utf8')]))
}

beforeAll(() => {
  out = mkdtempSync(join(tmpdir(), 'kubenode-fleet-'))
})
afterAll(() => rmSync(out, { recursive: true }))

test('one file a chart, twice the same bytes, all objects valid', () => {
  const files = rendered()
  expect([...files.keys()].toSorted()).toEqual(['cluster-prod.k8s.yaml', 'cluster-test.k8s.yaml', 'hub.k8s.yaml'])
  const validator = createValidator()
  for (const text of files.values())
    for (const document of parseAllDocuments(text)) {
      const object = document.toJS() as KubeObject
      const kind = kindNamed(object.kind)
      if (isAgentConfigMap(object)) {
        expect(agentConfigMapProblems(object)).toEqual([])
        continue
      }
      expect(kind === undefined ? object.kind : validator.problems(kind, object)).toEqual([])
    }
  expect(render()).toEqual(files)
})

test('monitors that agent.json names run beside the kernel monitor that is on everywhere', () => {
  const copy = join(out, 'copy')
  mkdirSync(copy)
  for (const name of ['fleet', 'rules', 'package.json']) cpSync(join(root, name), join(copy, name), { recursive: true })
  for (const name of ['src', 'node_modules']) symlinkSync(join(root, name), join(copy, name))
  const path = join(copy, 'fleet/machines/agent.json')
  const before = JSON.parse(readFileSync(path, 'utf8')) as object
  writeFileSync(path, JSON.stringify({ ...before, monitors: ['/etc/npd/lamp.json'] }))
  const objects = parseAllDocuments(render(copy).get('cluster-test.k8s.yaml') ?? '').map((d) => d.toJS() as KubeObject)
  const { data } = objects.find((o) => isAgentConfigMap(o)) as unknown as { readonly data: { 'agent.json': string } }
  const config = JSON.parse(data['agent.json']) as { readonly monitors: readonly unknown[]; readonly logs: unknown }
  expect(config.monitors).toMatchObject([
    { config: { source: 'kernel-monitor' } },
    { config: { source: 'hardware-monitor' } },
    '/etc/npd/lamp.json',
  ])
  expect(config.logs).toBeDefined()
})

const OF_MACHINES = [
  'clock-skewed',
  'cpu-faulty',
  'crash-looping',
  'disk-failing',
  'filesystem-read-only',
  'filesystem-stalled',
  'fpga-faulty',
  'gpu-faulty',
  'gpu-needs-reboot',
  'gpu-needs-reset',
  'kernel-deadlock',
  'kubelet-unhealthy',
  'link-faulty',
  'memory-faulty',
  'not-ready',
  'oom-storm',
  'parts-missing',
  'pcie-faulty',
  'readonly-filesystem',
  'reboot-required',
  'runtime-unhealthy',
  'silent',
  'tasks-hung',
]

/** Of the library alone: each needs something that only a fleet of a user has, and its page says what. */
const OFFERED: Readonly<Record<string, string>> = { 'hardware/reset-device.ts': 'docs/tasks/one-gpu.md' }

test('every condition that agents report by themselves has a rule in each cluster, and every rule is declared', () => {
  for (const [file, text] of rendered()) {
    if (file.startsWith('hub')) continue
    const asked = Object.keys(NODE_CONDITIONS).filter((type) => text.includes(`/${type}/`))
    expect([file, asked]).toEqual([
      file,
      Object.keys(NODE_CONDITIONS).filter((type) => !CONDITIONS_FOR_PEOPLE.includes(type)),
    ])
  }
  const imported = [
    'fleet/machines/rules.ts',
    'fleet/machines/agents.ts',
    'fleet/main.ts',
    'rules/monitors/hardware.ts',
  ]
    .map((f) => readFileSync(join(root, f), 'utf8'))
    .join('\n')
  const files = readdirSync(join(root, 'rules'), { recursive: true, encoding: 'utf8' })
  const rules = files.filter((f) => /(?<!\.cases|\.test)\.ts$/.test(f))
  const isUsed = (f: string) => imported.includes(`rules/${f}`) || imported.includes(`from './${basename(f)}'`)
  expect(rules.filter((f) => !isUsed(f))).toEqual(Object.keys(OFFERED))
  for (const [rule, page] of Object.entries(OFFERED))
    expect(readFileSync(join(root, page), 'utf8'), page).toContain(basename(rule))
})

test('every rule can fire, and every condition of a monitor has a rule', () => {
  for (const [file, text] of rendered()) {
    const objects = parseAllDocuments(text).map((d) => d.toJS() as KubeObject)
    expect([file, declaredProblems(objects).map((p) => `${p.code}: ${p.message}`)]).toEqual([file, []])
  }
})

const kernelMonitor = (file: string) =>
  JSON.parse(readFileSync(join(root, file), 'utf8')) as { readonly monitors: readonly [{ readonly config: unknown }] }

test('a new fleet has the kernel monitor of this one, which counts only kills for lack of memory on the whole node', () => {
  const monitors = kernelMonitor('fleet/machines/hosts.json')
  expect(kernelMonitor('template/fleet/kernel-monitor.json')).toEqual(monitors)
  const { monitor, problems } = parseMonitor(monitors.monitors[0].config)
  expect(problems).toEqual([])
  if (monitor?.kind !== 'Log') throw new Error('it is no log monitor')
  const conditionsOf = (line: string) =>
    new LogMatcher(
      monitor.rules.map((r) => r.pattern),
      monitor.bufferSize,
    )
      .push(line)
      .flatMap(({ rule }) => monitor.rules[rule]?.condition ?? [])
  const killed = 'Killed process 4711 (java) total-vm:8123456kB, anon-rss:4012345kB, file-rss:0kB, shmem-rss:0kB'
  expect(conditionsOf(`Out of memory: ${killed}`)).toEqual(['FrequentOOMKill'])
  expect(conditionsOf('Out of memory: Kill process 4711 (java) score 911 or sacrifice child')).toEqual([
    'FrequentOOMKill',
  ])
  expect(conditionsOf('INFO: task postgres:77 blocked for more than 122 seconds.')).toEqual(['TasksHung'])
  const runtime = conditionsOf('INFO: task containerd:77 blocked for more than 122 seconds.')
  expect(runtime).toEqual(['KernelDeadlock', 'TasksHung'])
  // A container that reaches its own limit is the fault of its workload.
  expect(conditionsOf(`Memory cgroup out of memory: ${killed}`)).toEqual([])
})

test('faults of a whole machine are repaired where it is tried, and only shown in the last stage', () => {
  const modes = [...rendered()].map(([file, text]) => [
    file,
    parseAllDocuments(text)
      .map(
        (d) =>
          d.toJS() as {
            readonly kind: string
            readonly metadata: { readonly name: string }
            readonly spec: { readonly mode?: string }
          },
      )
      .filter((o) => o.kind === 'NodeRemedier' && o.spec.mode !== undefined)
      .map((o) => `${o.metadata.name} ${o.spec.mode}`)
      .toSorted(),
  ])
  const of = (mode: string) => OF_MACHINES.map((name) => `${name} ${mode}`)
  expect(Object.fromEntries(modes)).toEqual({
    'cluster-prod.k8s.yaml': of('DryRun'),
    'cluster-test.k8s.yaml': of('Enforce'),
    'hub.k8s.yaml': [],
  })
})

test('a cluster without demo machines has neither their set nor its components, which would be Stalled there', () => {
  const charts = [0, 1].map((workers) => {
    const chart = new ClusterChart(new App({ outdir: out }), `of-${workers}`)
    declareMachines(chart, { name: 'pre', stage: 'pre', isRegistered: false, workers, hasHosts: false, madeHosts: 0 })
    return (chart.toJson() as readonly KubeObject[]).map((o) => o.kind)
  })
  expect(charts).toEqual([[], ['MachineSet', 'MachineComponentSet']])
})

test('every component is for amd64 and arm64', () => {
  const folder = join(root, 'fleet/components')
  const built = readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .map((file) => {
      const { spec } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as MachineComponent
      return [file, spec.artifacts?.map(({ arch }) => arch)]
    })
  expect(built.length).toBeGreaterThan(0)
  for (const [file, archs] of built) expect([['any'], ['amd64', 'arm64']], String(file)).toContainEqual(archs)
})

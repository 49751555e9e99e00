// The page about the repairs of a new fleet names each of its rules, with the condition, the steps and the mode that the template declares, and leaves no cell empty.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { DETECTOR_CONDITIONS } from '#api/agent-config/detector-settings.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import { COMPONENT_UNHEALTHY, NODE_CONDITIONS } from '#api/node-conditions.ts'
import { CONDITIONS_FOR_PEOPLE } from '#test/support/fleets/conditions-for-people.ts'
import { operationName } from '#api/protocol/operations.ts'
import { declaredProblems } from '#declared/declared-problems.ts'
import { initFleet } from '#install/init/init.ts'
import { NOT_PLAYED, PLAYED, RULES } from '../e2e/every-detector/rows.ts'
import { hardwareMonitor } from '../../rules/monitors/hardware.ts'
import kernelMonitor from '../../template/fleet/kernel-monitor.json' with { type: 'json' }

const ROOT = join(import.meta.dirname, '../..')
const PAGE = 'docs/concepts/repairs.md'
const HEAD = '| rule | sees | does | mode | costs | switch it off when |'

let scratch = ''
let objects: readonly KubeObject[] = []
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'kubenode-repairs-page-'))
  const folder = join(scratch, 'fleet')
  await initFleet(
    { dir: folder, cluster: 'prod', key: join(scratch, 'key.pem'), force: false },
    {
      cwd: scratch,
      env: process.env,
      now: Date.now(),
      pack: async (to) => ({ file: join(to, 'none.tgz'), bytes: 0, integrity: '', entries: {} }),
    },
  )
  // The name kubenode is this checkout.
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  for (const name of ['src', 'node_modules']) symlinkSync(join(ROOT, name), join(folder, name))
  const env = { CDK8S_OUTDIR: join(folder, 'out') }
  execFileSync(process.execPath, [join(folder, 'fleet/main.ts')], { cwd: folder, env })
  const text = readFileSync(join(folder, 'out/hub.k8s.yaml'), 'utf8')
  objects = parseAllDocuments(text).map((d) => d.toJS() as KubeObject)
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const rules = () =>
  new Map(objects.filter((o): o is NodeRemedier => o.kind === 'NodeRemedier').map((r) => [r.metadata.name ?? '', r]))

/** Which component is restarted depends on the host. */
const WORDS: Readonly<Record<string, string>> = {
  collectEvidence: 'collects evidence',
  cordon: 'cordons',
  restartComponent: 'restarts',
  reinstallComponent: 'reinstalls',
  cleanDisk: 'frees disk space',
  drain: 'drains',
  rescue: 'restarts the agent with a rescue key',
  rescueReboot: 'reboots with a rescue key',
  reboot: 'reboots',
  reportFault: 'reports the fault to the provider',
  replace: 'replaces the machine',
}

type Operation = NodeRemedier['spec']['ladder'][number]['operations'][number]

const wordOf = (operation: Operation): string => WORDS[operationName(operation) ?? ''] ?? 'a step without a word here'

const stepsOf = ({ spec }: NodeRemedier): string =>
  spec.ladder.map(({ operations }) => operations.map(wordOf).join(', ')).join('; then ')

const conditionsOf = ({ spec }: NodeRemedier): readonly string[] => [
  ...new Set([...JSON.stringify(spec.when).matchAll(/"path":"\/([^/"]+)\/status"/g)].map((m) => m[1] ?? '')),
]

const rows = (): ReadonlyMap<string, readonly string[]> => {
  const [, table = ''] = readFileSync(join(ROOT, PAGE), 'utf8').split(HEAD)
  const lines = (table.split('\n\n')[0] ?? '').split('\n').filter((line) => line.startsWith('| '))
  return new Map(
    lines.map((line) => {
      const [name = '', ...cells] = line
        .split('|')
        .slice(1, -1)
        .map((c) => c.trim())
      return [name.replaceAll('`', '').replace('COMPONENT', 'hello'), cells]
    }),
  )
}

test('it has each rule of a new fleet, as the template declares it', () => {
  const shown = [...rows()].map(([name, [, does, mode]]) => [name, { does, mode }] as const)
  const declared = [...rules()].map(
    ([name, r]) => [name, { does: stepsOf(r), mode: r.spec.mode ?? 'Enforce' }] as const,
  )
  expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(declared))
})

test('each row names its condition, and says what it costs and when to switch it off', () => {
  for (const [name, rule] of rules()) {
    const cells = rows().get(name) ?? []
    expect(
      cells.filter((c) => c.length < 3),
      name,
    ).toEqual([])
    for (const type of conditionsOf(rule)) expect(cells[0], name).toContain(type.replace('hello', 'COMPONENT'))
  }
})

test('every rule of a new fleet can fire, and every condition of its monitors and of the agents has a rule', () => {
  expect(declaredProblems(objects).map((p) => `${p.code}: ${p.message}`)).toEqual([])
  const read = new Set([...rules().values()].flatMap(conditionsOf))
  const unread = Object.keys(NODE_CONDITIONS).filter((type) => !read.has(type))
  expect(unread.toSorted()).toEqual(CONDITIONS_FOR_PEOPLE.toSorted())
})

/** What sets a condition: detectors, the monitors of a new fleet, or neither of them. */
function sourcesOf(type: string): readonly string[] {
  const detectors = Object.entries(DETECTOR_CONDITIONS).flatMap(([name, types]) =>
    types.some((t) => t === type) ? [name] : [],
  )
  const monitors = [...kernelMonitor.monitors, ...hardwareMonitor.monitors].flatMap(({ config }) =>
    config.conditions.some((c) => c.type === type) ? [config.source] : [],
  )
  if (type.startsWith(`${COMPONENT_UNHEALTHY}-`)) return ['components']
  return detectors.length + monitors.length > 0 ? [...detectors, ...monitors] : ['kubelet of the host']
}

test('each detector that a rule acts upon is a row of test/e2e/every-detector, or says there why not', () => {
  const read = [...rules().values()].flatMap(conditionsOf)
  const wanted = [...new Set(read)].flatMap((type) => sourcesOf(type).map((source) => `${source}: ${type}`))
  const rowsThere = [...PLAYED, ...NOT_PLAYED].map((row) => `${row.detector}: ${row.condition}`)
  expect(rowsThere.toSorted()).toEqual(wanted.toSorted())
  for (const { reason, instead } of NOT_PLAYED)
    expect([reason.length > 20, existsSync(join(ROOT, instead))], reason).toEqual([true, true])
})

test('what is played there are the rules of a new fleet, which may have fewer rungs', () => {
  for (const [name, { when, ladder }] of Object.entries(RULES)) {
    const declared = rules().get(name)?.spec
    expect(declared?.when, name).toEqual(when)
    expect(ladder.slice(0, declared?.ladder.length), name).toEqual(declared?.ladder)
  }
})

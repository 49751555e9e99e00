// Agents unlike the rest install, upgrade and repair under today's controllers and today's kinds, as real processes of their bundle: two minors older and two
// minors newer than everything else, whose programs say less, or more, than today's do; and today's on a processor of another kind, under emulation.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { release as kernelRelease, tmpdir } from 'node:os'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, type TestContext } from 'vitest'
import { loopbackAddress } from '#agent/node/address.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { bundleAgent } from '#agent/join/program-bundle.ts'
import { VERSION } from '#lib/program-version.ts'
import { componentSetModule } from '#controllers/componentset/reconcile.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { systemClock } from '#lib/system-clock.ts'
import { isObject } from '#lib/json.ts'
import { definitions } from '#programs/local/install.ts'
import { MemoryProvider, type MemoryHost } from '#test/doubles/providers/memory-provider.ts'
import { unwellComponent } from '../../rules/component/unwell-component.ts'
import { RepairBench } from '#test/support/benches/repair-bench.ts'
import { eventually } from './agent-bench.ts'
import { type ArmNode, armNode } from '#test/support/images/arm-node.ts'
import { programFile } from '#test/support/tools/own-build.ts'

const ROOT = join(import.meta.dirname, '../..')
const POOL = { 'kubenode.io/pool': 'workers' }
const PATIENCE_MS = 200_000

/** What the program of an agent of that age says instead of what today's says. Each pattern has to be there. */
type Changes = readonly (readonly [what: RegExp, instead: string])[]

interface Unlike {
  readonly version: string
  readonly changes: Changes
  readonly arch?: string
}

const AGENTS: Readonly<Record<string, Unlike>> = {
  older: {
    version: '0.0.1',
    changes: [
      [/platform: platformOf\(facts\),?/, ''],
      [/phase,\s*folder,\s*publicKey\s*\}\)/, 'phase, folder })'],
      [/\.\.\.current === void 0 \? \{\} : \{ digest: current\.digest \},?/, ''],
      [/\.\.\.drift === void 0 \? \{\} : \{ drifted: [^}]*\},?/, ''],
      [/\.\.\.defined\(\{\s*reason,\s*output\s*\}\),?/, ''],
    ],
  },
  newer: {
    version: '0.3.0',
    changes: [
      [/bootID: facts\.bootId,\s*agent: \{/, '$&pace: "fast",'],
      [/platform: platformOf\(facts\)/, 'load: { one: 1 }, health: [{ name: "x" }], $&'],
      [/name: component,\s*state,/, '$& hint: "new", tries: 3,'],
      [/executor: "Agent",/, '$& exitCode: 0,'],
    ],
  },
  arm: { version: VERSION, changes: [], arch: 'arm64' },
}
const MACHINES = Object.keys(AGENTS)

const folder = mkdtempSync(join(tmpdir(), 'kubenode-skew-'))
const publisher = newPublisher()
const hosts = new Map<string, MemoryHost>()
const provider = new MemoryProvider({ clock: systemClock, name: 'skew', hosts })
const stop = new AbortController()
/** Or why none can run here. */
let arm: ArmNode | string = ''
const agents: ChildProcess[] = []
let bench: RepairBench

const nodeFolder = (machine: string): string => join(folder, 'nodes', machine)
const sick = (machine: string): string => join(nodeFolder(machine), 'sick')

const beacon = (version: string) =>
  release(publisher, {
    version,
    entries: [
      {
        name: 'bin/beacon',
        mode: 0o755,
        content: `#!/usr/bin/env node
const fs = require('node:fs')
const sick = process.env.KUBENODE_ROOT + '/../sick'
fs.rmSync(sick, { force: true })
require('node:http').createServer((q, r) => { r.statusCode = fs.existsSync(sick) ? 500 : 200; r.end('${version}') }).listen(18080, process.env.KUBENODE_ADDRESS)
`,
      },
    ],
    spec: {
      service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' },
      probes: [
        {
          name: 'http',
          http: { port: 18080, path: '/', tls: false },
          interval: '500ms',
          timeout: '1s',
          settle: '300ms',
        },
      ],
    },
  })

function needsEmulator({ skip }: TestContext, machine: string): void {
  if (AGENTS[machine]?.arch !== undefined && typeof arm === 'string') skip(`no emulated processor: ${arm}`)
}

/** What runs the agent of a machine. */
function nodeOf(machine: string): readonly [string, ...string[]] {
  if (AGENTS[machine]?.arch === undefined) return [execPath]
  if (typeof arm === 'string') throw new Error(arm)
  return [...arm.command, arm.node]
}

/** The bundle of today, changed into one of another age. */
function programOf(age: string, bundle: string): string {
  const { version, changes } = AGENTS[age] ?? { version: VERSION, changes: [] }
  const own: Changes = [[new RegExp(`"${VERSION.replaceAll('.', '\\.')}"`), JSON.stringify(version)], ...changes]
  return own.reduce((text, [what, instead]) => {
    if (!what.test(text)) throw new Error(`the bundle has nothing like ${String(what)}: the test has to follow it`)
    return text.replace(what, instead)
  }, bundle)
}

function startAgent(machine: string, bundle: string): void {
  const request = [...hosts.values()].find((h) => h.machine === machine)?.request
  if (request === undefined) throw new Error(`there is no host for ${machine}`)
  const artifactBase = pathToFileURL(join(folder, 'artifacts')).href
  mkdirSync(nodeFolder(machine), { recursive: true })
  const given = { ...request.join, artifactBase, trust: publisher.anchor }
  writeFileSync(join(nodeFolder(machine), 'join.json'), JSON.stringify(given), { mode: 0o600 })
  writeFileSync(
    join(nodeFolder(machine), 'agent.json'),
    // An address of this run alone: the port of the component is the same in all of them.
    JSON.stringify({ metrics: false, lease: '2s', clearAfter: '1s', address: loopbackAddress(folder, machine) }),
  )
  const program = join(folder, `${machine}.mjs`)
  writeFileSync(program, programOf(machine, bundle))
  const [node, ...before] = nodeOf(machine)
  agents.push(spawn(node, [...before, program, '--root', nodeFolder(machine)], { stdio: ['ignore', 'ignore', 'pipe'] }))
  let log = ''
  agents.at(-1)?.stderr?.on('data', (d: Buffer) => writeFileSync(join(folder, `${machine}.log`), (log += d.toString())))
}

/** A server of tomorrow: it has a field that no agent of today knows, and controllers that fill it. */
async function addFutureField(): Promise<void> {
  const name = 'machines.kubenode.io'
  const found = await bench.admin.get(definitions, { name })
  const spec = structuredClone(found?.['spec']) as { versions: { schema: { openAPIV3Schema: unknown } }[] }
  for (const { schema } of spec.versions) {
    const root = schema.openAPIV3Schema
    const inner = isObject(root) && isObject(root['properties']) ? root['properties']['spec'] : undefined
    if (!isObject(inner) || !isObject(inner['properties'])) throw new Error('the definition of Machines has no spec')
    inner['properties']['urgency'] = { type: 'string', maxLength: 20 }
  }
  await bench.admin.patch(definitions, { name }, { type: 'merge', value: { spec } as never })
}

beforeAll(async () => {
  arm = await armNode(folder)
  mkdirSync(join(folder, 'artifacts'), { recursive: true })
  writeFileSync(join(folder, 'artifacts/trust.json'), JSON.stringify(publisher.trust()))
  await bundleAgent({ root: ROOT, out: join(folder, 'agent'), prefix: '/opt/kubenode' })
  const bundle = readFileSync(join(folder, 'agent/agent.mjs'), 'utf8')
  bench = await RepairBench.start()
  await addFutureField()
  for (const version of ['1.0.0', '1.1.0']) {
    const one = beacon(version)
    writeFileSync(join(folder, 'artifacts', one.url), one.artifact)
    await bench.admin.create(machineComponent, one.object)
  }
  void provider.events(({ machine, kind }) => {
    if (kind === 'Started') startAgent(machine, bundle)
  }, stop.signal)
  await bench.startDefender()
  await bench.startControllers([machineModule, componentSetModule, remedyModule, remedyJobModule], {
    providers: { skew: provider },
  })
  await bench.create(machineComponentSet, 'base', {
    selector: { matchLabels: POOL },
    components: [{ name: 'beacon', version: '1.0.0' }],
    rollout: { steps: [1, 5], maxUnavailable: 2, soak: '0s' },
  })
  for (const name of MACHINES.filter((m) => AGENTS[m]?.arch === undefined || typeof arm !== 'string'))
    await bench.admin.create(machineType, {
      apiVersion: API_GROUP_VERSION,
      kind: 'Machine',
      metadata: { name, labels: POOL },
      spec: { provider: { name: 'skew' }, pool: 'workers', urgency: 'High' },
    } as never)
})

afterAll(async () => {
  stop.abort()
  for (const agent of agents) {
    agent.kill('SIGKILL')
    if (agent.exitCode === null && agent.signalCode === null) await once(agent, 'exit')
  }
  for (const machine of MACHINES) {
    const args = [programFile('agent-main'), '--root', nodeFolder(machine), '--stop']
    await once(spawn(execPath, args, { stdio: 'ignore' }), 'exit')
  }
  await bench.close()
  rmSync(folder, { recursive: true, force: true })
})

const statusOf = async (name: string) => (await bench.admin.get(machineType, { name }))?.status

async function reaches(name: string, version: string): Promise<void> {
  try {
    await eventually(
      `${version} on ${name}`,
      () => statusOf(name),
      (s) => s?.phase === 'Ready' && s.components?.[0]?.state === 'Healthy' && s.components[0].version === version,
      PATIENCE_MS,
    )
  } catch (e) {
    throw new Error(readFileSync(join(folder, `${name}.log`), 'utf8').slice(-4_000), { cause: e })
  }
}

test.for(MACHINES)('the agent that is %s joins, installs and says what it is', async (name, context) => {
  needsEmulator(context, name)
  await reaches(name, '1.0.0')
  const status = await statusOf(name)
  const { version, arch } = AGENTS[name] ?? {}
  expect(status?.agent?.version).toBe(version)
  if (arch !== undefined) expect(status?.platform?.arch).toBe(arch)
})

test('an older one reports less, and more from a newer one is left out', async () => {
  const [older, newer] = [await statusOf('older'), await statusOf('newer')]
  expect([older?.platform, older?.components?.[0]?.digest, newer?.platform?.kernel]).toEqual([
    undefined,
    undefined,
    kernelRelease(),
  ])
  expect(JSON.stringify(newer)).not.toMatch(/"(load|hint|tries|pace)"/)
  expect(readFileSync(join(folder, 'newer.log'), 'utf8')).toContain('field not known to this API server is omitted')
  expect((await bench.admin.get(machineType, { name: 'older' }))?.spec).toMatchObject({ urgency: 'High' })
})

describe('under the permits of a rollout', () => {
  beforeAll(async () => {
    const value = { spec: { components: [{ name: 'beacon', version: '1.1.0' }] } }
    await bench.admin.patch(machineComponentSet, { name: 'base' }, { type: 'merge', value })
  })
  test.for(MACHINES)('the agent that is %s is upgraded', async (name, context) => {
    needsEmulator(context, name)
    await reaches(name, '1.1.0')
  })
})

describe('by a rule, under a permit', () => {
  beforeAll(() => bench.rule('unwell-beacon', unwellComponent('beacon')))
  test.for(MACHINES)('the machine of the agent that is %s is repaired', async (name, context) => {
    needsEmulator(context, name)
    writeFileSync(sick(name), '')
    const job = await eventually(
      `a repair of ${name}`,
      async () => (await bench.admin.list(remedyOperationJob)).items.find((j) => j.spec.machine === name),
      (j) => j?.status?.outcome !== undefined,
      PATIENCE_MS,
    )
    expect([job?.status?.outcome, job?.status?.steps?.[0]?.outcome]).toEqual(['Succeeded', 'Succeeded'])
    await reaches(name, '1.1.0')
  })
  afterAll(() => expect(bench.forbidden()).toEqual([]))
})

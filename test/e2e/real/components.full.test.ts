// Components as they come from Debian's packages, made by `kubenode artifact from-deb`, on a machine with systemd: installed, switched, broken and repaired.
import { copyFileSync, mkdirSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { cpSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execPath } from 'node:process'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { machine as machineType } from '#api/kinds/machine.ts'
import { machineComponent, type MachineComponent } from '#api/kinds/machine-component.ts'
import { signStatement } from '#api/trust/statement.ts'
import { bundleAgent } from '#agent/join/program-bundle.ts'
import { run } from '#cli/program.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { AgentBench, MACHINE, eventually } from '../../integration/agent-bench.ts'
import { debFiles } from '../agent-host/debs.ts'
import { HostMachine, noMachines } from '../agent-host/machine.ts'

const ROOT = join(import.meta.dirname, '../../..')
const ARTIFACTS = '/mnt/artifacts'
const AGENT = '/mnt/agent'
/** The network is shared with this machine: a port of this run alone, below those that the system gives to connections. */
const PORT = 16_000 + (process.pid % 4_000)
const SLOW_MS = 300_000

const missing = noMachines()
const bench = new AgentBench()
let host: HostMachine | undefined
let why = missing

const machine = (): HostMachine => {
  if (host === undefined) throw new Error('there is no machine')
  return host
}
const systemctl = (...args: readonly string[]): string =>
  machine()
    .run('systemctl', ...args)
    .out.trim()
const mainPid = (unit: string): string => systemctl('show', '-p', 'MainPID', '--value', unit)
const agentLog = (): string =>
  machine().run('journalctl', '-u', 'kubenode-agent', '--no-pager', '-n', '60', '-o', 'cat').out

const own = (name: string, text: string): string => {
  const path = join(bench.folder, name)
  writeFileSync(path, text)
  return path
}

/** Made as a user makes it, signed with the key that this fleet trusts, and served as it is. Answers with its version. */
async function made(recipe: string, deb: string, ...flags: readonly string[]): Promise<string> {
  const [statements, artifacts] = [join(bench.folder, 'statements'), join(bench.folder, 'made')]
  let out = ''
  const io = { out: (t: string) => (out += t), err: () => undefined, cwd: bench.folder, env: {}, isTerminal: false }
  const places = ['--statements', statements, '--artifacts', artifacts, '-o', 'json']
  const code = await run(['artifact', 'from-deb', deb, '--recipe', recipe, ...places, ...flags], io)
  if (code !== 0) throw new Error(`${recipe}: ${out}`)
  const object = JSON.parse(out) as MachineComponent
  const probes = object.spec.probes?.map((p) => ({
    ...p,
    ...(p.http !== undefined && { http: { ...p.http, port: PORT } }),
    interval: '1s',
    settle: '2s',
  }))
  // Edited before it is signed, as docs/tasks/own-component.md has it: the network of this machine is not its own.
  const spec = signStatement({ ...object.spec, ...defined({ probes }) }, bench.publisher.signer)
  const url = spec.artifacts?.[0]?.url ?? ''
  mkdirSync(dirname(join(bench.folder, 'artifacts', url)), { recursive: true })
  copyFileSync(join(artifacts, url), join(bench.folder, 'artifacts', url))
  await bench.client.create(machineComponent, { ...object, spec })
  return spec.version
}

const wanted = new Map<string, { readonly name: string; readonly version: string; readonly attempt: number }>()

async function order(name: string, version: string): Promise<void> {
  const attempt = (wanted.get(name)?.attempt ?? 0) + 1
  const permit = `p-${name}-${attempt}`
  if (attempt > 1) await bench.permit(permit, 'SwitchComponent', 'Granted')
  wanted.set(name, { name, version, attempt, ...(attempt > 1 && { switch: { attempt, permit } }) })
  const object = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: MACHINE },
    spec: { components: [...wanted.values()] },
  }
  await bench.client.apply(machineType, object, { fieldManager: 'kubenode-machine', force: true })
}

async function reaches(name: string, state: string, version: string): Promise<void> {
  try {
    await eventually(
      `${name} ${version} ${state}`,
      () => bench.component(name),
      (c) => c?.state === state && c.version === version,
      180_000,
    )
  } catch (e) {
    const units = machine().run(
      'sh',
      '-c',
      'systemctl --no-pager status containerd chrony prometheus-node-exporter; journalctl --no-pager -n 40',
    ).out
    throw new Error(`${agentLog()}\n${units}`, { cause: e })
  }
}

/** A container of the host's network, from a folder: what lives in it must outlive every switch. */
function startContainer(): string {
  const { root } = machine()
  for (const path of ['bin/sleep', 'lib64/ld-linux-x86-64.so.2', 'lib/x86_64-linux-gnu/libc.so.6']) {
    mkdirSync(dirname(join(root, 'var/lib/container', path)), { recursive: true })
    cpSync(realpathSync(join(root, 'usr', path)), join(root, 'var/lib/container', path))
  }
  machine().run('touch', '/etc/hosts', '/etc/resolv.conf')
  const flags = ['-d', '--rootfs', '--net-host', '/var/lib/container', 'c1', '/bin/sleep', '3000']
  expect(machine().run('ctr', 'run', ...flags)).toEqual({ code: 0, out: '' })
  return containerPid()
}
const containerPid = (): string => /c1\s+(\d+)\s+RUNNING/.exec(machine().run('ctr', 'task', 'ls').out)?.[1] ?? ''

const versions = { containerd: ['', ''], chrony: ['', ''], exporter: ['', ''], runc: '', cni: '', broken: '' }

beforeAll(async () => {
  if (missing !== undefined) return
  const [containerd, runc, cni, exporter, chrony] = [
    'containerd',
    'runc',
    'containernetworking-plugins',
    'prometheus-node-exporter',
    'chrony',
  ].map((name) => debFiles('bookworm', name).slice(-2))
  const [old = '', young = old] = containerd ?? []
  if ([containerd, runc, cni, exporter, chrony].some((files) => files?.[0] === undefined)) {
    why = 'Debian’s packages cannot be fetched'
    return
  }
  await bench.start()
  await bundleAgent({ root: ROOT, out: join(bench.folder, 'agent'), prefix: '/opt/kubenode', node: execPath })
  const options = ['--file', `${own('chrony', 'DAEMON_OPTS="-F 1 -x"\n')}=/etc/default/chrony`]
  const listen = (more: string) =>
    `${own('exporter', `ARGS="--web.listen-address=127.0.0.1:${PORT} ${more}"\n`)}=/etc/default/prometheus-node-exporter`
  versions.runc = await made('runc', runc?.at(-1) ?? '')
  versions.cni = await made('cni-plugins', cni?.at(-1) ?? '')
  versions.containerd = [
    await made('containerd', old),
    young === old ? await made('containerd', old, '--as', '1.6.20+again') : await made('containerd', young),
  ]
  versions.broken = await made(
    'containerd',
    young,
    '--as',
    '1.6.99',
    '--file',
    `${own('broken', 'version = "none"\n')}=/etc/containerd/config.toml`,
  )
  // Debian has one version of these: the second differs in its configuration.
  versions.chrony = [
    await made('chrony', chrony?.at(-1) ?? '', ...options),
    await made(
      'chrony',
      chrony?.at(-1) ?? '',
      ...options,
      '--as',
      '4.3+own',
      '--file',
      `${own('conf', 'driftfile /var/lib/chrony/drift\n')}=/etc/chrony/chrony.conf`,
    ),
  ]
  versions.exporter = [
    await made('node-exporter', exporter?.at(-1) ?? '', '--file', listen('')),
    await made(
      'node-exporter',
      exporter?.at(-1) ?? '',
      '--as',
      '1.5.0+own',
      '--file',
      listen('--collector.disable-defaults'),
    ),
  ]
  host = new HostMachine([`${join(bench.folder, 'artifacts')}:${ARTIFACTS}`, `${join(bench.folder, 'agent')}:${AGENT}`])
  await host.boot()
  // An overlay cannot lie on another one, and a runtime makes some.
  host.run('mkdir', '-p', '/var/lib/containerd')
  expect(host.run('mount', '-t', 'tmpfs', 'tmpfs', '/var/lib/containerd').code).toBe(0)
}, 600_000)

afterAll(async () => {
  if (missing !== undefined) return
  await host?.remove()
  await bench.stop()
}, SLOW_MS)

beforeEach((context) => {
  if (why !== undefined) context.skip(why)
})

describe('components from Debian’s packages', () => {
  test('are installed on a bare host: the runtime reports itself ready, the exporter serves, chrony tracks', async () => {
    await order('runc', versions.runc)
    await order('cni-plugins', versions.cni)
    await order('containerd', versions.containerd[0] ?? '')
    await order('node-exporter', versions.exporter[0] ?? '')
    await order('chrony', versions.chrony[0] ?? '')
    const bundle = Buffer.from(JSON.stringify(bench.joinBundle(ARTIFACTS))).toString('base64')
    // Beside us: on a busy machine it takes longer than one command may.
    expect(machine().run('systemd-run', '--quiet', '--collect', `${AGENT}/join.sh`, bundle).code).toBe(0)
    for (const { name, version } of wanted.values()) await reaches(name, 'Healthy', version)
    for (const unit of ['containerd', 'chrony', 'prometheus-node-exporter'])
      expect([unit, systemctl('is-active', unit), systemctl('is-enabled', unit)]).toEqual([unit, 'active', 'enabled'])
    expect(machine().run('ps', '-o', 'user=', '-p', mainPid('prometheus-node-exporter')).out.trim()).toMatch(/^prometh/)
    expect(machine().run('/usr/lib/cni/loopback').out).toContain('CNI')
  }, 900_000)

  test(
    'containerd is switched from one version of Debian to the next, and its container does not notice',
    async () => {
      const before = { container: startContainer(), daemon: mainPid('containerd') }
      expect(before.container).not.toBe('')
      await order('containerd', versions.containerd[1] ?? '')
      await reaches('containerd', 'Healthy', versions.containerd[1] ?? '')
      expect(mainPid('containerd')).not.toBe(before.daemon)
      expect(containerPid()).toBe(before.container)
    },
    SLOW_MS,
  )

  test(
    'chrony and node-exporter are switched',
    async () => {
      await order('chrony', versions.chrony[1] ?? '')
      await order('node-exporter', versions.exporter[1] ?? '')
      await reaches('chrony', 'Healthy', versions.chrony[1] ?? '')
      await reaches('node-exporter', 'Healthy', versions.exporter[1] ?? '')
      expect(await (await fetch(`http://127.0.0.1:${PORT}/metrics`)).text()).not.toContain('node_cpu_seconds_total')
    },
    SLOW_MS,
  )

  test(
    'a runtime that cannot read its configuration goes back, and the container runs through it',
    async () => {
      const container = containerPid()
      await order('containerd', versions.broken)
      await reaches('containerd', 'RolledBack', versions.containerd[1] ?? '')
      await eventually(
        'the runtime',
        () => machine().run('ctr', 'version').code,
        (code) => code === 0,
      )
      expect(containerPid()).toBe(container)
      await order('containerd', versions.containerd[1] ?? '')
      await reaches('containerd', 'Healthy', versions.containerd[1] ?? '')
    },
    SLOW_MS,
  )

  test(
    'a runtime that is frozen is reported within seconds and repaired; its container stays',
    async () => {
      const before = { container: containerPid(), daemon: mainPid('containerd') }
      const from = systemClock.monotonic()
      systemctl('kill', '--kill-who=main', '-s', 'STOP', 'containerd')
      await eventually(
        'the condition',
        () => bench.condition('ComponentUnhealthy-containerd'),
        (c) => c?.startsWith('True') === true,
        30_000,
      )
      const seen = systemClock.monotonic() - from
      await bench.permit('p-repair', 'RestartComponent', 'Granted')
      await bench.job('repair', [{ restartComponent: { component: 'containerd' } }], 'p-repair')
      await bench.listJobs(['repair'])
      await eventually(
        'the repair',
        () => bench.steps('repair'),
        (steps) => steps[0]?.outcome === 'Succeeded',
        60_000,
      )
      process.stdout.write(`${JSON.stringify({ frozen_runtime_reported_ms: Math.round(seen) })}\n`)
      await eventually(
        'the end of the condition',
        () => bench.condition('ComponentUnhealthy-containerd'),
        (c) => c?.startsWith('False') === true,
        60_000,
      )
      expect(mainPid('containerd')).not.toBe(before.daemon)
      expect(containerPid()).toBe(before.container)
      machine().run('ctr', 'task', 'kill', '-s', 'KILL', 'c1')
    },
    SLOW_MS,
  )

  test(
    'a component that leaves takes its unit with it, and systemd knows nothing of it any more',
    async () => {
      wanted.delete('chrony')
      await order('cni-plugins', versions.cni)
      await eventually(
        'the end of chrony',
        () => bench.component('chrony'),
        (c) => c === undefined,
        60_000,
      )
      const units = readdirSync(join(machine().root, 'etc/systemd/system'), { recursive: true, encoding: 'utf8' })
      expect([systemctl('is-active', 'chrony'), units.filter((u) => u.includes('chrony'))]).toEqual(['inactive', []])
      expect(readFileSync(join(machine().root, 'etc/passwd'), 'utf8')).toContain('_chrony')
    },
    SLOW_MS,
  )
})

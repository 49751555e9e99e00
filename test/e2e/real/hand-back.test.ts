// A host with containerd of Debian and a kubelet as kubeadm lays it out is previewed, adopted, upgraded in part and handed back: its files are as before, byte
// for byte with mode, owner and links, and what kept its version was never stopped.
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { machine as machineType } from '#api/kinds/machine.ts'
import { bundleAgent } from '#agent/join/program-bundle.ts'
import { onlyInFull } from '#test/support/tools/full.ts'
import { release } from '#test/doubles/node/release.ts'
import { AgentBench, MACHINE, eventually } from '../../integration/agent-bench.ts'
import { programOf, unpackedDeb } from '../agent-host/debs.ts'
import { HostMachine, noMachines } from '../agent-host/machine.ts'
import { differences } from './host-tree.ts'
import { KubeletGround } from './kubelet-ground.ts'
import { sha256Hex } from '#lib/sha256.ts'

const ROOT = join(import.meta.dirname, '../../..')
const ARTIFACTS = '/mnt/artifacts'
const AGENT = '/mnt/agent'
/** Without an API server. The network is shared with this machine: it listens on no port and changes no rule of a firewall. */
const CONFIG = `${JSON.stringify({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  authentication: { anonymous: { enabled: false }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  cgroupDriver: 'cgroupfs',
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  enableServer: false,
  failCgroupV1: false,
  failSwapOn: false,
  healthzPort: 0,
  makeIPTablesUtilChains: false,
})}\n`

/** A real one where binaries are, or one that does nothing but run. */
const kubelet = (): Buffer => {
  const folder = process.env['KUBEBUILDER_ASSETS']
  const real = folder === undefined ? undefined : join(folder, 'kubelet')
  return real !== undefined && existsSync(real)
    ? readFileSync(real)
    : Buffer.from('#!/bin/sh\ntrap "exit 0" TERM\nwhile :; do sleep 1; done\n')
}

const missing = noMachines()
const bench = new AgentBench()
let host: HostMachine | undefined
let folder = ''
let ground: KubeletGround | undefined
let why = missing
let before: ReadonlyMap<string, string> = new Map()
let states: readonly string[] = []

const machine = (): HostMachine => {
  if (host === undefined) throw new Error('there is no machine')
  return host
}
const systemctl = (...args: readonly string[]): string =>
  machine()
    .run('systemctl', ...args)
    .out.trim()
const pidOf = (unit: string): string => systemctl('show', '-p', 'MainPID', '--value', unit)
const UNITS = ['kubelet', 'containerd']
const unitStates = (): readonly string[] =>
  UNITS.map((u) => systemctl('show', '-p', 'ActiveState,UnitFileState,NRestarts,DropInPaths,FragmentPath', u))

const put = (path: string, content: string | Buffer, mode: number, gid = 0): void =>
  ground?.put(machine().root, path, content, mode, gid)
const tree = (): ReadonlyMap<string, string> => ground?.tree(machine().leader()) ?? new Map()

/** As kubeadm and its packages lay a kubelet out. */
function layOutKubelet(): void {
  put('/usr/bin/kubelet', kubelet(), 0o755)
  put(
    '/usr/lib/systemd/system/kubelet.service',
    '[Unit]\nDescription=kubelet\n[Service]\nExecStart=/usr/bin/kubelet\nRestart=always\nStartLimitInterval=0\nRestartSec=10\n[Install]\nWantedBy=multi-user.target\n',
    0o644,
  )
  put(
    '/etc/systemd/system/kubelet.service.d/10-kubeadm.conf',
    '[Service]\nEnvironmentFile=-/etc/default/kubelet\nExecStart=\nExecStart=/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml $KUBELET_EXTRA_ARGS\n',
    0o644,
  )
  put('/etc/default/kubelet', 'KUBELET_EXTRA_ARGS=\n', 0o644)
  put('/var/lib/kubelet/config.yaml', CONFIG, 0o640, 4)
}

const kubeletRelease = () =>
  release(bench.publisher, {
    component: 'kubelet',
    version: '1.36.2',
    entries: [{ name: 'kubelet', content: kubelet(), mode: 0o755 }],
    spec: {
      install: { binaries: [{ source: 'kubelet', path: '/usr/bin/kubelet', mode: '0755' }] },
      files: [
        { path: '/var/lib/kubelet/config.yaml', mode: '0644', format: 'plain', template: CONFIG, onChange: 'Restart' },
      ],
      service: { unit: 'kubelet', restart: 'Always', killMode: 'Process' },
      probes: [{ name: 'unit', unit: { name: 'kubelet.service' }, interval: '1s', timeout: '3s', settle: '1s' }],
    },
  })

const runtimeRelease = (version: string, program: Buffer, config: string) =>
  release(bench.publisher, {
    component: 'containerd',
    version,
    entries: [{ name: 'bin/containerd', content: program, mode: 0o755 }],
    spec: {
      install: { binaries: [{ source: 'bin/containerd', path: '/usr/bin/containerd', mode: '0755' }] },
      files: [
        { path: '/etc/containerd/config.toml', mode: '0644', format: 'plain', template: config, onChange: 'Restart' },
      ],
      service: { exec: '/usr/bin/containerd', unit: 'containerd', restart: 'Always', killMode: 'Process' },
      probes: [{ name: 'unit', unit: { name: 'containerd.service' }, interval: '1s', timeout: '3s', settle: '1s' }],
    },
  })

interface Order {
  readonly name: string
  readonly version: string
  readonly attempt: number
}
const wanted = new Map<string, Order>()
let spec: Readonly<Record<string, unknown>> = { adoption: 'Preview' }

async function declare(): Promise<void> {
  const object = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: MACHINE },
    spec: { ...spec, components: [...wanted.values()] },
  }
  await bench.client.apply(machineType, object, { fieldManager: 'kubenode-machine', force: true })
}

async function order(name: string, version: string): Promise<void> {
  const attempt = (wanted.get(name)?.attempt ?? 0) + 1
  const permit = `p-${name}-${++bench.permits}`
  await bench.permit(permit, 'SwitchComponent', 'Granted')
  wanted.set(name, { name, version, attempt, ...({ switch: { attempt, permit } } as object) })
}

const log = (unit: string): string => machine().run('journalctl', '-u', unit, '--no-pager', '-n', '80', '-o', 'cat').out
const agentLog = (): string => log('kubenode-agent')

async function reaches(name: string, state: string, version: string | undefined) {
  try {
    return await eventually(
      `${name} ${version} ${state}`,
      () => bench.component(name),
      (c) => c?.state === state && c.version === version,
      60_000,
    )
  } catch (e) {
    throw new Error(agentLog(), { cause: e })
  }
}

beforeAll(async () => {
  if (missing !== undefined) return
  const [runtime, runc] = [unpackedDeb('bookworm', 'containerd'), unpackedDeb('bookworm', 'runc')]
  if (runtime === undefined || runc === undefined) {
    why = 'Debian’s packages cannot be fetched'
    return
  }
  await bench.start()
  await bundleAgent({ root: ROOT, out: join(bench.folder, 'agent'), prefix: '/opt/kubenode', node: execPath })
  folder = mkdtempSync('/var/tmp/kubenode-hand-back-')
  ground = new KubeletGround(folder)
  const served = [`${join(bench.folder, 'artifacts')}:${ARTIFACTS}`, `${join(bench.folder, 'agent')}:${AGENT}`]
  host = new HostMachine([...served, ...ground.binds], { writable: ground.writable })
  for (const folder of [runtime, runc]) cpSync(join(folder, 'usr'), join(host.root, 'usr'), { recursive: true })
  if (existsSync(join(runtime, 'lib'))) cpSync(join(runtime, 'lib'), join(host.root, 'usr/lib'), { recursive: true })
  ground.layOut(host.root)
  layOutKubelet()
  put('/etc/containerd/config.toml', 'version = 2\n', 0o644)
  await host.boot()
  for (const unit of UNITS) systemctl('enable', '--now', unit)
  for (const unit of UNITS)
    await eventually(
      unit,
      () => systemctl('is-active', unit),
      (s) => s === 'active',
    ).catch((e: unknown) => {
      throw new Error(log(unit), { cause: e })
    })
  before = tree()
  states = unitStates()
  const containerd = programOf(runtime, 'usr/bin/containerd')
  await bench.publish(kubeletRelease())
  await bench.publish(runtimeRelease('1.6.20', containerd, 'version = 2\n# ours\n'))
  await bench.publish(runtimeRelease('1.6.21', Buffer.concat([containerd, Buffer.from([0])]), 'version = 2\n# ours\n'))
}, 180_000)

afterAll(async () => {
  if (missing !== undefined) return
  await host?.remove()
  if (folder !== '') rmSync(folder, { recursive: true, force: true })
  await bench.stop()
})

beforeEach((context) => {
  if (why !== undefined) context.skip(why)
})

async function joins(): Promise<void> {
  wanted.clear()
  await declare()
  bench.machineUid = (await bench.machine())?.metadata.uid
  const bundle = Buffer.from(JSON.stringify(bench.joinBundle(ARTIFACTS))).toString('base64')
  // Without a start: the command would wait for an agent whose API server is this very process.
  const { code, out } = machine().run(`${AGENT}/join.sh`, bundle, '--no-start')
  expect([code, out]).toEqual([0, expect.stringContaining('this host joins')])
  systemctl('daemon-reload')
  systemctl('enable', '--now', 'kubenode-agent')
  await eventually(
    'the agent',
    () => bench.machine(),
    (m) => m?.status?.agent !== undefined,
    40_000,
  )
}

const isGone = (): boolean =>
  !['/var/lib/kubenode', '/opt/kubenode', '/etc/systemd/system/kubenode-agent.service'].some((p) =>
    existsSync(join(machine().root, p)),
  )

async function leaves(): Promise<void> {
  await eventually('the host without its agent', isGone, Boolean, 60_000).catch((e: unknown) => {
    throw new Error(agentLog(), { cause: e })
  })
}

test('F47 a host is previewed, adopted and handed back, and nothing on it was stopped', async () => {
  const pids = UNITS.map(pidOf)
  await joins()
  await order('kubelet', '1.36.2')
  await order('containerd', '1.6.20')
  await declare()
  await reaches('kubelet', 'Staged', undefined)
  const seen = await eventually(
    'the preview',
    () => bench.component('containerd'),
    (c) => c?.adoption !== undefined,
    30_000,
  )
  expect(seen?.adoption).toMatchObject({
    equal: ['/usr/bin/containerd'],
    replaced: ['/etc/containerd/config.toml'],
    restarts: true,
  })
  const kubelet = await eventually(
    'the preview of the kubelet',
    () => bench.component('kubelet'),
    (c) => c?.adoption !== undefined,
    30_000,
  )
  expect(kubelet?.adoption).toEqual({
    equal: ['/usr/bin/kubelet', '/var/lib/kubelet/config.yaml'],
    kept: ['/usr/bin/kubelet', '/var/lib/kubelet/config.yaml', 'kubelet.service (active, enabled)'],
    stays: ['/etc/systemd/system/kubelet.service.d/10-kubeadm.conf'],
    restarts: false,
  })
  expect(UNITS.map(pidOf)).toEqual(pids)

  // Only the kubelet is adopted; the runtime stays as it is.
  wanted.delete('containerd')
  spec = { adoption: 'Adopt' }
  await declare()
  await reaches('kubelet', 'Healthy', '1.36.2')
  expect([pidOf('kubelet'), machine().run('readlink', '/usr/bin/kubelet').out]).toEqual([
    pids[0],
    expect.stringMatching(/^\/var\/lib\/kubenode\/state\/components\/kubelet\/current\//),
  ])
  const planned = await eventually(
    'what would happen at the end',
    () => bench.component('kubelet'),
    (c) => c?.removal !== undefined,
  )
  expect(planned?.removal).toEqual({ how: 'Restore', restarts: false })

  spec = { adoption: 'Adopt', leaving: true }
  await declare()
  await leaves()
  expect((await bench.machine())?.status?.agent?.phase).toBe('Left')
  expect([differences(before, tree()), UNITS.map(pidOf), unitStates()]).toEqual([[], pids, states])
}, 150_000)

test('F47 what a person did to the units meanwhile outlives the hand-back', async () => {
  spec = { adoption: 'Adopt' }
  await joins()
  await order('kubelet', '1.36.2')
  await order('containerd', '1.6.20')
  await declare()
  for (const name of ['kubelet', 'containerd']) await reaches(name, 'Healthy', name === 'kubelet' ? '1.36.2' : '1.6.20')
  const pid = pidOf('kubelet')
  systemctl('mask', 'kubelet')
  systemctl('disable', 'containerd')
  spec = { adoption: 'Adopt', leaving: true }
  await declare()
  await leaves()
  const files = differences(before, tree()).filter((line) => !line.startsWith('/etc/rc'))
  expect(files).toEqual([
    expect.stringMatching(/^\/etc\/systemd\/system\/kubelet\.service: absent -> link 0:0 \/dev\/null$/),
    expect.stringMatching(
      /^\/etc\/systemd\/system\/multi-user\.target\.wants\/containerd\.service: link .* -> absent$/,
    ),
  ])
  expect([pidOf('kubelet'), systemctl('is-active', 'containerd'), systemctl('is-enabled', 'containerd')]).toEqual([
    pid,
    'active',
    'disabled',
  ])
  systemctl('unmask', 'kubelet')
  systemctl('enable', 'containerd')
}, 150_000)

test('F47 an upgraded runtime stays at its version and works alone, although the agent is killed again and again', async (context) => {
  onlyInFull(context)
  spec = { adoption: 'Adopt' }
  await joins()
  await order('kubelet', '1.36.2')
  await order('containerd', '1.6.20')
  await declare()
  await reaches('containerd', 'Healthy', '1.6.20')
  await order('containerd', '1.6.21')
  await declare()
  await reaches('containerd', 'Healthy', '1.6.21')
  const pids = UNITS.map(pidOf)
  machine().run('touch', '/var/lib/kubenode/leave.json')
  // The order of a person on the host; killed a few times on the way, with nothing of the API server needed to resume.
  for (let n = 0; n < 4 && existsSync(join(machine().root, 'var/lib/kubenode')); n++) {
    machine().run('systemctl', 'kill', '-s', 'KILL', '--kill-who=all', 'kubenode-agent')
    await eventually(
      'another agent',
      () => systemctl('is-active', 'kubenode-agent'),
      (s) => s !== 'activating',
    )
  }
  await leaves()
  const left = differences(before, tree())
  expect(left.map((l) => l.split(':')[0])).toEqual([
    '/etc/containerd/config.toml',
    '/etc/systemd/system/containerd.service.d',
    '/etc/systemd/system/containerd.service.d/50-kubenode.conf',
    '/usr/bin/containerd',
  ])
  const saved = readFileSync(join(machine().root, 'var/backups/kubenode/containerd/usr/bin/containerd'))
  expect(before.get('/usr/bin/containerd')).toBe(`file 755 0:0 ${sha256Hex(saved)}`)
  expect(left.at(-1)).toMatch(/^\/usr\/bin\/containerd: file 755 0:0 .* -> file 755 0:0 /)
  expect(UNITS.map(pidOf)).toEqual(pids)
  expect(systemctl('restart', 'containerd')).toBe('')
  expect(systemctl('is-active', 'containerd')).toBe('active')
}, 150_000)

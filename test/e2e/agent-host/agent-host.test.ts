// An agent on a host of its own, with systemd: joined in one line from its bundle, it installs, upgrades, breaks and takes over real programs of Debian.
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execPath } from 'node:process'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { machine as machineType } from '#api/kinds/machine.ts'
import { release, type Release } from '#test/doubles/node/release.ts'
import { bundleAgent } from '#agent/join/program-bundle.ts'
import { AgentBench, MACHINE, eventually } from '../../integration/agent-bench.ts'
import { programOf, unpackedDeb } from './debs.ts'
import { HostMachine, noMachines } from './machine.ts'

const ROOT = join(import.meta.dirname, '../../..')
const ARTIFACTS = '/mnt/artifacts'
const AGENT = '/mnt/agent'
/** The network is shared with this machine: ports of this run alone, below those that the system gives to connections. */
const PORT = 20_000 + (process.pid % 4_000) * 3
const ETCD_PORT = PORT + 1
const EXPORTER = 'node-exporter'
const UNIT = `kubenode-${EXPORTER}.service`

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

const exporter = (version: string, program: Buffer | string, user = 'daemon'): Release =>
  release(bench.publisher, {
    component: EXPORTER,
    version,
    entries: [{ name: 'bin/prometheus-node-exporter', content: program, mode: 0o755 }],
    spec: {
      install: { unpack: { path: `/opt/${EXPORTER}` } },
      files: [
        { path: '/etc/node-exporter.conf', mode: '0644', format: 'plain', template: 'as declared\n', onChange: 'None' },
      ],
      service: {
        exec: `/opt/${EXPORTER}/bin/prometheus-node-exporter`,
        args: [`--web.listen-address=127.0.0.1:${PORT}`],
        user,
        restart: 'Always',
        killMode: 'Group',
      },
      probes: [
        {
          name: 'http',
          http: { port: PORT, path: '/metrics', tls: false },
          interval: '1s',
          timeout: '2s',
          settle: '1s',
        },
      ],
    },
  })

const runtimeRelease = (version: string, program: Buffer): Release =>
  release(bench.publisher, {
    component: 'containerd',
    version,
    entries: [{ name: 'bin/containerd', content: program, mode: 0o755 }],
    spec: {
      install: { binaries: [{ source: 'bin/containerd', path: '/usr/bin/containerd', mode: '0755' }] },
      service: { exec: '/usr/bin/containerd', unit: 'containerd', restart: 'Always', killMode: 'Process' },
      probes: [{ name: 'unit', unit: { name: 'containerd.service' }, interval: '1s', timeout: '3s', settle: '1s' }],
    },
  })

const etcd = (version: string, program: Buffer): Release =>
  release(bench.publisher, {
    component: 'etcd',
    version,
    entries: [{ name: 'bin/etcd', content: program, mode: 0o755 }],
    spec: {
      install: { unpack: { path: '/opt/etcd' } },
      service: {
        exec: '/opt/etcd/bin/etcd',
        args: [
          '--data-dir=/var/lib/etcd-of-test',
          `--listen-client-urls=http://127.0.0.1:${ETCD_PORT}`,
          `--advertise-client-urls=http://127.0.0.1:${ETCD_PORT}`,
          `--listen-peer-urls=http://127.0.0.1:${ETCD_PORT + 1}`,
        ],
        restart: 'Always',
        killMode: 'Group',
      },
      probes: [
        {
          name: 'health',
          http: { port: ETCD_PORT, path: '/health', tls: false },
          interval: '1s',
          timeout: '2s',
          settle: '1s',
        },
      ],
    },
  })

interface Order {
  readonly name: string
  readonly version: string
  readonly attempt: number
}
const wanted = new Map<string, Order>()

async function order(name: string, version: string, isFirst = false): Promise<void> {
  const attempt = (wanted.get(name)?.attempt ?? 0) + 1
  const permit = `p-${name}-${attempt}`
  if (!isFirst) await bench.permit(permit, 'SwitchComponent', 'Granted')
  wanted.set(name, { name, version, attempt, ...(isFirst ? {} : { switch: { attempt, permit } }) })
  await declare()
}

async function declare(): Promise<void> {
  const object = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: MACHINE },
    spec: { components: [...wanted.values()] },
  }
  await bench.client.apply(machineType, object, { fieldManager: 'kubenode-machine', force: true })
}

async function reaches(name: string, state: string, version: string) {
  try {
    return await eventually(
      `${name} ${version} ${state}`,
      () => bench.component(name),
      (c) => c?.state === state && c.version === version,
      45_000,
    )
  } catch (e) {
    throw new Error(agentLog(), { cause: e })
  }
}

const served = async (): Promise<string | undefined> => {
  try {
    const text = await (await fetch(`http://127.0.0.1:${PORT}/metrics`)).text()
    return /node_exporter_build_info\{[^}]*version="([^"]+)"/.exec(text)?.[1]
  } catch {
    return undefined
  }
}

beforeAll(async () => {
  if (missing !== undefined) return
  const [old, young, ...runtime] = [
    unpackedDeb('bookworm', 'prometheus-node-exporter'),
    unpackedDeb('trixie', 'prometheus-node-exporter'),
    unpackedDeb('bookworm', 'containerd'),
    unpackedDeb('bookworm', 'runc'),
  ]
  const stores = [unpackedDeb('bookworm', 'etcd-server'), unpackedDeb('trixie', 'etcd-server')]
  if (old === undefined || young === undefined || [...runtime, ...stores].includes(undefined)) {
    why = 'Debian’s packages cannot be fetched'
    return
  }
  await bench.start()
  await bundleAgent({ root: ROOT, out: join(bench.folder, 'agent'), prefix: '/opt/kubenode', node: execPath })
  host = new HostMachine([`${join(bench.folder, 'artifacts')}:${ARTIFACTS}`, `${join(bench.folder, 'agent')}:${AGENT}`])
  for (const folder of runtime) cpSync(join(folder ?? '', 'usr'), join(host.root, 'usr'), { recursive: true })
  if (existsSync(join(runtime[0] ?? '', 'lib')))
    cpSync(join(runtime[0] ?? '', 'lib'), join(host.root, 'usr/lib'), { recursive: true })
  await host.boot()
  await bench.publish(exporter('1.5.0', programOf(old, 'usr/bin/prometheus-node-exporter')))
  await bench.publish(exporter('1.9.0', programOf(young, 'usr/bin/prometheus-node-exporter')))
  const containerd = programOf(runtime[0] ?? '', 'usr/bin/containerd')
  await bench.publish(runtimeRelease('1.6.20', containerd))
  // Looks like another version, and one that works.
  await bench.publish(runtimeRelease('1.6.21', Buffer.concat([containerd, Buffer.from([0])])))
  await bench.publish(etcd('3.4.23', programOf(stores[0] ?? '', 'usr/bin/etcd')))
  await bench.publish(etcd('3.5.16', programOf(stores[1] ?? '', 'usr/bin/etcd')))
  await bench.publish(exporter('2.0.0', '#!/bin/sh\nexit 1\n'))
  await bench.publish(exporter('2.0.1', '#!/bin/sh\nexec sleep 1000\n'))
})

afterAll(async () => {
  if (missing !== undefined) return
  await host?.remove()
  await bench.stop()
})

beforeEach((context) => {
  if (why !== undefined) context.skip(why)
})

describe('an agent on a host with systemd', () => {
  test('joins in one line, and its first component runs as a unit under its user', async () => {
    await order(EXPORTER, '1.5.0', true)
    const bundle = Buffer.from(JSON.stringify(bench.joinBundle(ARTIFACTS))).toString('base64')
    const { code, out } = await machine().runAside(`${AGENT}/join.sh`, bundle)
    expect([code, out]).toEqual([0, expect.stringContaining(`this host joins ${bench.cluster} as ${MACHINE}`)])
    await reaches(EXPORTER, 'Healthy', '1.5.0')
    expect([systemctl('is-active', UNIT), systemctl('is-enabled', UNIT), await served()]).toEqual([
      'active',
      'enabled',
      expect.stringMatching(/^1\.5\.0/),
    ])
    expect(machine().run('ps', '-o', 'user=', '-p', mainPid(UNIT)).out.trim()).toBe('daemon')
    expect((await bench.machine())?.status?.bootID).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('F40 a second agent ends with a numbered line', () => {
    const own = ['env', 'LD_LIBRARY_PATH=/opt/kubenode/lib', '/opt/kubenode/bin/node', '/opt/kubenode/agent.mjs']
    const { code, out } = machine().run(...own, '--root', '/var/lib/kubenode', '--host')
    expect([code, out]).toEqual([
      78,
      expect.stringMatching(/^KN8001: cannot start the agent on .*another agent is already running/),
    ])
  })

  test('upgrades to the next Debian’s version and back', async () => {
    await order(EXPORTER, '1.9.0')
    await reaches(EXPORTER, 'Healthy', '1.9.0')
    expect(await served()).toMatch(/^1\.9\./)
    await order(EXPORTER, '1.5.0')
    await reaches(EXPORTER, 'Healthy', '1.5.0')
    expect(await served()).toMatch(/^1\.5\.0/)
  })

  test.each([
    ['2.0.0', 'ends at once'],
    ['2.0.1', 'runs and serves nothing'],
  ])('goes back from %s, which %s', async (version) => {
    await order(EXPORTER, version)
    await reaches(EXPORTER, 'RolledBack', '1.5.0')
    await eventually('the old one', served, (v) => v?.startsWith('1.5.0') === true)
    await order(EXPORTER, '1.5.0')
    await reaches(EXPORTER, 'Healthy', '1.5.0')
  })

  test('puts a changed unit and a changed file right without starting anything again', async () => {
    const before = mainPid(UNIT)
    const path = `/etc/systemd/system/${UNIT}`
    const [unit, file] = [readFileSync(join(machine().root, path), 'utf8'), '/etc/node-exporter.conf']
    machine().run(
      'sh',
      '-c',
      `echo 'Environment=EVIL=1' >> ${path}; sed -i s/declared/wished/ ${file}; systemctl daemon-reload`,
    )
    await eventually(
      'the unit',
      () => readFileSync(join(machine().root, path), 'utf8'),
      (t) => t === unit,
    )
    await eventually(
      'the file',
      () => machine().run('cat', file).out,
      (t) => t === 'as declared\n',
    )
    expect(mainPid(UNIT)).toBe(before)
    machine().run('systemctl', 'stop', UNIT)
    await eventually(
      'the unit to run again',
      () => systemctl('is-active', UNIT),
      (s) => s === 'active',
    )
  })

  test('upgrades an etcd that keeps what was written to it', async () => {
    const call = async (path: string, body: unknown): Promise<string> => {
      const response = await fetch(`http://127.0.0.1:${ETCD_PORT}${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
      })
      return response.text()
    }
    const key = Buffer.from('kept').toString('base64')
    await order('etcd', '3.4.23')
    await reaches('etcd', 'Healthy', '3.4.23')
    await call('/v3/kv/put', { key, value: key })
    await order('etcd', '3.5.16')
    await reaches('etcd', 'Healthy', '3.5.16')
    expect(await (await fetch(`http://127.0.0.1:${ETCD_PORT}/version`)).text()).toContain('"etcdserver":"3.5.')
    expect(await call('/v3/kv/range', { key })).toContain(`"value":"${key}"`)
  })

  test('takes away what the Machine does not name any more, with its unit', async () => {
    wanted.delete('etcd')
    await declare()
    await eventually(
      'the end of etcd',
      () => bench.component('etcd'),
      (c) => c === undefined,
    )
    const left = ['/etc/systemd/system/kubenode-etcd.service', '/opt/etcd'].map(
      (p) => machine().run('ls', '-d', p).code,
    )
    expect([systemctl('is-active', 'kubenode-etcd'), ...left]).toEqual(['inactive', 2, 2])
    // No other program may delete what it kept.
    expect(machine().run('ls', '/var/lib/etcd-of-test/member').code).toBe(0)
  })

  test('S22 the agent listens nowhere but on the loopback', () => {
    const main = mainPid('kubenode-agent')
    const own = new Set([main, machine().run('pgrep', '-P', main).out.trim()])
    const listening = machine()
      .run('ss', '-Hltnup')
      .out.split('\n')
      .filter((l) => [...own].some((pid) => l.includes(`pid=${pid},`)))
    for (const line of listening) expect(line).toMatch(/\s(127\.\d+\.\d+\.\d+|\[::1\]):\d+\s/)
    expect(systemctl('show', '-p', 'ProtectClock', '--value', 'kubenode-agent')).toBe('yes')
  })

  test('the agent starts only when the disks with its programs and its state are mounted', () => {
    const places = systemctl('show', '-p', 'RequiresMountsFor', '--value', 'kubenode-agent').split(' ')
    const run = systemctl('show', '-p', 'ExecStart', '--value', 'kubenode-agent')
    expect(places).toHaveLength(2)
    for (const place of places) expect(run).toContain(place)
  })

  test('takes a runtime over as it runs, and its container outlives the upgrade', async () => {
    const { root } = machine()
    for (const path of ['bin/sleep', 'lib64/ld-linux-x86-64.so.2', 'lib/x86_64-linux-gnu/libc.so.6']) {
      mkdirSync(dirname(join(root, 'var/lib/container', path)), { recursive: true })
      cpSync(realpathSync(join(root, 'usr', path)), join(root, 'var/lib/container', path))
    }
    // A container of the host's network is given both.
    machine().run('touch', '/etc/hosts', '/etc/resolv.conf')
    expect(systemctl('start', 'containerd')).toBe('')
    const made = machine().run(
      'ctr',
      'run',
      '-d',
      '--rootfs',
      '--net-host',
      '/var/lib/container',
      'c1',
      '/bin/sleep',
      '3000',
    )
    expect(made).toEqual({ code: 0, out: '' })
    const tasks = (): string => machine().run('ctr', 'task', 'ls').out
    const container = /c1\s+(\d+)\s+RUNNING/.exec(tasks())?.[1] ?? ''
    expect(container).not.toBe('')
    const before = mainPid('containerd')

    await order('containerd', '1.6.20')
    await reaches('containerd', 'Healthy', '1.6.20')
    expect([mainPid('containerd'), machine().run('readlink', '/usr/bin/containerd').out]).toEqual([
      before,
      expect.stringMatching(/^\/var\/lib\/kubenode\/state\/components\/containerd\/current\//),
    ])

    await order('containerd', '1.6.21')
    await reaches('containerd', 'Healthy', '1.6.21')
    expect(mainPid('containerd')).not.toBe(before)
    expect(tasks()).toMatch(new RegExp(`c1\\s+${container}\\s+RUNNING`))
    expect(readFileSync(join(root, 'usr/lib/systemd/system/containerd.service'), 'utf8')).not.toContain('KubeNode')
    // As the first process of its own it ignores TERM, and a reboot would wait a minute and a half for it.
    machine().run('ctr', 'task', 'kill', '-s', 'KILL', 'c1')
  })

  test('survives the end of the agent, and a reboot', async () => {
    const before = { pid: mainPid(UNIT), boot: (await bench.machine())?.status?.bootID }
    machine().run('systemctl', 'kill', '-s', 'KILL', 'kubenode-agent')
    await eventually(
      'the agent',
      () => systemctl('is-active', 'kubenode-agent'),
      (s) => s === 'active',
    )
    expect(mainPid(UNIT)).toBe(before.pid)
    machine().run('systemctl', 'reboot')
    await eventually(
      'another boot',
      async () => (await bench.machine())?.status?.bootID,
      (b) => b !== undefined && b !== before.boot,
      60_000,
    )
    await reaches(EXPORTER, 'Healthy', '1.5.0')
    await eventually('the exporter', served, (v) => v?.startsWith('1.5.0') === true)
  })
})

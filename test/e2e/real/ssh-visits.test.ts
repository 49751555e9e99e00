// Components on a machine of Debian with systemd that has no agent: visits over its real sshd install, upgrade, take a bad version back, restore what was
// changed, and continue where the one before was killed. The API is a few objects.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { ReadPool } from '#agent/files/read-pool.ts'
import { visit, visitSession } from '#agent/over-ssh/visit.ts'
import { type HostPast, newHostPast } from '#agent/over-ssh/visit-parts.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import type { ComponentOrder, ComponentStatus, Machine } from '#api/kinds/machine.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { KubeClient } from '#kube/client.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Channel } from '#ssh/channel.ts'
import { SshSessions } from '#ssh/ssh-sessions.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { freePort } from '#test/support/servers/free-port.ts'
import { isFull } from '#test/support/tools/full.ts'
import { noMachines } from '../agent-host/machine.ts'
import { ADMIN, type SshHost, startSshHost } from './ssh-host.ts'

const UID = 'm-uid'
const BEACON = '/opt/beacon/bin/beacon'
const CONFIG = '/etc/beacon.conf'
const publisher = newPublisher()
const releases = ['1.0.0', '1.1.0', '1.2.0'].map((version) =>
  release(publisher, {
    version,
    entries: [{ name: 'bin/beacon', content: `#!/bin/sh\n# ${version}\nexec sleep 1000000\n`, mode: 0o755 }],
    spec: {
      files: [{ path: CONFIG, mode: '0644', format: 'plain', template: `v ${version}\n`, onChange: 'Restart' }],
      service: { exec: BEACON, restart: 'Always' },
      hooks: { preSwitch: { command: ['/bin/sh', '-c', `echo ${version} >> /var/lib/beacon-hooks`], timeout: '10s' } },
      probes: [
        // The last version is bad.
        {
          name: 'says',
          exec: { command: ['/bin/sh', '-c', `grep -q -v '^v 1.2' ${CONFIG} || { echo '\u001b]0;x' is bad; false; }`] },
          interval: '1s',
          timeout: '5s',
          settle: '1s',
        },
        { name: 'unit', unit: { name: 'kubenode-beacon.service' }, interval: '1s', timeout: '5s', settle: '1s' },
      ],
    },
  }),
)
const permit = {
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'OperationPermit',
  metadata: { name: 'p' },
  spec: { operations: ['SwitchComponent'], targets: [{ kind: 'Machine', name: 'm', uid: UID }] },
  status: { phase: 'Granted', verdicts: [{ target: UID, verdict: 'Granted' }] },
}
const node = { metadata: { name: 'm', uid: 'n-uid' }, spec: { taints: [{ key: 'kubenode.io/components-pending' }] } }
const client = {
  get: async (type: { readonly kind: string }, { name }: { readonly name: string }) => {
    if (type.kind === machineComponent.kind) return releases.find((r) => r.object.metadata.name === name)?.object
    return type.kind === operationPermit.kind ? permit : node
  },
} as unknown as KubeClient
const fetcher = {
  async *open(place: string, _most: number, _signal: AbortSignal, from = 0) {
    const found = releases.find((r) => r.url === place)?.artifact
    if (found === undefined) throw new Error('nothing is there')
    yield found.subarray(from)
  },
}

let why = noMachines()
let host: SshHost
let sessions: SshSessions
const folder = mkdtempSync('/var/tmp/kn-ssh-visits-')
const keyFile = join(folder, 'key')

beforeAll(async () => {
  if (why !== undefined) return
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', keyFile])
  const client = readFileSync(`${keyFile}.pub`, 'utf8').trim()
  const started = await startSshHost({ name: 'visited', port: await freePort(), client, isRootOff: true })
  if (started === undefined) why = 'Debian’s packages cannot be fetched'
  else host = started
  sessions = new SshSessions({ folder: join(folder, 'keys'), path: process.env['PATH'] ?? '', atOnce: 2 })
}, 400_000)

afterAll(async () => {
  await host?.machine.remove()
  rmSync(folder, { recursive: true, force: true })
})

beforeEach((context) => {
  if (why !== undefined) context.skip(why)
})

let generation = 1
let beats = 0
const machineWith = (components: readonly ComponentOrder[]): Machine => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Machine',
  metadata: { name: 'm', uid: UID, generation: generation++ },
  spec: { channel: 'SSH', components },
})
const to = (version: string, attempt: number): ComponentOrder => ({
  name: 'beacon',
  version,
  attempt,
  switch: { attempt, permit: 'p' },
})

let past: HostPast = newHostPast()
interface Visited {
  readonly beacon: ComponentStatus | undefined
  readonly reports: readonly KubeObject[]
}

/** `most`: snippets until the session is cut. */
async function visited(components: readonly ComponentOrder[], most = Infinity): Promise<Visited> {
  const reports: KubeObject[] = []
  const machine = machineWith(components)
  const target = {
    host: '127.0.0.1',
    port: host.port,
    user: ADMIN,
    trust: { kind: 'Pinned', hostKey: host.hostKey },
  } as const
  const identity = { kind: 'Key', privateKey: readFileSync(keyFile, 'utf8') } as const
  const signal = new AbortController().signal
  const result = await sessions.converse(
    visitSession({ target, identity, sudo: true }),
    async (channel) => {
      await visit({
        reads: new ReadPool(),
        channel: cutAfter(channel, most),
        machine: () => machine,
        client,
        clock: systemClock,
        random: systemRandom,
        log: silentLogger,
        version: '1.0.0',
        trust: { anchor: publisher.anchor, document: publisher.trust() },
        trustUrl: 'trust.json',
        fetcher,
        past,
        serverVersion: async () => undefined,
        leaseRenewal: async () => ({ kind: 'Unknown' }),
        beat: async () => void beats++,
        beatEveryMs: 1_000,
        report: async (object) => void reports.push(object),
        signal,
      })
      return { kind: 'Visited' as const }
    },
    signal,
  )
  if (result.kind === 'Failed') throw new Error(result.why)
  const status = reports.at(-1)?.['status'] as Machine['status']
  return { beacon: status?.components?.find((c) => c.name === 'beacon'), reports }
}

const cutAfter = (channel: Channel, most: number): Channel => {
  let asked = 0
  return {
    kind: 'Open',
    ask: (ask) => {
      if (asked++ >= most) channel.close()
      return channel.ask(ask)
    },
    get closed() {
      return channel.closed
    },
    close: () => channel.close(),
  }
}

const onHost = (path: string): string => readFileSync(join(host.machine.root, path), 'utf8')
const inUse = (): string => host.machine.run('head', '-2', BEACON).out.split('\n')[1] ?? ''
const isActive = (): boolean => host.machine.run('systemctl', 'is-active', 'kubenode-beacon').code === 0
const pid = (): string => host.machine.run('systemctl', 'show', '-p', 'MainPID', 'kubenode-beacon').out.trim()

test('a component is installed, upgraded, and taken back after a failed probe, with what the host prints made harmless', async () => {
  const first = await visited([to('1.0.0', 1)])
  expect(first.beacon).toMatchObject({ state: 'Healthy', version: '1.0.0' })
  expect(isActive()).toBe(true)
  expect(first.reports.at(-1)?.['status']).toMatchObject({
    agent: { version: '1.0.0' },
    platform: { arch: 'amd64', distribution: { id: 'debian' } },
  })
  const started = pid()
  expect((await visited([to('1.0.0', 1)])).beacon).toMatchObject({ state: 'Healthy' })
  expect(pid()).toBe(started)
  expect((await visited([to('1.1.0', 2)])).beacon).toMatchObject({ state: 'Healthy', version: '1.1.0' })
  expect(inUse()).toBe('# 1.1.0')
  expect(pid()).not.toBe(started)
  const back = await visited([to('1.2.0', 3)])
  expect(back.beacon).toMatchObject({ state: 'RolledBack', version: '1.1.0' })
  expect(back.beacon?.message).toContain('is bad')
  expect(JSON.stringify(back.beacon)).not.toMatch(/\\u001b/)
  expect([inUse(), isActive()]).toEqual(['# 1.1.0', true])
  expect(onHost('/var/lib/beacon-hooks')).toBe('1.0.0\n1.1.0\n1.2.0\n')
})

test('a changed file is restored in the next round, a stopped unit is started, and a fight with another program ends', async () => {
  const order = [to('1.1.0', 4)]
  await visited(order)
  const before = pid()
  for (let n = 0; n < 3; n++) {
    host.machine.run('sh', '-c', `rm -f ${CONFIG}; echo mine > ${CONFIG}`)
    await visited(order)
    expect(host.machine.run('cat', CONFIG).out).toBe('v 1.1.0\n')
  }
  host.machine.run('sh', '-c', `rm -f ${CONFIG}; echo mine > ${CONFIG}`)
  expect((await visited(order)).beacon?.drifted).toContain('not repaired again')
  expect(pid()).toBe(before)
  host.machine.run('rm', '-f', CONFIG)
  past = newHostPast()
  await visited(order)
  host.machine.run('systemctl', 'stop', 'kubenode-beacon')
  await visited(order)
  expect(isActive()).toBe(true)
})

test('a session that is cut at any point of a switch is continued by the next one', async () => {
  await visited([to('1.1.0', 5)])
  let attempt = 6
  for (let most = 20; most < 300; most += isFull ? 7 : 90) {
    const order = [to('1.0.0', attempt++)]
    // systemd refuses a unit that is started five times within ten seconds.
    host.machine.run('systemctl', 'reset-failed', 'kubenode-beacon')
    await visited(order, most).catch(() => undefined)
    past = newHostPast()
    expect((await visited(order)).beacon, `cut before snippet ${most}`).toMatchObject({
      state: 'Healthy',
      version: '1.0.0',
    })
    expect([inUse(), isActive()]).toEqual(['# 1.0.0', true])
    const next = await visited([to('1.1.0', attempt++)])
    expect(next.beacon).toMatchObject({ state: 'Healthy', version: '1.1.0' })
  }
})

test('nothing is done beside an agent or another session, on a frozen node, or for a probe that only an agent can run', async () => {
  host.machine.run(
    'sh',
    '-c',
    'printf "[Service]\\nExecStart=/bin/sleep 1000\\n" > /etc/systemd/system/kubenode-agent.service',
  )
  host.machine.run('systemctl', 'start', 'kubenode-agent')
  await expect(visited([])).rejects.toThrow('an agent runs on this host')
  host.machine.run('systemctl', 'stop', 'kubenode-agent')
  const holds = host.machine.runAside('flock', '/var/lib/kubenode/state/ssh.lock', 'sleep', '20')
  await systemClock.sleep(1_000)
  await expect(visited([])).rejects.toThrow('another session works on this host')
  await holds
  host.machine.run('sh', '-c', 'echo hands off > /var/lib/kubenode/frozen')
  const frozen = await visited([to('1.0.0', 90)])
  expect(frozen.beacon).toMatchObject({ version: '1.1.0' })
  expect(frozen.reports.at(-1)?.['status']).toMatchObject({ conditions: [{ type: 'Frozen', status: 'True' }] })
  host.machine.run('rm', '/var/lib/kubenode/frozen')
})

test('a component leaves the host as it was', async () => {
  expect((await visited([])).beacon).toBeUndefined()
  expect(existsSync(join(host.machine.root, 'etc/systemd/system/kubenode-beacon.service'))).toBe(false)
  expect(host.machine.run('ls', CONFIG).code).not.toBe(0)
})

// Hosts become nodes over SSH: machines of Debian with systemd, a real sshd and a real agent, which they download themselves. As root, and as a user with
// sudo where root may not log in; with a full disk, another host key, and a host that dies in the middle.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kill } from 'node:process'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Machine, type SshJoin, type SshSpec, machine as machineType } from '#api/kinds/machine.ts'
import { ANNOTATIONS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { nodeType } from '#nodes/objects.ts'
import { type RescueCommand, rebootCommand } from '#ssh/rescue-commands.ts'
import { SshSessions } from '#ssh/ssh-sessions.ts'
import { startEmbedded } from '#test/support/servers/api-servers.ts'
import { freePort } from '#test/support/servers/free-port.ts'
import { noMachines } from '../agent-host/machine.ts'
import { JoinWorld } from './join-world.ts'
import { ADMIN, type SshHost, startSshHost } from './ssh-host.ts'

const UNIT = 'kubenode-agent'
let why = noMachines()
let world: JoinWorld
const hosts: SshHost[] = []
const folder = mkdtempSync('/var/tmp/kn-join-ssh-')
const keyFile = join(folder, 'key')
const rescueFile = join(folder, 'rescue')

beforeAll(async () => {
  if (why !== undefined) return
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', keyFile])
  const client = readFileSync(`${keyFile}.pub`, 'utf8').trim()
  for (const [name, isRootOff] of [
    ['with-sudo', true],
    ['with-root', false],
  ] as const) {
    const host = await startSshHost({ name, port: await freePort(), client, isRootOff })
    if (host === undefined) {
      why = 'Debian’s packages cannot be fetched'
      return
    }
    hosts.push(host)
  }
  world = new JoinWorld(await startEmbedded())
  await world.start()
  await world.admin.create(coreKind('Secret'), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: SYSTEM_NAMESPACE, name: 'hosts', labels: { 'kubenode.io/for-ssh': 'true' } },
    data: { 'ssh-privatekey': readFileSync(keyFile).toString('base64') },
  })
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'rescue', '-f', rescueFile])
  await world.admin.create(coreKind('Secret'), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: SYSTEM_NAMESPACE, name: 'rescue', labels: { 'kubenode.io/for-ssh': 'true' } },
    data: {
      'ssh-privatekey': readFileSync(rescueFile).toString('base64'),
      'ssh-publickey': readFileSync(`${rescueFile}.pub`).toString('base64'),
    },
  })
}, 400_000)

afterAll(async () => {
  for (const { machine } of hosts) await machine.remove()
  await world?.stop()
  rmSync(folder, { recursive: true, force: true })
})

beforeEach((context) => {
  if (why !== undefined) context.skip(why)
})

const hostAt = (at: number): SshHost => {
  const host = hosts[at]
  if (host === undefined) throw new Error(`there is no host ${at}`)
  return host
}

async function declare(name: string, { port }: SshHost, more: Partial<SshSpec>): Promise<void> {
  const ssh = { host: '127.0.0.1', port, secretRef: { name: 'hosts' }, ...more }
  const spec = { channel: 'Agent', provider: { name: 'static' }, ssh } as unknown as Machine['spec']
  await world.admin.create(machineType, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name },
    spec,
  })
}

async function joinOf(name: string, what: string, holds: (join: SshJoin) => boolean): Promise<SshJoin> {
  let last: SshJoin | undefined
  await world.until(
    () => `${name} ${what}: ${JSON.stringify(last)}`,
    async () => {
      last = (await world.machine(name))?.status?.join
      return last !== undefined && holds(last)
    },
  )
  return last as SshJoin
}
const failed = (join: SshJoin): boolean => join.reason !== undefined
const ended = (join: SshJoin): boolean => join.finished !== undefined || (failed(join) && join.retryAt === undefined)

async function isNode(name: string, { machine }: SshHost): Promise<void> {
  await world.until(`${name} has an agent`, async () => (await world.machine(name))?.status?.agent !== undefined)
  await world.until(`${name} is a Node`, async () => (await world.admin.get(nodeType, { name })) !== undefined)
  expect(machine.run('sh', '-c', `systemctl is-active ${UNIT}; systemctl is-enabled ${UNIT}`).out).toBe(
    'active\nenabled\n',
  )
  expect(machine.run('sh', '-c', 'ls -d /var/lib/kubenode-join /var/lib/kubenode/join.json').code).not.toBe(0)
}

test('root may not log in, and the host presents another key: neither is tried again, and nothing was written', async () => {
  const host = hostAt(0)
  await declare('no-root', host, { hostKey: host.hostKey })
  expect(await joinOf('no-root', 'has a finding', failed)).toMatchObject({ step: 'Reach', reason: 'AuthRefused' })
  await declare('wrong-key', host, { hostKey: hostAt(1).hostKey, user: ADMIN })
  const join = await joinOf('wrong-key', 'has a finding', failed)
  expect([join.reason, join.retryAt]).toEqual(['HostKeyChanged', undefined])
  expect(host.machine.run('sh', '-c', 'ls -d /opt/kubenode /var/lib/kubenode*').code).not.toBe(0)
})

test('a full disk is a finding, and once there is space, a user with sudo leads the agent to its certificate', async () => {
  const host = hostAt(0)
  const { machine } = host
  expect(machine.run('mount', '-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', '/opt').code).toBe(0)
  const rescue = { secretRef: { name: 'rescue' } }
  await declare('sudo-1', host, { hostKey: host.hostKey, user: ADMIN, rescue })
  const full = await joinOf('sudo-1', 'has a finding', failed)
  expect([full.step, full.reason, full.message]).toEqual(['Preflight', 'Full', expect.stringContaining('/opt has 1')])
  machine.run('umount', '/opt')
  const value = { metadata: { annotations: { [ANNOTATIONS.joinAgain]: '1' } } }
  await world.admin.patch(machineType, { name: 'sudo-1' }, { type: 'merge', value })
  const join = await joinOf('sudo-1', 'has joined', (j) => j.request !== full.request && ended(j))
  expect(join).toMatchObject({ step: 'Certified', finished: expect.any(String) })
  await isNode('sudo-1', host)
})

test('the rescue key restarts an agent that was stopped, through sudo, and reboots the host once for an order', async () => {
  const { machine, port, hostKey } = hostAt(0)
  const sessions = new SshSessions({ folder: join(folder, 'rescues'), path: process.env['PATH'] ?? '', atOnce: 1 })
  const rescued = async (command: RescueCommand): Promise<Readonly<Record<string, string>>> => {
    const target = { host: '127.0.0.1', port, user: ADMIN, trust: { kind: 'Pinned', hostKey } } as const
    const identity = { kind: 'Key', privateKey: readFileSync(rescueFile, 'utf8') } as const
    const session = { target, identity, script: '', command, sudo: false, deadlineMs: 60_000 }
    const went = await sessions.run(session, new AbortController().signal)
    return went.kind === 'Done' ? Object.fromEntries(went.facts) : { failure: went.failure, why: went.why }
  }
  machine.run('systemctl', 'stop', UNIT)
  const state = await rescued('state')
  expect(state).toMatchObject({ agent: 'inactive', owner: (await world.machine('sudo-1'))?.metadata.uid })
  const { place = '' } = await rescued('evidence')
  expect(machine.run('stat', '-c', '%a %U', place).out).toBe('600 root\n')
  expect(await rescued('restart-agent')).toMatchObject({ agent: 'active' })
  expect(machine.run('systemctl', 'is-active', UNIT).out).toBe('active\n')
  const { bootID = '' } = state
  const bootNow = () => machine.run('cat', '/proc/sys/kernel/random/boot_id').out.trim()
  expect(bootNow()).toBe(bootID)
  expect(await rescued(rebootCommand(bootID))).toMatchObject({ reboot: 'ordered' })
  await world.until('the host has booted', async () => bootNow() !== '' && bootNow() !== bootID)
  await world.until('its sshd answers', async () => (await rescued(rebootCommand(bootID)))['reboot'] === 'done')
})

test('a host that dies during its download joins after it has booted again, with the key of the first use', async () => {
  const host = hostAt(1)
  const { machine } = host
  const [curl, hold] = [join(machine.root, 'usr/bin/curl'), join(machine.root, 'hold')]
  renameSync(curl, `${curl}.real`)
  writeFileSync(curl, '#!/bin/sh\nwhile [ -e /hold ]; do sleep 0.1; done\nexec /usr/bin/curl.real "$@"\n')
  chmodSync(curl, 0o755)
  writeFileSync(hold, '')
  await declare('root-1', host, { firstUse: true })
  await joinOf('root-1', 'downloads', (j) => j.step === 'Fetch')
  await world.until('the download runs', async () => machine.run('pgrep', '-f', '/usr/bin/curl').code === 0)
  const leader = machine.leader()
  if (leader === undefined) throw new Error('the machine does not run')
  kill(leader, 'SIGKILL')
  const cut = await joinOf('root-1', 'has a finding', failed)
  expect([cut.step, cut.reason]).toEqual(['Fetch', 'Unreachable'])
  rmSync(hold)
  await world.until('the machine ends', async () => machine.leader() === undefined)
  await machine.boot()
  const done = await joinOf('root-1', 'has joined', ended)
  expect(done).toMatchObject({ step: 'Certified', finished: expect.any(String) })
  expect(host.hostKey.startsWith(done.hostKey ?? 'none')).toBe(true)
  await isNode('root-1', host)
})

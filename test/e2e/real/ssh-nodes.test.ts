// A machine without an agent, on a cluster with rights and policies as shipped: the controllers install a component over a real sshd, are killed in the middle
// of its switch, renew its heartbeat, and hand the host back.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { type ComponentStatus, type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { SYSTEM_NAMESPACE, TAINTS, agentLeaseKey } from '#api/names.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { sshNodesModule } from '#controllers/sshnodes/reconcile.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { nodeType } from '#nodes/objects.ts'
import { leaseType } from '#runtime/lease.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { freePort } from '#test/support/servers/free-port.ts'
import { noMachines } from '../agent-host/machine.ts'
import { JoinWorld } from './join-world.ts'
import { ADMIN, type SshHost, startSshHost } from './ssh-host.ts'

const NAME = 'visited'
const publisher = newPublisher()
const beaconRelease = release(publisher, {
  version: '1.0.0',
  entries: [{ name: 'bin/beacon', content: '#!/bin/sh\nexec sleep 1000000\n', mode: 0o755 }],
  spec: {
    service: { exec: '/opt/beacon/bin/beacon', restart: 'Always' },
    // Long enough to be killed in.
    hooks: { preSwitch: { command: ['/bin/sleep', '5'], timeout: '20s' } },
    probes: [{ name: 'unit', unit: { name: 'kubenode-beacon.service' }, interval: '1s', timeout: '5s', settle: '1s' }],
  },
})

let why = noMachines()
let server: RunningServer
let world: JoinWorld
let host: SshHost
const folder = mkdtempSync('/var/tmp/kn-ssh-nodes-')
const keyFile = join(folder, 'key')

beforeAll(async () => {
  if (why !== undefined) return
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', keyFile])
  const client = readFileSync(`${keyFile}.pub`, 'utf8').trim()
  const started = await startSshHost({ name: NAME, port: await freePort(), client, isRootOff: true })
  if (started === undefined) {
    why = 'Debian’s packages cannot be fetched'
    return
  }
  host = started
  server = await startEmbedded()
  world = new JoinWorld(server)
  world.modules = [sshNodesModule]
  world.trust = { anchor: publisher.anchor, document: publisher.trust() }
  await world.start()
  writeFileSync(join(world.served, beaconRelease.url), beaconRelease.artifact)
  await world.admin.create(machineComponent, beaconRelease.object)
  await world.admin.create(coreKind('Secret'), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: SYSTEM_NAMESPACE, name: 'hosts', labels: { 'kubenode.io/for-ssh': 'true' } },
    data: { 'ssh-privatekey': readFileSync(keyFile).toString('base64') },
  })
  // Its kubelet made it, and it takes no pods before its components are installed.
  await world.admin.create(nodeType, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: NAME },
    spec: { taints: [{ key: TAINTS.componentsPending, effect: 'NoSchedule' }] },
  })
}, 400_000)

afterAll(async () => {
  await host?.machine.remove()
  await world?.stop()
  rmSync(folder, { recursive: true, force: true })
})

beforeEach((context) => {
  if (why !== undefined) context.skip(why)
})

const order = (attempt: number) => ({ components: [{ name: 'beacon', version: '1.0.0', attempt }] })
const orders = (attempt: number) =>
  world.admin.patch(machineType, { name: NAME }, { type: 'merge', value: { spec: order(attempt) } })

async function beacon(what: string, holds: (c: ComponentStatus) => boolean): Promise<void> {
  let last: Machine['status']
  await world.until(
    () => `beacon ${what}: ${JSON.stringify(last)}`,
    async () => {
      last = (await world.machine(NAME))?.status
      return last?.components?.some((c) => c.name === 'beacon' && holds(c)) === true
    },
  )
}
test('the controllers install a component with their own rights, also when they are killed in the middle of it', async () => {
  const ssh = { host: '127.0.0.1', port: host.port, user: ADMIN, hostKey: host.hostKey, secretRef: { name: 'hosts' } }
  const spec = { channel: 'SSH', provider: { name: 'static' }, ssh, ...order(1) } as unknown as Machine['spec']
  await world.admin.create(machineType, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: NAME },
    spec,
  })
  const record = join(host.machine.root, 'var/lib/kubenode/state/components/beacon/record.json')
  await world.until(
    'it is being switched',
    async () => existsSync(record) && readFileSync(record, 'utf8').includes('Switching'),
  )
  await world.use(server)
  await beacon('is installed', (c) => c.state === 'Healthy' && c.version === '1.0.0')
  expect(host.machine.run('systemctl', 'is-active', 'kubenode-beacon').out).toBe('active\n')
  const { status } = (await world.machine(NAME)) ?? {}
  expect(status?.agent).toMatchObject({ channel: 'SSH', folder: '/var/lib/kubenode' })
  await world.until('the visit is over', async () => (await world.machine(NAME))?.status?.visit === undefined)
  const lease = await world.admin.get(leaseType, agentLeaseKey(NAME))
  expect(lease?.spec?.holderIdentity).toBe('kubenode-sshnodes')
})

test('a host that is away is a finding in the status, and is worked on when it is back', async () => {
  host.machine.run('systemctl', 'stop', 'sshd-of-test')
  await orders(2)
  await world.until(
    'it is unreachable',
    async () => (await world.machine(NAME))?.status?.visit?.reason === 'Unreachable',
  )
  host.machine.run('systemctl', 'start', 'sshd-of-test')
  await orders(3)
  await world.until('it is back', async () => {
    const { status } = (await world.machine(NAME)) ?? {}
    return status?.visit === undefined && status?.components?.[0]?.attempt === 3
  })
})

test('a Machine that is deleted hands its host back, with nothing left on it', async () => {
  world.modules = [sshNodesModule, machineModule]
  await world.use(server)
  await world.until('it is reachable', async () => {
    const { conditions = [] } = (await world.machine(NAME))?.status ?? {}
    return conditions.some((c) => c.type === 'AgentReachable' && c.status === 'True')
  })
  await world.admin.delete(machineType, { name: NAME })
  await world.until('the Machine is gone', async () => (await world.machine(NAME)) === undefined)
  expect(host.machine.run('systemctl', 'is-active', 'kubenode-beacon').code).not.toBe(0)
  expect(host.machine.run('sh', '-c', 'ls -A /var/lib/kubenode/state /opt/beacon').code).not.toBe(0)
})

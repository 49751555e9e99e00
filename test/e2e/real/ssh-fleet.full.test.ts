// Two machines without an agent under everything that acts on them: a set brings a version in batches under permits of the Defender, a rule repairs a component
// and reboots a host, with a real sshd and systemd on each.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { componentConditionType } from '#api/node-conditions.ts'
import { componentSetModule } from '#controllers/componentset/reconcile.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { sshNodesModule } from '#controllers/sshnodes/reconcile.ts'
import { findCondition } from '#kube/conditions.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { nodeType } from '#nodes/objects.ts'
import { leaseType } from '#runtime/lease.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { startEmbedded } from '#test/support/servers/api-servers.ts'
import { freePort } from '#test/support/servers/free-port.ts'
import { unwellComponent } from '../../../rules/component/unwell-component.ts'
import { noMachines } from '../agent-host/machine.ts'
import { JoinWorld } from './join-world.ts'
import { ADMIN, type SshHost, startSshHost } from './ssh-host.ts'

const NAMES = ['one', 'two'] as const
const POOL = { 'kubenode.io/pool': 'workers' }
const CONDITION = componentConditionType('beacon')
const BROKEN = '/run/beacon-broken'
const KUBELET_MS = 5_000
/** Some rounds of a minute, on a machine under load. */
const PATIENCE_MS = 480_000
const publisher = newPublisher()
const releases = ['1.0.0', '1.1.0'].map((version) =>
  release(publisher, {
    version,
    // A restart repairs it.
    entries: [
      { name: 'bin/beacon', content: `#!/bin/sh\n# ${version}\nrm -f ${BROKEN}\nexec sleep 1000000\n`, mode: 0o755 },
    ],
    spec: {
      service: { exec: '/opt/beacon/bin/beacon', restart: 'Always' },
      probes: [
        {
          name: 'well',
          exec: { command: ['/bin/sh', '-c', `test ! -e ${BROKEN}`] },
          interval: '1s',
          timeout: '5s',
          settle: '1s',
        },
      ],
    },
  }),
)

let why = noMachines()
let world: JoinWorld
let kubelets: NodeJS.Timeout | undefined
const hosts = new Map<string, SshHost>()
const folder = mkdtempSync('/var/tmp/kn-ssh-fleet-')
const keyFile = join(folder, 'key')

const objectOf = (kind: string, name: string, spec: object, labels: object = {}) =>
  ({ apiVersion: API_GROUP_VERSION, kind, metadata: { name, labels }, spec }) as never

beforeAll(async () => {
  if (why !== undefined) return
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', keyFile])
  const client = readFileSync(`${keyFile}.pub`, 'utf8').trim()
  for (const [n, name] of NAMES.entries()) {
    const host = await startSshHost({ name, port: await freePort(), client, isRootOff: n === 0 })
    if (host === undefined) {
      why = 'Debian’s packages cannot be fetched'
      return
    }
    hosts.set(name, host)
  }
  world = new JoinWorld(await startEmbedded())
  world.modules = [machineModule, componentSetModule, remedyModule, remedyJobModule, sshNodesModule]
  world.trust = { anchor: publisher.anchor, document: publisher.trust() }
  world.isDefended = true
  await world.start()
  for (const { url, artifact, object } of releases) {
    writeFileSync(join(world.served, url), artifact)
    await world.admin.create(machineComponent, object)
  }
  await world.admin.create(coreKind('Secret'), {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: SYSTEM_NAMESPACE, name: 'hosts', labels: { 'kubenode.io/for-ssh': 'true' } },
    data: { 'ssh-privatekey': readFileSync(keyFile).toString('base64') },
  })
  await world.admin.create(
    defenderPolicy,
    objectOf('DefenderPolicy', 'open', { budgets: [{ max: 1, of: 'concurrent', per: 'cluster' }], mode: 'Enforce' }),
  )
  await startKubelets()
  const rollout = { steps: [1], maxUnavailable: 1, soak: '0s', maxFailures: 0 }
  const components = [{ name: 'beacon', version: '1.0.0' }]
  await world.admin.create(
    machineComponentSet,
    objectOf('MachineComponentSet', 'base', { selector: { matchLabels: POOL }, components, rollout }),
  )
  for (const [name, host] of hosts) {
    const user = name === 'one' ? ADMIN : 'root'
    const ssh = { host: '127.0.0.1', port: host.port, user, hostKey: host.hostKey, secretRef: { name: 'hosts' } }
    const spec = { channel: 'SSH', provider: { name: 'static' }, pool: 'workers', ssh }
    await world.admin.create(machineType, objectOf('Machine', name, spec, POOL))
  }
}, 600_000)

afterAll(async () => {
  clearInterval(kubelets)
  for (const host of hosts.values()) await host.machine.remove()
  await (world as JoinWorld | undefined)?.stop()
  rmSync(folder, { recursive: true, force: true })
}, 120_000)

beforeEach((context) => {
  if (why !== undefined) context.skip(why)
})

/** What the kubelets of the hosts write. */
async function startKubelets(): Promise<void> {
  const at = () => new Date().toISOString()
  for (const name of NAMES) {
    await world.admin.create(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name } })
    const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: '', lastHeartbeatTime: at() }
    const status = { conditions: [{ ...ready, lastTransitionTime: at() }] }
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name }, status }
    await world.admin.apply(nodeType, node, { fieldManager: 'kubelet', force: true, subresource: 'status' })
  }
  const beat = async (): Promise<void> => {
    for (const name of NAMES) {
      const metadata = { namespace: 'kube-node-lease', name }
      const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime: at().replace('Z', '000Z') }
      const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec }
      await world.admin.apply(leaseType, lease, { fieldManager: 'kubelet', force: true })
    }
  }
  await world.admin
    .create(coreKind('Namespace'), { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-node-lease' } })
    .catch(() => undefined)
  await beat()
  kubelets = setInterval(() => void beat().catch(() => undefined), KUBELET_MS)
}

const versionOf = (name: string): string =>
  hosts.get(name)?.machine.run('sed', '-n', '2p', '/opt/beacon/bin/beacon').out.trim() ?? ''

async function areAt(version: string): Promise<void> {
  let last: readonly (Machine['status'] | undefined)[] = []
  await world.until(
    () =>
      `both are at ${version}: ${JSON.stringify(last.map((s) => [s?.phase, s?.visit, s?.waitingFor, s?.components]))}`,
    async () => {
      last = (await Promise.all(NAMES.map((name) => world.machine(name)))).map((m) => m?.status)
      return last.every((s) => s?.components?.some((c) => c.state === 'Healthy' && c.version === version))
    },
    PATIENCE_MS,
  )
  expect(NAMES.map(versionOf)).toEqual([`# ${version}`, `# ${version}`])
}

const jobs = async (): Promise<readonly RemedyOperationJob[]> => (await world.admin.list(remedyOperationJob)).items

async function done(rule: string): Promise<RemedyOperationJob> {
  let found: RemedyOperationJob | undefined
  await world.until(
    () => `the repair by ${rule} is over: ${JSON.stringify(found?.status)}`,
    async () => {
      found = (await jobs()).find((j) => j.spec.remedierRef.name === rule)
      return found?.status?.phase === 'Done'
    },
    PATIENCE_MS,
  )
  if (found === undefined) throw new Error('no job')
  return found
}

const steps = ({ status }: RemedyOperationJob) => status?.steps?.map((s) => `${s.operation} ${s.outcome}`)

test('a set installs on both, and brings a new version one after the other under a permit each', async () => {
  await areAt('1.0.0')
  const value = { spec: { components: [{ name: 'beacon', version: '1.1.0' }] } }
  await world.admin.patch(machineComponentSet, { name: 'base' }, { type: 'merge', value })
  await areAt('1.1.0')
  const { items } = await world.admin.list(operationPermit)
  const switched = items.filter((p) => p.spec.operations.includes('SwitchComponent'))
  // Two for each machine, because their nodes took pods before the first version was there.
  expect(switched.map((p) => p.spec.targets.map((t) => t.name).join()).toSorted()).toEqual(['one', 'one', 'two', 'two'])
})

test('a component whose probe fails has a condition, and a rule restarts it under a permit and verifies it', async () => {
  await world.admin.create(nodeRemedier, objectOf('NodeRemedier', 'beacon', unwellComponent('beacon')))
  hosts.get('two')?.machine.run('touch', BROKEN)
  const job = await done('beacon')
  expect([job.spec.machine, job.status?.outcome]).toEqual(['two', 'Succeeded'])
  expect(steps(job)).toEqual(['restartComponent Succeeded'])
  const node = await world.admin.get(nodeType, { name: 'two' })
  expect(findCondition(node?.status?.conditions, CONDITION)?.status).toBe('False')
  const permit = await world.admin.get(operationPermit, { name: job.metadata.name ?? '' })
  expect(permit?.spec.operations).toEqual(['RestartComponent'])
})

test('a host that asks for a reboot is rebooted under a permit once, with evidence before, and is known by its new boot', async () => {
  const host = hosts.get('one')?.machine
  const bootId = () => host?.run('cat', '/proc/sys/kernel/random/boot_id').out.trim()
  const before = bootId()
  const spec = {
    when: { all: [{ fact: 'conditions', path: '/RebootRequired/status', operator: 'equal', value: 'True' }] },
    ladder: [
      {
        operations: [{ collectEvidence: { kinds: ['Disks'] } }, { reboot: { timeout: '5m' } }],
        timeout: '10m',
        verify: { conditionCleared: 'RebootRequired', stableFor: '1s' },
      },
    ],
  }
  await world.admin.create(nodeRemedier, objectOf('NodeRemedier', 'reboots', spec))
  host?.run('touch', '/run/reboot-required')
  const job = await done('reboots')
  expect([job.spec.machine, job.status?.outcome]).toEqual(['one', 'Succeeded'])
  expect(steps(job)).toEqual(['collectEvidence Succeeded', 'reboot Succeeded'])
  expect(job.status?.steps?.[0]?.output).toContain('/disks.txt')
  expect(bootId()).not.toBe(before)
})

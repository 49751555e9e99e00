import { coreKind } from '#kube/core-kinds.ts'
import { componentObjectName } from '#lib/names.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { SYSTEM_NAMESPACE, TAINTS, agentLeaseName } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { type Node, type Pod, hasTaint, nodeType, podType } from '#nodes/objects.ts'
import {
  type TestWorld,
  beat,
  components,
  definition,
  endWorlds,
  grant,
  machineWorld,
  readyMachine,
  register,
  report,
  setOf,
} from '#test/support/worlds/machine-world.ts'
import { afterEach, describe, expect, test } from 'vitest'
import { leaseType } from '#runtime/lease.ts'
import { ORPHAN_GRACE_MS } from './machine/orphans/plan.ts'

afterEach(endWorlds)

const HOUR_MS = 3_600_000

function hold({ fake, clock }: TestWorld, kind: string, name: string, effect = 'Pause'): void {
  fake.plant(operationalHold, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationalHold',
    metadata: { name: `hold-${name}` },
    spec: { target: { kind, name }, effect, reason: 'a look', author: 'ada', until: timestamp(clock.now() + HOUR_MS) },
  })
}

const conditionOf = (w: TestWorld, name: string, type: string) =>
  w.machine(name)?.status?.conditions?.find((c) => c.type === type)

/** A slice of the set with a permit for this machine and version. */
function slice(w: TestWorld, machine: string, version: string): void {
  const { uid = '' } = w.machine(machine)?.metadata ?? {}
  w.fake.plant(operationPermit, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationPermit',
    metadata: { name: 'p' },
    spec: {
      operations: ['SwitchComponent'],
      component: { name: 'beacon', version },
      targets: [{ kind: 'Machine', name: machine, uid }],
      requester: { manager: 'kubenode-componentset', kind: 'MachineComponentSet', name: 'base' },
      reason: 'a test',
    },
  })
  const slice = {
    component: 'beacon',
    version,
    step: 0,
    number: 0,
    phase: 'Switching',
    permit: 'p',
    machines: [machine],
  }
  w.fake.poke(machineComponentSet, { name: 'base' }, { status: { observedGeneration: 2, slices: [slice] } }, 'status')
}

/** Its slice switches under a granted permit and it has staged the version, but it still gets no order to switch. */
async function stagedWithoutOrder(w: TestWorld, name: string): Promise<void> {
  slice(w, name, '1.1.0')
  grant(w, 'p')
  await w.clock.advance(1_000)
  report(w, name, 'Staged', { version: '1.0.0' })
  beat(w, name)
  await w.clock.advance(5_000)
  expect(orderOf(w, name)).toMatchObject({ version: '1.1.0' })
  expect(orderOf(w, name)?.switch).toBeUndefined()
}

const orderOf = (w: TestWorld, name: string) => w.machine(name)?.spec.components?.[0]

describe('a hold', () => {
  test('on a machine keeps it from being made, and says so until it ends', async () => {
    const w = await machineWorld()
    hold(w, 'Machine', 'm')
    w.fake.plant(machineType, {
      ...machineType.example,
      metadata: { name: 'm' },
      spec: { provider: { name: 'process' } },
    })
    await w.clock.advance(5_000)
    expect(w.hosts.size).toBe(0)
    expect(conditionOf(w, 'm', 'Paused')).toMatchObject({ status: 'True', reason: 'HoldPause' })
    expect(w.machine('m')?.status?.waitingFor).toMatchObject({
      predicate: 'NotHeld',
      unblock: 'OperationalHold hold-m ends',
    })
    // The Machine is old by then and has no recorded attempt, so the provider is asked twice whether it has a host.
    await w.clock.advance(HOUR_MS + 30_000)
    expect(w.hosts.size).toBe(1)
    expect(conditionOf(w, 'm', 'Paused')).toBeUndefined()
  })

  test('on its set keeps a machine from being ordered to switch, also under a grant, until it is removed', async () => {
    const w = await machineWorld()
    const name = await readyMachine(w)
    w.fake.plant(machineComponent, definition('1.1.0'))
    w.fake.poke(machineComponentSet, { name: 'base' }, components('1.1.0'))
    hold(w, 'MachineSet', 'workers')
    await stagedWithoutOrder(w, name)
    await w.client.delete(operationalHold, { name: 'hold-workers' })
    await w.clock.advance(1_000)
    expect(orderOf(w, name)?.switch).toEqual({ attempt: 2, permit: 'p' })
  })

  test('that is a file on its node keeps a machine from being ordered to switch until it is removed', async () => {
    const w = await machineWorld()
    const name = await readyMachine(w)
    w.fake.plant(machineComponent, definition('1.1.0'))
    w.fake.poke(machineComponentSet, { name: 'base' }, components('1.1.0'))
    const at = timestamp(w.clock.now())
    const frozen = { type: 'Frozen', status: 'True', reason: 'HoldFreeze', message: '', lastTransitionTime: at }
    const conditions = w.machine(name)?.status?.conditions ?? []
    w.fake.poke(machineType, { name }, { status: { conditions: [...conditions, frozen] } }, 'status')
    await stagedWithoutOrder(w, name)
    const now = w.machine(name)?.status?.conditions?.filter((c) => c.type !== 'Frozen') ?? []
    w.fake.poke(machineType, { name }, { status: { conditions: now } }, 'status')
    beat(w, name)
    await w.clock.advance(1_000)
    expect(orderOf(w, name)?.switch).toEqual({ attempt: 2, permit: 'p' })
  })

  test('stops a removal where it is, and the next step comes when it is over', async () => {
    const w = await machineWorld()
    const name = await readyMachine(w)
    hold(w, 'Machine', name, 'Freeze')
    w.fake.uproot(machineType, { name })
    await w.clock.advance(5_000)
    expect(w.fake.all(operationPermit)).toEqual([])
    expect(w.machine(name)?.status).toMatchObject({ phase: 'Deleting', waitingFor: { predicate: 'NotHeld' } })
    await w.client.delete(operationalHold, { name: `hold-${name}` })
    await w.clock.advance(1_000)
    expect(w.fake.all(operationPermit)).toHaveLength(1)
  })
})

describe('a silent machine', () => {
  test('is given no order, and is not emptied for one', async () => {
    const w = await machineWorld()
    const name = await readyMachine(w)
    w.fake.plant(machineComponent, {
      ...definition('1.1.0'),
      spec: { ...definition('1.1.0').spec, disruption: 'Drain' },
    })
    w.fake.poke(machineComponentSet, { name: 'base' }, components('1.1.0'))
    slice(w, name, '1.1.0')
    await w.clock.advance(1_000)
    report(w, name, 'Staged', { version: '1.0.0' })
    await w.clock.advance(60_000)
    grant(w, 'p')
    await w.clock.advance(5_000)
    expect(orderOf(w, name)?.switch).toBeUndefined()
    expect(hasTaint(w.fake.peek(nodeType, { name }) as Node, TAINTS.cordon)).toBe(false)
    beat(w, name)
    await w.clock.advance(5_000)
    expect(orderOf(w, name)?.switch).toEqual({ attempt: 2, permit: 'p' })
  })

  test('is removed although its pods never tell that they ended, once it is Lost', async () => {
    const w = await machineWorld()
    const name = await readyMachine(w)
    const pod = { name: 'web', namespace: 'default' }
    const spec = { nodeName: name, terminationGracePeriodSeconds: 30, containers: [{ name: 'c', image: 'i' }] }
    w.fake.plant(podType, { apiVersion: 'v1', kind: 'Pod', metadata: pod, spec })
    w.fake.poke(nodeType, { name }, { status: { conditions: [] } }, 'status')
    await w.clock.advance(90_000)
    expect(w.machine(name)?.status?.phase).toBe('Lost')
    w.fake.uproot(machineType, { name })
    await w.clock.advance(1_000)
    grant(w, w.fake.all(operationPermit)[0]?.metadata.name ?? '')
    await w.clock.advance(20_000)
    expect(w.fake.peek(podType, pod)?.metadata.deletionTimestamp).toBeDefined()
    expect(w.machine(name)).toBeUndefined()
  })
})

describe('what the provider says of its hosts', () => {
  test('a host that vanished under a silent machine of a set is replaced; nothing was disturbed, so no permit is asked for', async () => {
    const w = await machineWorld({ withParts: true })
    const name = await readyMachine(w)
    w.hosts.delete(`process://${name}`)
    w.fake.poke(nodeType, { name }, { status: { conditions: [] } }, 'status')
    await w.clock.advance(50_000)
    expect(w.machine(name)?.metadata.deletionTimestamp).toBeUndefined()
    await w.clock.advance(90_000)
    expect(w.machine(name)).toBeUndefined()
    expect(w.fake.all(operationPermit)).toEqual([])
    expect(w.fake.peek(nodeType, { name })).toBeUndefined()
    expect(w.hosts.size).toBe(1)
    expect(w.fake.all(machineType)).toHaveLength(1)
  })

  test('a host that vanished under a machine that still reports is reported, and no action follows', async () => {
    const w = await machineWorld({ withParts: true })
    const name = await readyMachine(w)
    w.hosts.delete(`process://${name}`)
    for (let i = 0; i < 10; i++) {
      beat(w, name)
      await w.clock.advance(15_000)
    }
    expect(conditionOf(w, name, 'InfrastructureReady')).toMatchObject({ status: 'False', reason: 'MachineGone' })
    expect(w.machine(name)?.status?.phase).toBe('Ready')
  })

  test('a host that is switched off, and one that has another address, show on the machine', async () => {
    const w = await machineWorld({ withParts: true })
    const name = await readyMachine(w)
    const id = `process://${name}`
    const host = w.hosts.get(id)
    if (host === undefined) throw new Error('no host')
    w.hosts.set(id, { ...host, state: 'Stopped', address: '10.0.0.9' })
    await w.clock.advance(90_000)
    expect(conditionOf(w, name, 'InfrastructureReady')).toMatchObject({ status: 'False', reason: 'HostStopped' })
    expect(w.machine(name)?.spec.address).toBe('10.0.0.9')
  })

  test('a host that no Machine has is deleted after its grace period, and never when its Node or its agent was observed', async () => {
    const w = await machineWorld({ withParts: true })
    const name = await readyMachine(w)
    const real = w.hosts.get(`process://${name}`)
    if (real === undefined) throw new Error('no host')
    for (const id of ['left', 'alive', 'was-alive'])
      w.hosts.set(`process://${id}`, {
        ...real,
        providerID: `process://${id}`,
        machine: id,
        clientToken: `uid-${id}`,
        machineUid: `uid-${id}`,
      })
    register(w, 'alive')
    beat(w, 'was-alive')
    await w.clock.advance(300_000)
    w.fake.uproot(leaseType, { namespace: SYSTEM_NAMESPACE, name: agentLeaseName('was-alive') })
    await w.clock.advance(ORPHAN_GRACE_MS - 360_000)
    expect(w.hosts.has('process://left')).toBe(true)
    // Two more lists, each with its jitter.
    await w.clock.advance(240_000)
    expect([...w.hosts.keys()].sort()).toEqual(['process://alive', 'process://was-alive', `process://${name}`].sort())
  })
})

describe('a component that runs as pods', () => {
  const daemonSetType = coreKind('DaemonSet')
  const revisionType = coreKind('ControllerRevision')
  const key = { name: 'beacon', namespace: 'default' }

  const asWorkload = (version: string) => {
    const { metadata } = definition(version)
    const daemonSet = { namespace: 'default', name: 'beacon' }
    const spec = { component: 'beacon', version, type: 'DaemonSet', daemonSet, disruption: 'Restart' }
    return {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'MachineComponent',
      metadata: { name: metadata.name ?? componentObjectName('beacon', version) },
      spec,
    }
  }
  const owner = ({ fake }: TestWorld) => [
    {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      name: 'beacon',
      uid: fake.peek(daemonSetType, key)?.metadata.uid ?? '',
      controller: true,
    },
  ]
  const revision = (w: TestWorld, n: number) =>
    w.fake.plant(revisionType, {
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: {
        name: `beacon-${n}`,
        namespace: 'default',
        labels: { 'controller-revision-hash': `h${n}` },
        ownerReferences: owner(w),
      },
      revision: n,
    })
  const pod = (w: TestWorld, node: string, n: number) => {
    const metadata = {
      name: `beacon-${n}`,
      namespace: 'default',
      labels: { 'controller-revision-hash': `h${n}` },
      ownerReferences: owner(w),
    }
    w.fake.plant(podType, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: { nodeName: node, terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'i' }] },
    })
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }
    w.fake.poke(podType, { name: metadata.name, namespace: 'default' }, { status }, 'status')
  }

  test('is installed by its pod, and switched by replacing it: ordered under the permit of its slice, and reported like any other', async () => {
    const w = await machineWorld()
    w.fake.plant(machineComponent, asWorkload('1.0.0'))
    w.fake.plant(machineComponentSet, components('1.0.0'))
    const template = { metadata: { labels: { app: 'beacon' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    const spec = { selector: { matchLabels: { app: 'beacon' } }, template, updateStrategy: { type: 'OnDelete' } }
    w.fake.plant(daemonSetType, { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: key, spec })
    revision(w, 1)
    w.fake.plant(machineSet, setOf(1))
    await w.clock.advance(1_000)
    const name = w.fake.all(machineType)[0]?.metadata.name ?? ''
    beat(w, name)
    register(w, name)
    await w.clock.advance(5_000)
    expect(w.machine(name)?.status).toMatchObject({
      phase: 'Installing',
      components: [{ name: 'beacon', state: 'Probing' }],
    })
    pod(w, name, 1)
    beat(w, name)
    await w.clock.advance(15_000)
    expect(w.machine(name)?.status).toMatchObject({
      phase: 'Ready',
      components: [{ version: '1.0.0', state: 'Healthy' }],
    })
    expect(orderOf(w, name)).toEqual({ name: 'beacon', version: '1.0.0', attempt: 1, setRef: 'base', workload: true })

    revision(w, 2)
    w.fake.plant(machineComponent, asWorkload('1.1.0'))
    w.fake.poke(machineComponentSet, { name: 'base' }, components('1.1.0'))
    slice(w, name, '1.1.0')
    beat(w, name)
    await w.clock.advance(15_000)
    expect(w.machine(name)?.status?.components).toMatchObject([
      { version: '1.0.0', desired: '1.1.0', state: 'Staged', attempt: 2 },
    ])
    expect(w.fake.peek(podType, { name: 'beacon-1', namespace: 'default' })).toBeDefined()
    grant(w, 'p')
    beat(w, name)
    await w.clock.advance(5_000)
    expect(orderOf(w, name)?.switch).toEqual({ attempt: 2, permit: 'p' })
    expect(w.fake.all(podType) as readonly Pod[]).toEqual([])
    expect(w.machine(name)?.status?.components).toMatchObject([{ version: '1.0.0', state: 'Probing' }])
    pod(w, name, 2)
    beat(w, name)
    await w.clock.advance(15_000)
    expect(w.machine(name)?.status?.components).toMatchObject([{ version: '1.1.0', state: 'Healthy' }])
    expect(orderOf(w, name)?.switch).toBeUndefined()
  })
})

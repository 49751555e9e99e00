import 'reflect-metadata'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import {
  AGENTS_GROUP,
  AGENT_SIGNER,
  BOOTSTRAP_GROUP,
  TAINTS,
  agentNodeGroup,
  agentUser,
  machineUidGroup,
} from '#api/names.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { timestamp } from '#lib/clock.ts'
import { componentObjectName } from '#lib/names.ts'
import { type Node, hasTaint, nodeType, podType, secretType } from '#nodes/objects.ts'
import { leaseType } from '#runtime/lease.ts'
import { Pkcs10CertificateRequestGenerator } from '@peculiar/x509'
import {
  beat,
  components,
  definition,
  endWorlds,
  machineWorld,
  readyMachine,
  register,
  report,
  setOf,
} from '#test/support/worlds/machine-world.ts'
import { afterEach, describe, expect, test } from 'vitest'
import { type CertificateRequest, certificateRequestType } from '#identity/certificate-request.ts'
import { UNDER_WAY_MS } from './machine/reporting/status-pace.ts'

afterEach(endWorlds)

describe('the machine controller', () => {
  test('makes a machine of a set, joins it, waits for its components, and takes the startup taint away', async () => {
    const w = await machineWorld()
    w.fake.plant(machineComponent, definition('1.0.0'))
    w.fake.plant(machineComponentSet, components('1.0.0'))
    w.fake.plant(machineSet, setOf(1))
    await w.clock.advance(1_000)
    const name = w.fake.all(machineType)[0]?.metadata.name ?? ''
    const host = w.hosts.get(`process://${name}`)
    const token = w.fake.all(secretType).find((s) => s.metadata.namespace === 'kube-system')
    expect(w.machine(name)).toMatchObject({
      spec: {
        providerID: `process://${name}`,
        components: [{ name: 'beacon', version: '1.0.0', setRef: 'base', attempt: 1 }],
      },
      status: { phase: 'Joining' },
    })
    expect(host?.request.join).toMatchObject({ server: 'https://api', machine: name, node: name, cluster: 'test' })
    expect(host?.request.join.token).toMatch(/^[a-z0-9]{6}\.[a-z0-9]{16}$/)
    expect(token?.metadata.name).toBe(`bootstrap-token-${host?.request.join.token.slice(0, 6)}`)

    beat(w, name)
    register(w, name)
    await w.clock.advance(1_000)
    expect(w.machine(name)?.status?.phase).toBe('Installing')
    expect(w.fake.all(secretType)).toEqual([])

    report(w, name, 'Healthy')
    await w.clock.advance(1_000)
    const node = w.fake.peek(nodeType, { name }) as Node
    expect(node.spec?.taints).toEqual([])
    expect(node.metadata.labels).toEqual({ 'kubenode.io/pool': 'workers' })
    expect(w.machine(name)?.status).toMatchObject({ phase: 'Ready', nodeRef: { name, uid: node.metadata.uid } })
    expect(w.machine(name)?.status?.conditions?.find((c) => c.type === 'Ready')?.status).toBe('True')
    const settled = w.fake.revision
    for (let i = 0; i < 12; i++) {
      await w.clock.advance(10_000)
      beat(w, name)
    }
    // Only the leases were renewed, and the set counted its machine as available.
    expect(w.fake.revision - settled).toBe(13)
  })

  test('orders a switch only for a slice that is granted and staged, and writes nothing when the agent is done', async () => {
    const w = await machineWorld()
    const name = await readyMachine(w)
    const uid = w.machine(name)?.metadata.uid ?? ''
    w.fake.plant(machineComponent, definition('1.1.0'))
    w.fake.poke(machineComponentSet, { name: 'base' }, components('1.1.0'))
    await w.clock.advance(1_000)
    const order = () => w.machine(name)?.spec.components?.[0]
    expect(order()).toMatchObject({ version: '1.0.0', attempt: 1 })

    const slice = {
      component: 'beacon',
      version: '1.1.0',
      step: 0,
      number: 0,
      phase: 'AwaitingPermit',
      permit: 'p',
      machines: [name],
    }
    w.fake.plant(operationPermit, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'OperationPermit',
      metadata: { name: 'p' },
      spec: {
        operations: ['SwitchComponent'],
        component: { name: 'beacon', version: '1.1.0' },
        targets: [{ kind: 'Machine', name, uid }],
        requester: { manager: 'kubenode-componentset', kind: 'MachineComponentSet', name: 'base' },
        reason: 'a test',
      },
    })
    w.fake.poke(machineComponentSet, { name: 'base' }, { status: { observedGeneration: 2, slices: [slice] } }, 'status')
    await w.clock.advance(1_000)
    const ordered = { name: 'beacon', version: '1.1.0', setRef: 'base', attempt: 2, part: 'set/base step 1 slice 1' }
    expect(order()).toEqual(ordered)
    report(w, name, 'Staged', { version: '1.0.0' })
    await w.clock.advance(1_000)
    expect(order()?.switch).toBeUndefined()

    const granted = { phase: 'Granted', verdicts: [{ target: uid, gate: 'All', verdict: 'Granted' }] }
    w.fake.poke(operationPermit, { name: 'p' }, { status: granted }, 'status')
    await w.clock.advance(1_000)
    expect(order()?.switch).toEqual({ attempt: 2, permit: 'p' })
    // Short progress is not written to the status. This takes longer.
    await w.clock.advance(UNDER_WAY_MS)
    expect(w.machine(name)?.status?.phase).toBe('Updating')
    const { generation } = w.machine(name)?.metadata ?? {}
    report(w, name, 'Healthy')
    await w.clock.advance(1_000)
    // The order goes with the next write: the report says that it is over.
    expect(w.machine(name)?.metadata.generation).toBe(generation)
    expect(order()).toEqual({ ...ordered, switch: { attempt: 2, permit: 'p' } })
    expect(w.machine(name)?.status?.phase).toBe('Ready')
  })

  test.each([
    ['cannot be fetched', 'Fetching', 'Ready'],
    ['is staged', 'Staged', 'Ready'],
    ['failed in its first switch', 'Failed', 'NotReady'],
  ])('a machine in service to which a component is added that %s (%s) is %s', async (_, state, phase) => {
    const w = await machineWorld()
    const name = await readyMachine(w)
    const beacon = definition('1.0.0')
    w.fake.plant(machineComponent, {
      ...beacon,
      metadata: { name: componentObjectName('puls', '1.0.0') },
      spec: { ...beacon.spec, component: 'puls' },
    })
    const both = ['beacon', 'puls'].map((component) => ({ name: component, version: '1.0.0' }))
    const slice = { component: 'puls', version: '1.0.0', step: 0, number: 0, phase: 'AwaitingPermit', permit: 'p' }
    const { spec } = components('1.0.0')
    w.fake.poke(machineComponentSet, { name: 'base' }, { spec: { ...spec, components: both } })
    const status = { observedGeneration: 2, slices: [{ ...slice, machines: [name] }] }
    w.fake.poke(machineComponentSet, { name: 'base' }, { status }, 'status')
    await w.clock.advance(1_000)
    const reports = w.machine(name)?.status?.components ?? []
    const since = timestamp(w.clock.now())
    const why = { reason: 'FetchFailed', message: 'KN8010: 404' }
    const puls = { name: 'puls', desired: '1.0.0', attempt: 1, state, since, ...why }
    w.fake.poke(machineType, { name }, { status: { components: [...reports, puls] } }, 'status')
    await w.clock.advance(UNDER_WAY_MS)
    beat(w, name)
    await w.clock.advance(1_000)
    expect(w.machine(name)?.spec.components?.map((c) => c.name)).toEqual(['beacon', 'puls'])
    expect(w.machine(name)?.status?.phase).toBe(phase)
  })

  test('takes a machine away only under a permit, then its host, its Node and itself', async () => {
    const w = await machineWorld()
    const name = await readyMachine(w)
    const uid = w.machine(name)?.metadata.uid ?? ''
    w.fake.poke(machineSet, { name: 'workers' }, { spec: { replicas: 0 } })
    await w.clock.advance(60_000)
    beat(w, name)
    await w.clock.advance(1_000)
    const [permit] = w.fake.all(operationPermit)
    expect(permit?.['spec']).toMatchObject({ operations: ['ScaleIn'], targets: [{ name, uid }] })
    expect(w.machine(name)?.metadata.deletionTimestamp).toBeUndefined()
    expect(w.fake.peek(machineSet, { name: 'workers' })?.['status']).toMatchObject({
      waitingFor: { predicate: 'PermitGranted' },
    })

    const granted = {
      phase: 'Granted',
      decidedAt: timestamp(w.clock.now()),
      verdicts: [{ target: uid, gate: 'All', verdict: 'Granted' }],
    }
    w.fake.poke(operationPermit, { name: permit?.metadata.name ?? '' }, { status: granted }, 'status')
    await w.clock.advance(10_000)
    expect(w.machine(name)).toMatchObject({
      spec: { providerID: `process://${name}` },
      status: { waitingFor: { predicate: 'Uninstalled', seen: '1 component left to uninstall, such as beacon' } },
    })
    expect(w.machine(name)?.spec.components).toBeUndefined()
    expect(w.hosts.size).toBe(1)
    report(w, name, 'Healthy')
    await w.clock.advance(10_000)
    expect(w.machine(name)).toBeUndefined()
    expect(w.hosts.size).toBe(0)
    expect(w.fake.all(nodeType)).toEqual([])
    expect(w.fake.all(leaseType)).toEqual([])
    expect(w.fake.all(operationPermit)[0]?.['spec']).toMatchObject({ results: { [uid]: 'Succeeded' } })
  })

  test('empties a node before its host goes, and says which pod it waits for', async () => {
    const w = await machineWorld()
    const name = await readyMachine(w)
    const uid = w.machine(name)?.metadata.uid ?? ''
    const pod = { name: 'web', namespace: 'default' }
    const spec = { nodeName: name, terminationGracePeriodSeconds: 30, containers: [{ name: 'c', image: 'i' }] }
    w.fake.plant(podType, { apiVersion: 'v1', kind: 'Pod', metadata: pod, spec })
    w.fake.uproot(machineType, { name })
    await w.clock.advance(1_000)
    const [permit] = w.fake.all(operationPermit)
    expect(permit?.['spec']).toMatchObject({ operations: ['ScaleIn'], requester: { manager: 'kubenode-machine' } })
    expect(w.fake.peek(podType, pod)?.metadata.deletionTimestamp).toBeUndefined()

    const granted = {
      phase: 'Granted',
      decidedAt: timestamp(w.clock.now()),
      verdicts: [{ target: uid, gate: 'All', verdict: 'Granted' }],
    }
    w.fake.poke(operationPermit, { name: permit?.metadata.name ?? '' }, { status: granted }, 'status')
    await w.clock.advance(5_000)
    expect(w.machine(name)?.status).toMatchObject({ phase: 'Draining' })
    expect(w.machine(name)?.status?.conditions?.find((c) => c.type === 'Drained')?.message).toContain('default/web')
    expect(hasTaint(w.fake.peek(nodeType, { name }) as Node, TAINTS.cordon)).toBe(true)
    expect(w.fake.peek(podType, pod)?.metadata.deletionTimestamp).toBeDefined()
    expect(w.hosts.has(`process://${name}`)).toBe(true)

    await w.client.delete(podType, pod, { gracePeriodSeconds: 0 })
    await w.clock.advance(10_000)
    expect(w.machine(name)).toBeUndefined()
  })

  test('a machine that a repair replaces goes under the permit of the repair, and takes no other', async () => {
    const w = await machineWorld()
    const name = await readyMachine(w)
    const uid = w.machine(name)?.metadata.uid ?? ''
    w.fake.plant(operationPermit, {
      apiVersion: API_GROUP_VERSION,
      kind: 'OperationPermit',
      metadata: { name: 'repair' },
      spec: {
        operations: ['Replace'],
        targets: [{ kind: 'Machine', name, uid }],
        requester: { manager: 'kubenode-remedyjob', kind: 'RemedyOperationJob', name: 'j' },
        reason: 'broken',
        leaseSeconds: 300,
      },
    })
    const granted = {
      phase: 'Granted',
      decidedAt: timestamp(w.clock.now()),
      verdicts: [{ target: uid, gate: 'All', verdict: 'Granted' }],
    }
    w.fake.poke(operationPermit, { name: 'repair' }, { status: granted }, 'status')
    await w.clock.advance(1_000)
    w.fake.uproot(machineType, { name })
    await w.clock.advance(20_000)
    expect(w.machine(name)).toBeUndefined()
    expect(w.fake.all(operationPermit).map((p) => p.metadata.name)).toEqual(['repair'])
  })

  test('a provider that refuses makes the machine Failed, with its words, and is asked again', async () => {
    const w = await machineWorld()
    w.refuse('no room in zone-a')
    w.fake.plant(machineSet, setOf(1))
    await w.clock.advance(1_000)
    const [first] = w.fake.all(machineType) as readonly Machine[]
    const status = () => w.machine(first?.metadata.name ?? '')?.status
    expect(status()?.phase).toBe('Failed')
    expect(status()?.conditions?.find((c) => c.type === 'InfrastructureReady')).toMatchObject({
      status: 'False',
      reason: 'ProviderError',
      message: 'refused by the provider: no room in zone-a',
    })
    w.refuse(undefined)
    await w.clock.advance(120_000)
    expect(status()?.phase).toBe('Joining')
  })

  test('a machine of an unconfigured provider is Stalled, and nothing is created for it', async () => {
    const w = await machineWorld()
    w.fake.plant(machineType, { ...machineType.example, metadata: { name: 'm' }, spec: { provider: { name: 'moon' } } })
    await w.clock.advance(1_000)
    expect(w.machine('m')?.status?.conditions?.find((c) => c.type === 'Stalled')).toMatchObject({
      status: 'True',
      reason: 'ReferenceMissing',
    })
    expect(w.hosts.size).toBe(0)
  })

  test('a machine that is only observed is left alone', async () => {
    const w = await machineWorld()
    w.fake.plant(machineType, { ...machineType.example, metadata: { name: 'm' }, spec: { channel: 'Observe' } })
    await w.clock.advance(1_000)
    expect(w.machine('m')?.metadata.finalizers).toBeUndefined()
    expect(w.machine('m')?.spec).toEqual({ channel: 'Observe' })
  })

  test('a machine whose agent and node are silent is Lost, and is back when they are heard again', async () => {
    const w = await machineWorld()
    const name = await readyMachine(w)
    beat(w, name)
    await w.clock.advance(50_000)
    const conditions = () => w.machine(name)?.status?.conditions ?? []
    expect(conditions().find((c) => c.type === 'AgentReachable')).toMatchObject({
      status: 'False',
      reason: 'LeaseExpired',
    })
    // The phase is never better than the condition.
    expect(w.machine(name)?.status?.phase).toBe('NotReady')
    w.fake.poke(nodeType, { name }, { status: { conditions: [] } }, 'status')
    await w.clock.advance(20_000)
    expect(w.machine(name)?.status?.phase).toBe('Lost')
    beat(w, name)
    await w.clock.advance(1_000)
    expect(w.machine(name)?.status?.phase).toBe('NotReady')
    expect(conditions().find((c) => c.type === 'Ready')).toMatchObject({ status: 'False', reason: 'NodeNotReady' })
    w.fake.poke(nodeType, { name }, { status: { conditions: [{ type: 'Ready', status: 'True' }] } }, 'status')
    await w.clock.advance(1_000)
    expect(w.machine(name)?.status?.phase).toBe('Ready')
  })
})

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

async function certificateRequest(
  w: World,
  machine: string,
  username: string,
  groups: readonly string[],
  node = machine,
): Promise<CertificateRequest> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const pem = await Pkcs10CertificateRequestGenerator.create({
    name: [
      { O: [AGENTS_GROUP] },
      { O: [agentNodeGroup(node)] },
      { O: [machineUidGroup(w.machine(machine)?.metadata.uid ?? '')] },
      { CN: [agentUser(machine)] },
    ],
    keys,
    signingAlgorithm: ALGORITHM,
  })
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: `csr-${username.replaceAll(/[^a-z0-9]/g, '-')}` },
    spec: {
      request: Buffer.from(pem.toString('pem')).toString('base64'),
      signerName: AGENT_SIGNER,
      usages: ['client auth'],
      expirationSeconds: 7 * 86_400,
      username,
      groups,
    },
  }
}

type World = Awaited<ReturnType<typeof machineWorld>>

const verdict = (w: World, r: CertificateRequest) =>
  (w.fake.peek(certificateRequestType, { name: r.metadata.name ?? '' }) as CertificateRequest).status?.conditions?.map(
    (c) => c.type,
  )

async function answered(w: World, requests: readonly CertificateRequest[]): Promise<void> {
  for (const request of requests) w.fake.plant(certificateRequestType, request)
  for (let i = 0; i < 100 && requests.some((r) => verdict(w, r) === undefined); i++) {
    await w.clock.advance(100)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

describe('the approver', () => {
  test("approves the machine's own token, and denies another machine's", async () => {
    const w = await machineWorld()
    w.fake.plant(machineSet, setOf(2))
    await w.clock.advance(1_000)
    const [a = '', b = ''] = w.fake.all(machineType).map((m) => m.metadata.name)
    const idOf = (name: string) => w.hosts.get(`process://${name}`)?.request.join.token.slice(0, 6)
    const own = await certificateRequest(w, a, `system:bootstrap:${idOf(a)}`, [BOOTSTRAP_GROUP])
    const foreign = await certificateRequest(w, a, `system:bootstrap:${idOf(b)}`, [BOOTSTRAP_GROUP])
    await answered(w, [own, foreign])
    expect(verdict(w, own)).toEqual(['Approved'])
    expect(verdict(w, foreign)).toEqual(['Denied'])
  })

  test('a machine that claims the Node of another one does not get the identity of that Node', async () => {
    const w = await machineWorld()
    w.fake.plant(machineSet, setOf(2))
    await w.clock.advance(1_000)
    const [a = '', b = ''] = w.fake.all(machineType).map((m) => m.metadata.name)
    const id = w.hosts.get(`process://${a}`)?.request.join.token.slice(0, 6)
    w.fake.poke(machineType, { name: a }, { status: { nodeRef: { name: b, uid: 'u' } } }, 'status')
    const request = await certificateRequest(w, a, `system:bootstrap:${id}`, [BOOTSTRAP_GROUP], b)
    await answered(w, [request])
    expect(verdict(w, request)).toEqual(['Denied'])
  })
})

import { coreKind } from '#kube/core-kinds.ts'
import {
  ABANDONED_HOSTS,
  ANNOTATIONS,
  FIELD_MANAGERS,
  JOIN_NAMESPACE,
  SYSTEM_NAMESPACE,
  TAINTS,
  agentLeaseName,
} from '#api/names.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { microTimestamp, timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { type Node, hasTaint, nodeType, podType } from '#nodes/objects.ts'
import { StaticProvider, notesInMemory } from '#providers/static/provider.ts'
import { leaseType } from '#runtime/lease.ts'
import {
  type TestWorld,
  beat,
  components,
  definition,
  endWorlds,
  grant,
  machineWorld,
} from '#test/support/worlds/machine-world.ts'
import { afterEach, describe, expect, test } from 'vitest'
import { secretType } from '#nodes/objects.ts'

const configMapType = coreKind('ConfigMap')

afterEach(endWorlds)

const NODE = 'db-1'
const nodeInfo = {
  bootID: 'boot-7',
  osImage: 'Debian GNU/Linux 12',
  architecture: 'amd64',
  kernelVersion: '6.1.0-25-amd64',
  kubeletVersion: 'v1.34.2',
  containerRuntimeVersion: 'containerd://2.1.4',
}

/** A Node that another program created long ago, with a kubelet that keeps it alive. */
function existingNode({ fake, clock }: TestWorld, isReady = true): void {
  const metadata = { name: NODE, labels: { arch: 'amd64', tier: 'db' } }
  fake.plant(nodeType, { apiVersion: 'v1', kind: 'Node', metadata, spec: { taints: [] } })
  ready({ fake, clock }, isReady)
}

function ready({ fake, clock }: Pick<TestWorld, 'fake' | 'clock'>, isReady: boolean): void {
  const lastTransitionTime = timestamp(clock.now())
  const status = isReady ? 'True' : 'False'
  const conditions = [{ type: 'Ready', status, reason: 'Kubelet', message: '', lastTransitionTime }]
  fake.poke(nodeType, { name: NODE }, { status: { conditions, nodeInfo } }, 'status')
}

const nodeIn = ({ fake }: TestWorld) => fake.peek(nodeType, { name: NODE }) as Node
const conditionOf = (w: TestWorld, type: string) => w.machine(NODE)?.status?.conditions?.find((c) => c.type === type)

const observed = {
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Machine',
  metadata: { name: NODE, labels: { pool: 'workers' } },
}

describe('a machine that is only observed', () => {
  test('mirrors its Node, component by component, and touches nothing', async () => {
    const w = await machineWorld()
    existingNode(w)
    const before = nodeIn(w)
    w.fake.plant(machineComponent, definition('1.0.0'))
    w.fake.plant(machineComponentSet, components('1.0.0'))
    w.fake.plant(machineType, { ...observed, spec: { channel: 'Observe', labels: { mine: 'yes' } } })
    await w.clock.advance(5_000)
    expect(nodeIn(w)).toEqual(before)
    const machine = w.machine(NODE)
    expect(machine?.spec).toEqual({ channel: 'Observe', labels: { mine: 'yes' } })
    expect(machine?.metadata.finalizers).toBeUndefined()
    expect(machine?.status).toMatchObject({
      phase: 'Ready',
      nodeRef: { name: NODE, uid: before.metadata.uid },
      bootID: 'boot-7',
      platform: { os: 'Debian GNU/Linux 12', arch: 'amd64', kernel: '6.1.0-25-amd64' },
      components: [
        { name: 'containerd', version: '2.1.4', state: 'Healthy' },
        { name: 'kubelet', version: '1.34.2', state: 'Healthy' },
      ],
    })
    expect(conditionOf(w, 'Ready')).toMatchObject({ status: 'True', reason: 'NodeHealthy' })
    expect(conditionOf(w, 'Reconciling')).toMatchObject({ status: 'False', reason: 'ObservedOnly' })
    expect(conditionOf(w, 'AgentReachable')).toBeUndefined()
    const settled = w.fake.revision
    await w.clock.advance(120_000)
    expect(w.fake.revision).toBe(settled)
  })

  test('says so when its Node is not Ready, and when it is gone', async () => {
    const w = await machineWorld()
    w.fake.plant(machineType, { ...observed, spec: { channel: 'Observe' } })
    await w.clock.advance(1_000)
    expect(w.machine(NODE)?.status).toMatchObject({ phase: 'Pending', waitingFor: { predicate: 'NodeExists' } })
    existingNode(w, false)
    await w.clock.advance(1_000)
    expect(w.machine(NODE)?.status?.waitingFor?.predicate).toBe('NodeHeard')
    expect(conditionOf(w, 'Ready')).toMatchObject({ status: 'False' })
    ready(w, true)
    await w.clock.advance(1_000)
    expect(conditionOf(w, 'Ready')).toMatchObject({ status: 'True' })
    expect(w.machine(NODE)?.status?.waitingFor).toBeUndefined()
    w.fake.uproot(nodeType, { name: NODE })
    await w.clock.advance(1_000)
    expect(w.machine(NODE)?.status?.phase).toBe('Lost')
  })

  test('goes at once when it is deleted, and leaves its Node alone', async () => {
    const w = await machineWorld()
    existingNode(w)
    w.fake.plant(machineType, { ...observed, spec: { channel: 'Observe' } })
    await w.clock.advance(1_000)
    const before = nodeIn(w)
    w.fake.uproot(machineType, { name: NODE })
    await w.clock.advance(1_000)
    expect(w.machine(NODE)).toBeUndefined()
    expect(nodeIn(w)).toEqual(before)
  })
})

const imported = {
  ...observed,
  spec: { channel: 'Agent', provider: { name: 'static' }, labels: { mine: 'yes' }, pool: 'workers' },
}
const staticWorld = () =>
  machineWorld({ providers: { static: new StaticProvider({ notes: notesInMemory(), clock: systemClock }) } })

function agentReport({ fake }: TestWorld): void {
  fake.poke(machineType, { name: NODE }, { status: { agent: { version: '0.1.0' }, bootID: 'boot-7' } }, 'status')
}

function agentLeft({ fake }: TestWorld): void {
  const status = { agent: { version: '0.1.0', phase: 'Left' }, components: [] }
  fake.poke(machineType, { name: NODE }, { status }, 'status')
}

async function takenOver(w: TestWorld): Promise<void> {
  existingNode(w)
  w.fake.plant(machineType, imported)
  await w.clock.advance(1_000)
  beat(w, NODE)
  await w.clock.advance(1_000)
  agentReport(w)
  beat(w, NODE)
  await w.clock.advance(1_000)
}

/** The Secret with the token for the join command. */
const handedOverIn = (w: TestWorld) => w.fake.all(secretType).find((s) => s.metadata.namespace === JOIN_NAMESPACE)

describe('a host that was there before', () => {
  test('waits for its join command, whose token is in no status', async () => {
    const w = await staticWorld()
    existingNode(w)
    w.fake.plant(machineType, imported)
    const before = nodeIn(w)
    await w.clock.advance(5_000)
    // The Node exists already, but our agent is not on the host yet.
    expect(nodeIn(w)).toEqual(before)
    const token = handedOverIn(w)
    const data = token?.['data'] as Record<string, string>
    const text = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString()
    expect(JSON.parse(text('join-bundle'))).toMatchObject({
      server: 'https://api',
      machine: NODE,
      node: NODE,
      cluster: 'test',
      // Its kubelet has registered it.
      registerNode: false,
    })
    expect(text('join-bundle')).not.toContain(text('token-secret'))
    expect(w.machine(NODE)).toMatchObject({
      spec: { providerID: `static://${NODE}` },
      status: {
        phase: 'Joining',
        waitingFor: {
          predicate: 'AgentJoined',
          unblock: `a person runs on the host the command that this prints: kubenode machine join-command ${NODE}`,
        },
      },
    })
    expect(JSON.stringify(w.machine(NODE))).not.toContain(text('token-secret'))
    expect(conditionOf(w, 'Reconciling')).toMatchObject({ reason: 'JoinCommandMissing' })
    expect(conditionOf(w, 'Ready')).toMatchObject({ status: 'False', reason: 'JoinCommandMissing' })
  })

  test('that has no kubelet registers the Node again which its agent had made', async () => {
    const w = await staticWorld()
    existingNode(w)
    w.fake.poke(
      nodeType,
      { name: NODE },
      { status: { nodeInfo: { ...nodeInfo, kubeletVersion: 'kubenode-agent/1.0.0' } } },
      'status',
    )
    w.fake.plant(machineType, imported)
    await w.clock.advance(5_000)
    const data = handedOverIn(w)?.['data'] as Record<string, string>
    expect(JSON.parse(Buffer.from(data['join-bundle'] ?? '', 'base64').toString())).not.toHaveProperty('registerNode')
  })

  test('is taken over without a startup taint and without being switched, and is Ready once its agent spoke', async () => {
    const w = await staticWorld()
    existingNode(w)
    w.fake.plant(machineComponent, definition('1.0.0'))
    w.fake.plant(machineComponentSet, components('1.0.0'))
    w.fake.plant(machineType, imported)
    await w.clock.advance(1_000)
    beat(w, NODE)
    await w.clock.advance(1_000)
    expect(w.machine(NODE)?.status?.phase).toBe('Importing')
    agentReport(w)
    await w.clock.advance(1_000)
    expect(w.machine(NODE)?.status?.phase).toBe('Ready')
    expect(hasTaint(nodeIn(w), TAINTS.componentsPending)).toBe(false)
    expect(nodeIn(w).metadata.labels).toEqual({ arch: 'amd64', tier: 'db', mine: 'yes', 'kubenode.io/pool': 'workers' })
    // A slice of the set assigns its components under a permit. The import does not.
    expect(w.machine(NODE)?.spec.components).toBeUndefined()
  })

  test('whose agent a person made leave says so, and not that the host is silent', async () => {
    const w = await staticWorld()
    await takenOver(w)
    agentLeft(w)
    await w.clock.advance(5_000)
    expect(conditionOf(w, 'Ready')).toMatchObject({ status: 'False', reason: 'AgentLeft' })
  })

  test('gets another token when the first ran out before anybody used it', async () => {
    const w = await staticWorld()
    w.fake.plant(machineType, imported)
    await w.clock.advance(1_000)
    const secret = () => (handedOverIn(w)?.['data'] as Record<string, string> | undefined)?.['token-secret']
    const first = secret()
    await w.clock.advance(16 * 60_000)
    expect(secret()).toBeDefined()
    expect(secret()).not.toBe(first)
  })

  test.each([
    [true, 'drained, since a component restarts'],
    [false, 'not drained, since nothing restarts'],
  ])('F47 is handed back when its machine is deleted, under a permit (restarts: %s, %s)', async (restarts) => {
    const w = await staticWorld()
    await takenOver(w)
    const removal = { how: 'Restore', restarts }
    const reported = { name: 'kubelet', version: '1.36.2', state: 'Healthy', since: timestamp(1), removal }
    w.fake.poke(machineType, { name: NODE }, { status: { components: [reported] } }, 'status')
    const lease = { namespace: 'kube-node-lease', name: NODE }
    const beatOfKubelet = (at: number) => ({ spec: { renewTime: timestamp(at) } })
    w.fake.plant(leaseType, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: lease,
      ...beatOfKubelet(1),
    })
    const pod = { name: 'web', namespace: 'default' }
    const spec = { nodeName: NODE, terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'i' }] }
    w.fake.plant(podType, { apiVersion: 'v1', kind: 'Pod', metadata: pod, spec })
    w.fake.uproot(machineType, { name: NODE })
    await w.clock.advance(1_000)
    const [permit] = w.fake.all(operationPermit)
    expect([w.fake.peek(podType, pod), w.machine(NODE)?.spec.leaving]).toEqual([expect.anything(), undefined])
    grant(w, permit?.metadata.name ?? '')
    await w.clock.advance(10_000)
    expect([w.fake.peek(podType, pod) === undefined, hasTaint(nodeIn(w), TAINTS.cordon)]).toEqual([restarts, restarts])
    expect([w.machine(NODE)?.spec.leaving, w.machine(NODE)?.status?.waitingFor?.predicate]).toEqual([
      true,
      'HandedBack',
    ])
    agentLeft(w)
    await w.clock.advance(5_000)
    expect(w.machine(NODE)).toBeUndefined()
    const node = nodeIn(w)
    expect(node.metadata.labels).toEqual({ arch: 'amd64', tier: 'db' })
    expect(node.metadata.annotations ?? {}).toEqual({})
    expect(node.spec?.taints ?? []).toEqual([])
    expect(w.fake.peek(leaseType, lease)).toBeDefined()
    expect(w.fake.peek(leaseType, { namespace: SYSTEM_NAMESPACE, name: agentLeaseName(NODE) })).toBeUndefined()
    // No Machine claims the host any longer: another machine with that name may have it.
    w.fake.plant(machineType, imported)
    await w.clock.advance(1_000)
    expect(w.machine(NODE)?.spec.providerID).toBe(`static://${NODE}`)
  })

  describe('whose agent never joined', () => {
    const cordoned = {
      metadata: { annotations: { [ANNOTATIONS.cordon]: JSON.stringify({ 'machine/switch/x': { reason: 'x' } }) } },
      spec: { taints: [{ key: TAINTS.cordon, effect: 'NoSchedule' }] },
    }
    const waiting = async () => {
      const w = await staticWorld()
      existingNode(w)
      w.fake.plant(machineType, imported)
      await w.clock.advance(2_000)
      expect(w.machine(NODE)?.status?.phase).toBe('Joining')
      return w
    }

    test('goes without a permit, and its Node is as it was; its token joins nothing any more', async () => {
      const w = await waiting()
      const before = nodeIn(w)
      w.fake.poke(nodeType, { name: NODE }, cordoned)
      expect(handedOverIn(w)).toBeDefined()
      w.fake.uproot(machineType, { name: NODE })
      await w.clock.advance(5_000)
      expect([w.machine(NODE), w.fake.all(operationPermit)]).toEqual([undefined, []])
      const { metadata, spec } = nodeIn(w)
      expect([metadata.labels, metadata.annotations ?? {}, spec]).toEqual([before.metadata.labels, {}, before.spec])
      expect(w.fake.all(secretType)).toEqual([])
    })

    test('and whose key is on record may have an agent by now: permit, order to leave, deadline', async () => {
      const w = await waiting()
      const { uid } = w.machine(NODE)?.metadata ?? {}
      const annotations = { [ANNOTATIONS.agentKey]: JSON.stringify({ uid, key: 'k' }) }
      w.fake.poke(machineType, { name: NODE }, { metadata: { annotations } })
      w.fake.uproot(machineType, { name: NODE })
      await w.clock.advance(5_000)
      const [permit] = w.fake.all(operationPermit)
      expect([w.machine(NODE)?.spec.leaving, permit]).toEqual([undefined, expect.anything()])
      grant(w, permit?.metadata.name ?? '')
      await w.clock.advance(5_000)
      expect(w.machine(NODE)?.spec.leaving).toBe(true)
      await w.clock.advance(16 * 60_000)
      expect([
        w.machine(NODE),
        w.fake.peek(configMapType, { namespace: SYSTEM_NAMESPACE, name: ABANDONED_HOSTS }),
      ]).toEqual([undefined, expect.objectContaining({ data: { [NODE]: expect.any(String) } })])
    })

    test('is only observed again without a permit, also when components were assigned to it', async () => {
      const w = await waiting()
      const spec = { providerID: `static://${NODE}`, components: [{ name: 'kubelet', version: '1.36.2', attempt: 1 }] }
      const options = { fieldManager: FIELD_MANAGERS.machine, force: true }
      await w.client.apply(machineType, { ...observed, metadata: { name: NODE }, spec }, options)
      w.fake.poke(machineType, { name: NODE }, { spec: { channel: 'Observe' } })
      await w.clock.advance(5_000)
      const { spec: now, metadata } = w.machine(NODE) ?? {}
      expect([now?.components, metadata?.finalizers ?? [], w.fake.all(operationPermit)]).toEqual([undefined, [], []])
    })
  })

  test('F47 a switch in progress ends before its machine is handed back, so that what the way back restarts is known', async () => {
    const w = await staticWorld()
    await takenOver(w)
    const reported = (state: string, more: object = {}) => {
      const component = { name: 'kubelet', version: '1.36.3', attempt: 2, state, since: timestamp(1), ...more }
      w.fake.poke(machineType, { name: NODE }, { status: { components: [component] } }, 'status')
    }
    reported('Probing')
    w.fake.uproot(machineType, { name: NODE })
    await w.clock.advance(20_000)
    expect([w.fake.all(operationPermit), w.machine(NODE)?.status?.waitingFor]).toEqual([
      [],
      expect.objectContaining({ predicate: 'SwitchEnded', seen: 'kubelet is being switched' }),
    ])
    reported('Healthy', { removal: { how: 'Restore', restarts: true } })
    await w.clock.advance(5_000)
    grant(w, w.fake.all(operationPermit)[0]?.metadata.name ?? '')
    await w.clock.advance(5_000)
    expect([w.machine(NODE)?.spec.leaving, hasTaint(nodeIn(w), TAINTS.cordon)]).toEqual([true, true])
  })

  test('F47 a switch that never ends delays the hand-back by minutes only', async () => {
    const w = await staticWorld()
    await takenOver(w)
    const component = { name: 'kubelet', version: '1.36.3', attempt: 2, state: 'Switching', since: timestamp(1) }
    w.fake.poke(machineType, { name: NODE }, { status: { components: [component] } }, 'status')
    w.fake.uproot(machineType, { name: NODE })
    for (let minute = 0; minute < 6; minute++) {
      await w.clock.advance(60_000)
      beat(w, NODE)
    }
    expect(w.fake.all(operationPermit).length).toBe(1)
  })

  test('channel Observe is a way out: its agent leaves with the components in place, then the machine is only read', async () => {
    const w = await staticWorld()
    await takenOver(w)
    const spec = { providerID: `static://${NODE}`, components: [{ name: 'kubelet', version: '1.36.2', attempt: 1 }] }
    await w.client.apply(
      machineType,
      { ...observed, metadata: { name: NODE }, spec },
      { fieldManager: FIELD_MANAGERS.machine, force: true },
    )
    expect(nodeIn(w).metadata.annotations?.[ANNOTATIONS.owned]).toBeDefined()
    w.fake.poke(machineType, { name: NODE }, { spec: { channel: 'Observe' } })
    await w.clock.advance(2_000)
    expect([w.machine(NODE)?.spec.leaving, w.machine(NODE)?.metadata.finalizers]).toEqual([
      undefined,
      expect.anything(),
    ])
    grant(w, w.fake.all(operationPermit)[0]?.metadata.name ?? '')
    await w.clock.advance(5_000)
    expect([w.machine(NODE)?.spec.leaving, w.machine(NODE)?.spec.components?.length]).toEqual([true, 1])
    agentLeft(w)
    await w.clock.advance(20_000)
    const machine = w.machine(NODE)
    expect([machine?.spec.leaving, machine?.spec.components, machine?.metadata.finalizers ?? []]).toEqual([
      undefined,
      undefined,
      [],
    ])
    expect(machine?.status?.phase).toBe('Ready')
    expect(nodeIn(w).metadata.labels).toEqual({ arch: 'amd64', tier: 'db' })
    expect(w.fake.peek(leaseType, { namespace: SYSTEM_NAMESPACE, name: agentLeaseName(NODE) })).toBeUndefined()
  })

  test('a host that never answers is listed as abandoned, and its machine is deleted all the same', async () => {
    const w = await staticWorld()
    await takenOver(w)
    w.fake.uproot(machineType, { name: NODE })
    await w.clock.advance(1_000)
    grant(w, w.fake.all(operationPermit)[0]?.metadata.name ?? '')
    await w.clock.advance(14 * 60_000)
    expect([w.machine(NODE)?.spec.leaving, w.machine(NODE)?.metadata.finalizers?.length]).toEqual([true, 1])
    await w.clock.advance(2 * 60_000)
    expect(w.machine(NODE)).toBeUndefined()
    const list = w.fake.peek(configMapType, { namespace: SYSTEM_NAMESPACE, name: ABANDONED_HOSTS })
    expect(JSON.parse((list?.['data'] as Record<string, string> | undefined)?.[NODE] ?? '{}')).toMatchObject({
      node: NODE,
    })
    expect(nodeIn(w).metadata.labels).toEqual({ arch: 'amd64', tier: 'db' })
  })

  describe('whose agent is silent while its kubelet is alive', () => {
    /** The Defender grants nothing for a machine in unknown state. */
    const silent = async (end: (w: TestWorld) => void) => {
      const w = await staticWorld()
      await takenOver(w)
      const kubelet = { namespace: 'kube-node-lease', name: NODE }
      w.fake.plant(leaseType, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: kubelet, spec: {} })
      end(w)
      return { w, minutes: (count: number, agentBeats = false) => minutes(w, kubelet, count, agentBeats) }
    }
    const minutes = async (
      w: TestWorld,
      kubelet: { namespace: string; name: string },
      count: number,
      agentBeats: boolean,
    ) => {
      for (let n = 0; n < count * 3; n++) {
        await w.clock.advance(20_000)
        w.fake.poke(leaseType, kubelet, { spec: { renewTime: microTimestamp(w.clock.now()) } })
        if (agentBeats) beat(w, NODE)
      }
    }
    const listed = (w: TestWorld) =>
      w.fake.peek(configMapType, { namespace: SYSTEM_NAMESPACE, name: ABANDONED_HOSTS })?.['data'] ?? {}
    const deleted = (w: TestWorld) => w.fake.uproot(machineType, { name: NODE })
    const observedFromNowOn = (w: TestWorld) =>
      w.fake.poke(machineType, { name: NODE }, { spec: { channel: 'Observe' } })

    test.each([
      ['deleted', deleted],
      ['only observed', observedFromNowOn],
    ])('F47 waits for no permit for ever: it is given up without an order, and listed (%s)', async (_, end) => {
      const { w, minutes: pass } = await silent(end)
      await pass(14)
      expect([
        w.machine(NODE)?.metadata.finalizers?.length,
        w.machine(NODE)?.status?.waitingFor?.predicate,
        listed(w),
      ]).toEqual([1, 'PermitGranted', {}])
      await pass(3)
      expect([w.machine(NODE)?.metadata.finalizers ?? [], w.machine(NODE)?.spec.leaving, listed(w)]).toEqual([
        [],
        undefined,
        { [NODE]: expect.any(String) },
      ])
      expect(nodeIn(w).metadata.labels).toEqual({ arch: 'amd64', tier: 'db' })
    })

    test('F47 is not given up while its agent is heard, however long the permit takes', async () => {
      const { w, minutes: pass } = await silent(deleted)
      await pass(40, true)
      expect([w.machine(NODE)?.status?.waitingFor?.predicate, listed(w)]).toEqual(['PermitGranted', {}])
    })
  })
})

// A machine that reboots for a component: silence is expected for as long as a boot takes, then its provider restarts it once, under the same permit.
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { SYSTEM_NAMESPACE, TAINTS, agentLeaseName } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { silentLogger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { findCondition } from '#kube/conditions.ts'
import { type Node, hasTaint, nodeType } from '#nodes/objects.ts'
import { nodeView } from '#nodes/faults/node-view.ts'
import { exempt } from '#permits/under-permit.ts'
import { type Lease, leaseType } from '#runtime/lease.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { powerCycle } from './machine/reboots/act.ts'
import { MemoryProvider, overridden } from '#test/doubles/providers/memory-provider.ts'
import {
  type TestWorld,
  beat,
  components,
  definition,
  endWorlds,
  grant,
  machineWorld,
  readyMachine,
  report,
} from '#test/support/worlds/machine-world.ts'
import { afterEach, describe, expect, test } from 'vitest'

afterEach(endWorlds)

const MINUTE_MS = 60_000
const SINCE = '2026-01-01T00:00:05Z'
const ALL = ['SwitchComponent', 'Drain', 'Reboot']

/** A slice with a permit for this machine, and a version that reboots it. */
function slice(w: TestWorld, machine: string, operations: readonly string[]): void {
  const { uid = '' } = w.machine(machine)?.metadata ?? {}
  w.fake.plant(operationPermit, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationPermit',
    metadata: { name: 'p' },
    spec: {
      operations,
      component: { name: 'beacon', version: '1.1.0' },
      targets: [{ kind: 'Machine', name: machine, uid }],
      requester: { manager: 'kubenode-componentset', kind: 'MachineComponentSet', name: 'base' },
      reason: 'a test',
    },
  })
  const one = { component: 'beacon', version: '1.1.0', step: 0, number: 0, permit: 'p', machines: [machine] }
  const status = { observedGeneration: 2, slices: [{ ...one, phase: 'Switching' }] }
  w.fake.poke(machineComponentSet, { name: 'base' }, { status }, 'status')
}

/** Ordered to switch, and silent since it reported that it reboots. */
async function rebooting(w: TestWorld, operations = ALL): Promise<string> {
  const name = await readyMachine(w)
  const { spec } = definition('1.1.0')
  w.fake.plant(machineComponent, { ...definition('1.1.0'), spec: { ...spec, disruption: 'Reboot' } })
  w.fake.poke(machineComponentSet, { name: 'base' }, components('1.1.0'))
  slice(w, name, operations)
  await w.clock.advance(1_000)
  report(w, name, 'Staged', { version: '1.0.0' })
  beat(w, name)
  grant(w, 'p')
  await w.clock.advance(5_000)
  // Drained first, then ordered.
  expect(hasTaint(w.fake.peek(nodeType, { name }) as Node, TAINTS.cordon)).toBe(true)
  expect(w.machine(name)?.spec.components?.[0]?.switch).toEqual({ attempt: 2, permit: 'p' })
  setReady(w, name, 'Unknown')
  report(w, name, 'Switching', { version: '1.0.0', rebootingSince: SINCE })
  return name
}

function setReady({ fake, clock }: TestWorld, name: string, status: string): void {
  const ready = { type: 'Ready', status, reason: 'Kubelet', message: '', lastTransitionTime: timestamp(clock.now()) }
  fake.poke(nodeType, { name }, { status: { conditions: [ready] } }, 'status')
}

const boots = (w: TestWorld, name: string) => w.hosts.get(`process://${name}`)?.boots
const statusOf = (w: TestWorld, name: string) => w.machine(name)?.status

describe('a machine that reboots for a component', () => {
  test('is not Lost for as long as a boot takes, and no rule takes it for a silent one', async () => {
    const w = await machineWorld()
    const name = await rebooting(w)
    await w.clock.advance(14 * MINUTE_MS)
    const text = `rebooting since ${SINCE} for beacon`
    expect(statusOf(w, name)).toMatchObject({
      phase: 'Updating',
      waitingFor: {
        predicate: 'Rebooted',
        seen: text,
        unblock:
          'its agent reports from the next boot; after 16m without a heartbeat its provider restarts the host once',
      },
    })
    for (const type of ['AgentReachable', 'Ready'])
      expect(findCondition(statusOf(w, name)?.conditions, type)).toMatchObject({ reason: 'Rebooting', message: text })
    const { facts } = nodeView(w.fake.peek(nodeType, { name }) as Node, w.machine(name))
    expect(facts['machine']).toMatchObject({ agentReachable: 'Unknown' })
    expect(boots(w, name)).toBe(1)
  })

  test('that does not return is restarted by its provider once, and is Lost when that does not help', async () => {
    const w = await machineWorld()
    const name = await rebooting(w)
    await w.clock.advance(17 * MINUTE_MS)
    expect(boots(w, name)).toBe(2)
    const { powerCycle, phase, waitingFor } = statusOf(w, name) ?? {}
    expect([phase, powerCycle]).toEqual([
      'Updating',
      { component: 'beacon', rebootingSince: SINCE, at: powerCycle?.at },
    ])
    expect(waitingFor).toMatchObject({
      seen: `rebooting since ${SINCE} for beacon; its provider got the order to restart it at ${powerCycle?.at}`,
      unblock: `its agent reports from the next boot; otherwise a person starts the host: kubenode events machine/${name}`,
    })
    await w.clock.advance(12 * MINUTE_MS)
    expect(statusOf(w, name)?.phase).toBe('Updating')
    await w.clock.advance(2 * MINUTE_MS)
    expect([statusOf(w, name)?.phase, boots(w, name)]).toEqual(['Lost', 2])
    setReady(w, name, 'True')
    report(w, name, 'Healthy')
    beat(w, name)
    await w.clock.advance(5_000)
    expect([statusOf(w, name)?.phase, statusOf(w, name)?.powerCycle, boots(w, name)]).toEqual(['Ready', undefined, 2])
    expect(hasTaint(w.fake.peek(nodeType, { name }) as Node, TAINTS.cordon)).toBe(false)
  })

  test('is restarted again only for another reboot, as on the way back', async () => {
    const w = await machineWorld()
    const name = await rebooting(w)
    await w.clock.advance(17 * MINUTE_MS)
    report(w, name, 'Switching', { version: '1.0.0', rebootingSince: '2026-01-01T00:17:00Z' })
    beat(w, name)
    await w.clock.advance(14 * MINUTE_MS)
    expect(boots(w, name)).toBe(2)
    await w.clock.advance(2 * MINUTE_MS)
    expect(boots(w, name)).toBe(3)
  })
})

/** The act alone, on a decision from this Machine and renewal of its agent's Lease. */
function cycled(w: TestWorld, seen: Machine, renewal?: string, client: KubeClient = w.client) {
  const name = seen.metadata.name ?? ''
  const key = { namespace: SYSTEM_NAMESPACE, name: agentLeaseName(name) }
  const tools = {
    client,
    clock: w.clock,
    cache: { assume: () => true, byIndex: () => [] },
    providers: { process: new MemoryProvider({ clock: w.clock, name: 'process', hosts: w.hosts }) },
    log: silentLogger,
  }
  const action = {
    kind: 'PowerCycle',
    providerID: `process://${name}`,
    reboot: { component: 'beacon', since: SINCE },
    renewal: renewal ?? (w.fake.peek(leaseType, key) as Lease).spec?.renewTime ?? '',
    by: { permit: 'p' },
    reason: '',
  } as const
  return powerCycle(exempt('NeverServed'), tools, seen, action, new AbortController().signal)
}

describe('no restart by the provider', () => {
  test('under a permit that does not name Reboot', async () => {
    const w = await machineWorld()
    const name = await rebooting(w, ['SwitchComponent', 'Drain'])
    await w.clock.advance(31 * MINUTE_MS)
    expect([statusOf(w, name)?.phase, boots(w, name)]).toEqual(['Lost', 1])
  })

  test('under a permit that ended', async () => {
    const w = await machineWorld()
    const name = await rebooting(w)
    w.fake.poke(operationPermit, { name: 'p' }, { status: { phase: 'Expired' } }, 'status')
    await w.clock.advance(20 * MINUTE_MS)
    expect(boots(w, name)).toBe(1)
  })

  test('while the machine is held', async () => {
    const w = await machineWorld()
    const name = await rebooting(w)
    const until = timestamp(w.clock.now() + 60 * MINUTE_MS)
    w.fake.plant(operationalHold, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'OperationalHold',
      metadata: { name: 'h' },
      spec: { target: { kind: 'Machine', name }, effect: 'Freeze', reason: 'a look', author: 'ada', until },
    })
    await w.clock.advance(20 * MINUTE_MS)
    expect(boots(w, name)).toBe(1)
    w.fake.uproot(operationalHold, { name: 'h' })
    await w.clock.advance(MINUTE_MS)
    expect(boots(w, name)).toBe(2)
  })

  test('of a machine whose agent renews its Lease although its Node is silent', async () => {
    const w = await machineWorld()
    const name = await rebooting(w)
    for (let i = 0; i < 80; i++) {
      beat(w, name)
      await w.clock.advance(15_000)
    }
    expect(boots(w, name)).toBe(1)
  })

  test.each([
    ['its Lease was renewed', '2026-01-01T00:00:00.000000Z', {}, 'its agent has renewed its Lease'],
    ['its agent reported', undefined, { state: 'Probing' }, 'its agent has reported since'],
  ])('although the caches still show a silent machine: %s', async (_, renewal, extra, reason) => {
    const w = await machineWorld()
    const name = await rebooting(w)
    const { spec } = definition('1.1.0')
    const seen = w.machine(name) as Machine
    if ('state' in extra) report(w, name, 'Probing', { version: spec.version })
    const outcome = await cycled(w, seen, renewal)
    expect([outcome, boots(w, name)]).toEqual([{ kind: 'Outdated', reason }, 1])
  })
})

test('is not ordered before the server has its record', async () => {
  const w = await machineWorld()
  const name = await rebooting(w)
  // The controllers write what was reported.
  await w.clock.advance(1_000)
  const get = w.client.get.bind(w.client)
  const client = { get, apply: () => Promise.reject(new Error('cut off')) } as unknown as KubeClient
  await expect(cycled(w, w.machine(name) as Machine, undefined, client)).rejects.toThrow('cut off')
  expect(boots(w, name)).toBe(1)
  // With the record, once.
  expect([(await cycled(w, w.machine(name) as Machine)).kind, boots(w, name)]).toEqual(['Applied', 2])
  expect([(await cycled(w, w.machine(name) as Machine)).kind, boots(w, name)]).toEqual(['Outdated', 2])
})

test('a provider whose answer is lost is not told again, and the machine is Lost in the end', async () => {
  let asked = 0
  const w: TestWorld = await machineWorld({
    providers: {
      process: overridden(new MemoryProvider({ clock: new VirtualClock(), name: 'process' }), {
        reboot: async () => {
          asked++
          throw new Error('the rack controller does not answer')
        },
      }),
    },
  })
  const name = await rebooting(w)
  await w.clock.advance(20 * MINUTE_MS)
  expect(statusOf(w, name)).toMatchObject({ phase: 'Updating', powerCycle: { rebootingSince: SINCE } })
  await w.clock.advance(20 * MINUTE_MS)
  expect([statusOf(w, name)?.phase, asked]).toEqual(['Lost', 1])
})

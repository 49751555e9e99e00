// A switch that drains a node with a job that asks for time: the job is left until its work is saved or its time is over, and the machine says which.
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { timestamp } from '#lib/clock.ts'
import { podType } from '#nodes/objects.ts'
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
import { afterEach, expect, test } from 'vitest'

afterEach(endWorlds)

const MINUTE_MS = 60_000
const POD = { name: 'train-1-0', namespace: 'ml' }

/** A machine with such a job, whose switch to 1.1.0 is staged and granted. */
async function draining(w: TestWorld, podWait: string | undefined): Promise<string> {
  const name = await readyMachine(w)
  const { uid = '' } = w.machine(name)?.metadata ?? {}
  w.fake.plant(podType, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...POD,
      labels: { 'batch.kubernetes.io/job-name': 'train-1' },
      annotations: { 'kubenode.io/drain-wait': '20m' },
    },
    spec: { nodeName: name, terminationGracePeriodSeconds: 30, containers: [{ name: 'c', image: 'i' }] },
  })
  const { spec } = definition('1.1.0')
  w.fake.plant(machineComponent, { ...definition('1.1.0'), spec: { ...spec, disruption: 'Reboot' } })
  const declared = components('1.1.0')
  const rollout = podWait === undefined ? {} : { rollout: { podWait } }
  w.fake.poke(machineComponentSet, { name: 'base' }, { spec: { ...declared.spec, ...rollout } })
  w.fake.plant(operationPermit, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationPermit',
    metadata: { name: 'p' },
    spec: {
      operations: ['SwitchComponent', 'Drain', 'Reboot'],
      component: { name: 'beacon', version: '1.1.0' },
      targets: [{ kind: 'Machine', name, uid }],
      requester: { manager: 'kubenode-componentset', kind: 'MachineComponentSet', name: 'base' },
      reason: 'a test',
    },
  })
  const one = { component: 'beacon', version: '1.1.0', step: 0, number: 0, permit: 'p', machines: [name] }
  const { generation } = w.fake.peek(machineComponentSet, { name: 'base' })?.metadata ?? {}
  const status = { observedGeneration: generation, slices: [{ ...one, phase: 'Switching' }] }
  w.fake.poke(machineComponentSet, { name: 'base' }, { status }, 'status')
  await w.clock.advance(1_000)
  report(w, name, 'Staged', { version: '1.0.0' })
  beat(w, name)
  grant(w, 'p')
  await w.clock.advance(5_000)
  return name
}

const isEvicted = (w: TestWorld): boolean => w.fake.peek(podType, POD)?.metadata.deletionTimestamp !== undefined
const orderOf = (w: TestWorld, name: string) => w.machine(name)?.spec.components?.[0]?.switch

async function pass(w: TestWorld, name: string, ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 10_000) {
    beat(w, name)
    await w.clock.advance(10_000)
  }
}

test('is left until its work is saved, and then evicted at once', async () => {
  const w = await machineWorld()
  const name = await draining(w, '15m')
  await pass(w, name, 5 * MINUTE_MS)
  expect(isEvicted(w)).toBe(false)
  expect(w.machine(name)?.status?.waitingFor).toMatchObject({
    predicate: 'Drained',
    seen: expect.stringMatching(/^waiting for the next checkpoint of ml\/train-1 \(1 pod here\), at most 9m\d+s more$/),
  })
  expect(orderOf(w, name)).toBeUndefined()
  const annotations = { 'kubenode.io/checkpointed-at': timestamp(w.clock.now()) }
  w.fake.poke(podType, POD, { metadata: { annotations } })
  await pass(w, name, 10_000)
  expect(isEvicted(w)).toBe(true)
  await w.client.delete(podType, POD, { gracePeriodSeconds: 0 })
  await pass(w, name, 10_000)
  expect(orderOf(w, name)).toEqual({ attempt: 2, permit: 'p' })
})

test('is left no longer than its set allows', async () => {
  const w = await machineWorld()
  const name = await draining(w, '5m')
  await pass(w, name, 4 * MINUTE_MS)
  expect(isEvicted(w)).toBe(false)
  await pass(w, name, 2 * MINUTE_MS)
  expect(isEvicted(w)).toBe(true)
})

test('is evicted at once where its set allows no wait', async () => {
  const w = await machineWorld()
  await draining(w, undefined)
  expect(isEvicted(w)).toBe(true)
})

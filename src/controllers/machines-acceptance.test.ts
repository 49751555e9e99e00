// The acceptance of new Nodes: the startup taint stays until it is recorded that the Node passed, attempts are bounded, and without a result nothing passes.
import { machine as machineType } from '#api/kinds/machine.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { TAINTS } from '#api/names.ts'
import { orderedAcceptance } from '#api/protocol/acceptance.ts'
import { timestamp } from '#lib/clock.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import { MINUTE_MS, conditionOf, installed, isClosed, pass, recordOf } from '#test/support/worlds/acceptance-world.ts'
import {
  type TestWorld,
  beat,
  components,
  definition,
  endWorlds,
  machineWorld,
  register,
} from '#test/support/worlds/machine-world.ts'
import { afterEach, expect, test } from 'vitest'

afterEach(endWorlds)

const script = { component: 'memtest', version: '1.0.0' }

/** As the agent reports the attempt that it was ordered to run. */
async function end(w: TestWorld, name: string, outcome: string, output = '', run?: string): Promise<void> {
  const machine = w.machine(name)
  const order = machine === undefined ? undefined : orderedAcceptance(machine)
  const at = timestamp(w.clock.now())
  const acceptanceReport = { run: run ?? order?.run ?? 'none', startedAt: at, finishedAt: at, outcome, output }
  w.fake.poke(machineType, { name }, { status: { acceptanceReport } }, 'status')
  await w.clock.advance(1_000)
}

test('a node whose pool asks for an acceptance takes pods once it has passed', async () => {
  const w = await machineWorld()
  const name = await installed(w, { script })
  const uid = w.fake.peek(nodeType, { name })?.metadata.uid
  expect(recordOf(w, name)).toMatchObject({ node: uid, phase: 'Running', attempt: 1, wanted: 'script memtest 1.0.0' })
  expect([isClosed(w, name), w.machine(name)?.status?.phase]).toEqual([true, 'Installing'])
  expect(w.machine(name)?.status?.waitingFor).toMatchObject({
    predicate: 'NodeAccepted',
    seen: `script memtest 1.0.0 runs on the node since ${recordOf(w, name)?.since} (attempt 1 of 2)`,
  })
  await end(w, name, 'Succeeded', 'all pages good')
  expect(recordOf(w, name)).toMatchObject({ phase: 'Passed', output: 'all pages good' })
  expect([isClosed(w, name), w.machine(name)?.status?.phase]).toEqual([false, 'Ready'])
})

test('without an acceptance nothing changes', async () => {
  const w = await machineWorld()
  const name = await installed(w, null)
  expect([isClosed(w, name), recordOf(w, name), w.machine(name)?.status?.phase]).toEqual([false, undefined, 'Ready'])
})

test('it is not ordered before the components are installed, nor while the machine is held', async () => {
  const w = await machineWorld()
  w.fake.plant(operationalHold, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationalHold',
    metadata: { name: 'a-look' },
    spec: {
      target: { kind: 'MachineSet', name: 'workers' },
      effect: 'Freeze',
      reason: 'a look',
      author: 'ada',
      until: timestamp(w.clock.now() + 60 * MINUTE_MS),
    },
  })
  w.fake.plant(machineComponent, definition('1.0.0'))
  w.fake.plant(machineComponentSet, components('1.0.0'))
  w.fake.plant(machineType, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: 'w-1', labels: { pool: 'workers' } },
    spec: { provider: { name: 'process' }, acceptance: { script } },
  })
  await w.clock.advance(1_000)
  beat(w, 'w-1')
  register(w, 'w-1')
  await pass(w, 'w-1', MINUTE_MS)
  expect([recordOf(w, 'w-1'), isClosed(w, 'w-1')]).toEqual([undefined, true])
})

test('a failed attempt is repeated after a minute, and the last one says why and what to do', async () => {
  const w = await machineWorld()
  const name = await installed(w, { script })
  const first = recordOf(w, name)?.run
  await end(w, name, 'Failed', 'testing\n2 bad pages')
  expect(recordOf(w, name)).toMatchObject({ phase: 'Waiting', message: 'script memtest 1.0.0 failed: 2 bad pages' })
  await pass(w, name, 50_000)
  expect(recordOf(w, name)?.attempt).toBe(1)
  await pass(w, name, 20_000)
  expect(recordOf(w, name)).toMatchObject({ phase: 'Running', attempt: 2 })
  expect(recordOf(w, name)?.run).not.toBe(first)
  // The result of the first attempt says nothing about the second.
  await end(w, name, 'Succeeded', '', first)
  expect([recordOf(w, name)?.phase, isClosed(w, name)]).toEqual(['Running', true])
  await end(w, name, 'Failed', '3 bad pages')
  const seen = 'the node was not accepted: script memtest 1.0.0 failed: 3 bad pages'
  expect(recordOf(w, name)).toMatchObject({ phase: 'Failed', attempt: 2 })
  expect(w.machine(name)?.status?.waitingFor).toMatchObject({
    predicate: 'NodeAccepted',
    seen,
    unblock: `a person repairs or replaces the machine, or raises spec.acceptance.retries for another attempt: kubenode describe machine/${name}`,
  })
  for (const [type, status] of [
    ['Stalled', 'True'],
    ['Reconciling', 'False'],
    ['Ready', 'False'],
  ] as const)
    expect(conditionOf(w, name, type)).toMatchObject({
      status,
      reason: 'AcceptanceFailed',
      message: `${seen}; its startup taint stays`,
    })
  await pass(w, name, 30 * MINUTE_MS)
  expect([recordOf(w, name)?.attempt, isClosed(w, name)]).toEqual([2, true])
  w.fake.poke(machineType, { name }, { spec: { acceptance: { retries: 2 } } })
  await w.clock.advance(1_000)
  expect(recordOf(w, name)).toMatchObject({ phase: 'Running', attempt: 3 })
  await end(w, name, 'Succeeded')
  expect([isClosed(w, name), conditionOf(w, name, 'Stalled')?.status]).toEqual([false, 'False'])
})

test('an attempt without a result does not pass, however long it takes', async () => {
  const w = await machineWorld()
  const name = await installed(w, { script, timeout: '10m', retries: 0 })
  await end(w, name, 'Unknown', 'the agent was restarted while the script ran')
  expect([recordOf(w, name)?.phase, isClosed(w, name)]).toEqual(['Failed', true])
  const v = await machineWorld()
  const other = await installed(v, { script, timeout: '10m', retries: 0 })
  await pass(v, other, 11 * MINUTE_MS)
  expect(recordOf(v, other)?.phase).toBe('Running')
  await pass(v, other, 2 * MINUTE_MS)
  expect(recordOf(v, other)).toMatchObject({
    phase: 'Failed',
    message:
      'script memtest 1.0.0 has no result: no result within 12m; its agent did not start it, and may be too old for it',
  })
  expect(isClosed(v, other)).toBe(true)
})

test('a clock that is set back delays neither the next attempt nor the end of one', async () => {
  const w = await machineWorld()
  const name = await installed(w, { script, timeout: '1m', retries: 1 })
  await end(w, name, 'Failed', '2 bad pages')
  w.clock.jumpWall(-120 * MINUTE_MS)
  await pass(w, name, 2 * MINUTE_MS)
  expect(recordOf(w, name)).toMatchObject({ phase: 'Running', attempt: 2 })
  w.clock.jumpWall(-120 * MINUTE_MS)
  await pass(w, name, 10 * MINUTE_MS)
  expect([recordOf(w, name)?.phase, isClosed(w, name)]).toEqual(['Failed', true])
})

test('a silent agent loses no attempt', async () => {
  const w = await machineWorld()
  const name = await installed(w, { script, timeout: '1m', retries: 0 })
  await w.clock.advance(20 * MINUTE_MS)
  expect(recordOf(w, name)?.phase).toBe('Running')
  beat(w, name)
  await end(w, name, 'Succeeded')
  expect(isClosed(w, name)).toBe(false)
})

test('a Node that was registered again has to pass again, and a changed acceptance starts anew', async () => {
  const w = await machineWorld()
  const name = await installed(w, { script })
  await end(w, name, 'Succeeded')
  w.fake.uproot(nodeType, { name })
  await pass(w, name, 5_000)
  register(w, name)
  await pass(w, name, 5_000)
  const uid = w.fake.peek(nodeType, { name })?.metadata.uid
  expect(recordOf(w, name)).toMatchObject({ node: uid, phase: 'Running', attempt: 1 })
  expect([isClosed(w, name), conditionOf(w, name, 'Ready')?.status]).toEqual([true, 'False'])
  w.fake.poke(machineType, { name }, { spec: { acceptance: { script: { ...script, version: '2.0.0' } } } })
  await w.clock.advance(1_000)
  expect(recordOf(w, name)).toMatchObject({ phase: 'Running', wanted: 'script memtest 2.0.0' })
  await end(w, name, 'Succeeded')
  expect(isClosed(w, name)).toBe(false)
})

test('taints of other programs and people stay', async () => {
  const w = await machineWorld()
  const name = await installed(w, { script })
  const taints = [
    { key: TAINTS.componentsPending, effect: 'NoSchedule' },
    { key: 'example.org/look', effect: 'NoSchedule', value: 'ada' },
  ]
  w.fake.poke(nodeType, { name }, { spec: { taints } })
  await end(w, name, 'Succeeded')
  expect((w.fake.peek(nodeType, { name }) as Node).spec?.taints).toEqual([taints[1]])
})

test('a machine in service is not affected when its pool asks for an acceptance later', async () => {
  const w = await machineWorld()
  const name = await installed(w, null)
  w.fake.poke(machineType, { name }, { spec: { acceptance: { script } } })
  await pass(w, name, MINUTE_MS)
  expect([recordOf(w, name), isClosed(w, name), w.machine(name)?.status?.phase]).toEqual([undefined, false, 'Ready'])
})

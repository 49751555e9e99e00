// A provider that loses the hosts of a set one after another: each loss looks like bad luck, and all together must not replace machines for ever.
import 'reflect-metadata'
import { type MachineSet, machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { findCondition } from '#kube/conditions.ts'
import { timestamp } from '#lib/clock.ts'
import { nodeType } from '#nodes/objects.ts'
import { noFaults, onEveryNthCall } from '#test/doubles/kube/faults.ts'
import { beat, endWorlds, machineWorld, readyMachine, register, report } from '#test/support/worlds/machine-world.ts'
import { afterEach, expect, test } from 'vitest'

afterEach(endWorlds)

const MINUTE_MS = 60_000

test('three machines of a small set are replaced within an hour, and the next one an hour after the first', async () => {
  const w = await machineWorld({ withParts: true })
  await readyMachine(w)
  const name = () => (w.fake.all(machineType) as readonly Machine[])[0]?.metadata.name ?? ''
  const set = () => w.fake.peek(machineSet, { name: 'workers' }) as MachineSet
  const frozen = () => findCondition(set().status?.conditions, 'ScalingFrozen')
  const names = new Set([name()])
  for (let minute = 0; minute < 60; minute++) {
    const now = name()
    names.add(now)
    if (w.machine(now)?.status?.phase === 'Joining') {
      beat(w, now)
      register(w, now)
      await w.clock.advance(1_000)
      report(w, now, 'Healthy')
      await w.clock.advance(1_000)
    }
    if (w.hosts.delete(`process://${now}`))
      w.fake.poke(nodeType, { name: now }, { status: { conditions: [] } }, 'status')
    await w.clock.advance(MINUTE_MS)
  }
  expect(names.size).toBe(4)
  expect(set().status?.hostLosses?.reduce((n, { count }) => n + count, 0)).toBe(3)
  expect(frozen()).toMatchObject({ status: 'True', reason: 'HostsGone' })
  expect(set().status?.waitingFor?.seen).toMatch(/^3 machines were replaced within an hour/)
  await w.clock.advance(10 * MINUTE_MS)
  expect([name() === [...names].at(-1), frozen()?.status]).toEqual([false, 'False'])
})

/** A ready machine whose host its provider loses: after this long it is to be replaced. */
async function hostLost() {
  const w = await machineWorld({ withParts: true })
  const name = await readyMachine(w)
  const replaced = () => w.machine(name) === undefined
  const losses = () =>
    ((w.fake.peek(machineSet, { name: 'workers' }) as MachineSet).status?.hostLosses ?? []).reduce(
      (n, { count }) => n + count,
      0,
    )
  w.hosts.delete(`process://${name}`)
  w.fake.poke(nodeType, { name }, { status: { conditions: [] } }, 'status')
  return { w, name, replaced, losses }
}

test('a loss is counted once, however often its Machine cannot be deleted', async () => {
  const { w, replaced, losses } = await hostLost()
  w.fake.faults = onEveryNthCall({ verbs: ['delete'], kind: 'Machine' }, 1, {
    kind: 'refuse',
    when: 'before',
    code: 500,
  })
  await w.clock.advance(5 * MINUTE_MS)
  expect([replaced(), losses()]).toEqual([false, 1])
  w.fake.faults = noFaults
  await w.clock.advance(5 * MINUTE_MS)
  expect([replaced(), losses()]).toEqual([true, 1])
})

test('a loss is counted once, however late the watch shows that its Machine was deleted', async () => {
  const { w, name, replaced, losses } = await hostLost()
  w.fake.faults = {
    event: ({ type }, event) => {
      const isDeletion = event.type !== 'BOOKMARK' && event.object.metadata.deletionTimestamp !== undefined
      return type.kind === 'Machine' && isDeletion ? { kind: 'delay', ms: 5_000 } : undefined
    },
  }
  while (w.machine(name)?.metadata.deletionTimestamp === undefined && !replaced()) await w.clock.advance(1_000)
  await w.clock.advance(MINUTE_MS)
  expect([replaced(), losses()]).toEqual([true, 1])
})

test('losses recorded by a clock a day ahead hold up the next replacement for an hour, not a day', async () => {
  const { w, replaced } = await hostLost()
  const at = timestamp(w.clock.now() + 24 * 60 * MINUTE_MS)
  w.fake.poke(machineSet, { name: 'workers' }, { status: { hostLosses: [{ at, count: 3 }] } }, 'status')
  await w.clock.advance(50 * MINUTE_MS)
  expect(replaced()).toBe(false)
  await w.clock.advance(20 * MINUTE_MS)
  expect(replaced()).toBe(true)
})

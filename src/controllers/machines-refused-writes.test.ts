// A set whose first write, its finalizer, does not succeed: it makes no machine, and its status names why.
import 'reflect-metadata'
import { type MachineSet, machineSet } from '#api/kinds/machine-set.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { findCondition } from '#kube/conditions.ts'
import { noFaults } from '#test/doubles/kube/faults.ts'
import { endWorlds, machineWorld, setOf } from '#test/support/worlds/machine-world.ts'
import { afterEach, expect, test } from 'vitest'

afterEach(endWorlds)

test.each([403, 500])('a set whose finalizer is refused with %d names the refusal until it ends', async (code) => {
  const w = await machineWorld()
  const stalled = () =>
    findCondition((w.fake.peek(machineSet, { name: 'workers' }) as MachineSet).status?.conditions, 'Stalled')
  w.fake.faults = {
    call: ({ type, isWrite, subresource }) =>
      type?.kind === 'MachineSet' && isWrite && subresource === undefined
        ? { kind: 'refuse', when: 'before', code }
        : undefined,
  }
  w.fake.plant(machineSet, setOf(1))
  await w.clock.advance(600_000)
  expect(w.fake.all(machineType)).toEqual([])
  expect(stalled()).toMatchObject({ status: 'True', reason: 'ActionRefused' })
  w.fake.faults = noFaults
  await w.clock.advance(600_000)
  expect([w.fake.all(machineType).length, stalled()?.status]).toEqual([1, 'False'])
})

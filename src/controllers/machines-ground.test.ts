// A host gets a join bundle only once the bundle has everything that the host needs permanently.
import { afterEach, expect, test } from 'vitest'
import { machine as machineType, type Machine } from '#api/kinds/machine.ts'
import { endWorlds, machineWorld } from '#test/support/worlds/machine-world.ts'

afterEach(endWorlds)

test('no host is made while the authority of the artifact servers is missing', async () => {
  const ground = { waitsFor: 'the authority' as string | undefined }
  const world = await machineWorld({ ground })
  await world.client.create(machineType, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: 'm-1' },
    spec: { provider: { name: 'process' }, pool: 'p' },
  } as Machine)
  await world.clock.advance(30_000)
  expect([...world.hosts.keys()]).toEqual([])
  ground.waitsFor = undefined
  await world.clock.advance(60_000)
  expect(world.hosts.size).toBe(1)
})

// A machine that served, whose Node a person deleted. Its agent and kubelet run on, and so may its pods: it is removed like any other in service.
import 'reflect-metadata'
import { machine as machineType } from '#api/kinds/machine.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { nodeType, podType } from '#nodes/objects.ts'
import { beat, endWorlds, grant, machineWorld, readyMachine, report } from '#test/support/worlds/machine-world.ts'
import { afterEach, describe, expect, test } from 'vitest'

afterEach(endWorlds)

const POD = { namespace: 'ml', name: 'train' }

/** Its agent sends heartbeats on. */
async function nodeDeleted() {
  const w = await machineWorld()
  const name = await readyMachine(w)
  expect(w.machine(name)?.status?.inServiceSince).toBeDefined()
  await w.client.delete(nodeType, { name })
  w.fake.plant(podType, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: POD,
    spec: { nodeName: name, containers: [] },
    status: { phase: 'Running' },
  })
  const wait = async (seconds: number) => {
    for (let s = 0; s < seconds; s += 10) {
      beat(w, name)
      await w.clock.advance(10_000)
    }
  }
  return { w, name, wait }
}

describe('a machine that served and whose Node was deleted', () => {
  test('is not removed with its host before a permit is granted', async () => {
    const { w, name, wait } = await nodeDeleted()
    await w.client.delete(machineType, { name })
    await wait(30)
    expect(w.hosts.has(`process://${name}`)).toBe(true)
    const permits = w.fake.all(operationPermit) as readonly OperationPermit[]
    expect(permits.map((p) => p.spec.operations)).toEqual([['ScaleIn']])
    expect(w.fake.peek(podType, POD)?.metadata.deletionTimestamp).toBeUndefined()
  })

  test('is drained, uninstalled and deleted under its permit', async () => {
    const { w, name, wait } = await nodeDeleted()
    await w.client.delete(machineType, { name })
    await wait(10)
    grant(w, w.fake.all(operationPermit)[0]?.metadata.name ?? '')
    await wait(20)
    expect(w.fake.peek(podType, POD)?.metadata.deletionTimestamp).toBeDefined()
    expect(w.hosts.has(`process://${name}`)).toBe(true)
    await w.client.delete(podType, POD, { gracePeriodSeconds: 0 })
    await wait(10)
    report(w, name, 'Healthy')
    await wait(20)
    expect([w.hosts.has(`process://${name}`), w.machine(name)]).toEqual([false, undefined])
  })

  test('needs no permit once its agent and its kubelet are silent: no Node of it is there, and nothing of it reports', async () => {
    const { w, name } = await nodeDeleted()
    await w.clock.advance(3_600_000)
    await w.client.delete(machineType, { name })
    await w.clock.advance(60_000)
    expect(w.fake.all(operationPermit)).toEqual([])
    expect([w.hosts.has(`process://${name}`), w.machine(name)]).toEqual([false, undefined])
  })
})

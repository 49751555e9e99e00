// The harness itself: that each oracle can fail, and what a failure says.
import { coreKind } from '#kube/core-kinds.ts'
import { describe, expect, test } from 'vitest'
import { type Simulation, checkEveryWrite, checkSeeds, referenceRun, simulate } from './harness.ts'
import type { SimProcess } from './process.ts'

const type = coreKind('ConfigMap')
const NAME = { namespace: 'default', name: 'x' }
const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: NAME }

/** One actor that does one thing at its start, in one quiet phase. */
const simulationOf = (work: (process: SimProcess) => Promise<unknown>, over: Partial<Simulation> = {}): Simulation => ({
  kinds: [{ type }],
  actors: () => [{ name: 'actor', start: (process) => void work(process).catch(() => undefined) }],
  phases: [{ name: 'only', act: () => undefined }],
  faults: [],
  ...over,
})

const create = ({ client }: SimProcess) => client.create(type, object)

describe('an oracle fails', () => {
  test('O1 when the end state is another', async () => {
    const reference = await referenceRun(simulationOf(create))
    const other = simulationOf(({ client }) => client.create(type, { ...object, data: { a: '1' } }))
    const { violations } = await simulate(other, 1, { reference })
    expect(violations).toEqual([
      { oracle: 'O1', phase: 'only', message: '.configmaps/default/x.data: {"a":"1"} instead of nothing' },
    ])
  })

  test('O2 when the same end is reached by more writes', async () => {
    const reference = await referenceRun(simulationOf(create))
    const twice = simulationOf(async (process) => {
      await create(process)
      await process.client.delete(type, NAME)
      await create(process)
    })
    const { violations } = await simulate(twice, 1, { reference })
    expect(violations.map((v) => [v.oracle, v.message])).toEqual([
      ['O2', '/configmaps ADDED: 2 instead of 1, /configmaps DELETED: 1 instead of 0'],
    ])
  })

  test('O3 at the very write, also when it is made good later', async () => {
    const invariants = { never: () => 'seen' }
    const { violations } = await simulate(simulationOf(create, { invariants }), 1)
    expect(violations).toEqual([{ oracle: 'O3', phase: 'only', message: 'never: seen' }])
  })

  test('O5 when something writes for ever, though nothing changes by it', async () => {
    const restless = simulationOf(async ({ client, clock }) => {
      for (;;) {
        await client.create(type, object).catch(() => undefined)
        await clock.sleep(60_000)
      }
    })
    const { violations } = await simulate(restless, 1)
    expect(violations).toMatchObject([{ oracle: 'O5', message: expect.stringMatching(/^\d+ writes after/) as string }])
  })

  test('O5 when something spins without ever writing', async () => {
    const spinning = simulationOf(async ({ client }) => {
      for (;;) await client.get(type, NAME)
    })
    const { violations } = await simulate(spinning, 1)
    expect(violations.map((v) => v.message)).toEqual(['still busy after 30000 steps without a fault'])
  })

  test('O9 when a run takes chance from elsewhere', async () => {
    let runs = 0
    const unseeded = simulationOf(({ client }) => client.get(type, { name: `run-${runs++}` }))
    await expect(checkSeeds(unseeded, [10])).rejects.toThrow(/O9: seed 10 does not replay: step \d+:/)
  })
})

test('a failing run names its seed, its faults and its last steps', async () => {
  const half = simulationOf(
    async ({ client, life }) => {
      if (life > 1) return
      await create({ client } as SimProcess)
      await client.create(type, { ...object, metadata: { ...NAME, name: 'y' } })
    },
    { faults: ['Crash'] },
  )
  const failing = checkEveryWrite(half, 'actor')
  await expect(failing).rejects.toThrow(/SIM_SEED=0/)
  await expect(failing).rejects.toThrow(/"kind":"Crash","when":"before","write":1/)
  await expect(failing).rejects.toThrow(/kill actor\/1/)
})

test('nothing is held against a reference that fails itself', async () => {
  const invariants = { never: () => 'seen' }
  await expect(referenceRun(simulationOf(create, { invariants }))).rejects.toThrow(/the reference run fails/)
})

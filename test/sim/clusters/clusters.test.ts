// Short-lived Clusters in the simulator: expiry, extension, tombstone, revert and deletion, with the controller dying around its writes.
import { expect, test } from 'vitest'
import { isFull } from '#test/support/tools/full.ts'
import { checkEveryWrite, checkSeeds, sharedReference } from '../harness.ts'
import { clusterSimulation } from './simulation.ts'

const simulation = clusterSimulation()
const seedsOf = (count: number) => Array.from({ length: count }, (_, n) => n + 1)

/** Three hundred seeds take a quarter of an hour and more. */
const FULL_MS = 7_200_000

test('a run without faults tells the story: extended, stopped at its end, back with its data, gone, and new under its name', async () => {
  const { states } = await sharedReference(simulation)
  const planes = states.map((s) => (s as { planes: object }).planes)
  const kept = 'kubenode-system.kept'
  const lost = 'kubenode-system.lost'
  expect(planes).toHaveLength(12)
  expect(planes[2]).toEqual({ [kept]: 'Running 1', [lost]: 'Running 1' })
  expect(planes[3]).toEqual({ [kept]: 'Running 1' })
  expect(planes[4]).toEqual({ [kept]: 'Stopped 1' })
  expect(planes[5]).toEqual({ [kept]: 'Running 1' })
  expect(planes[6]).toEqual({ [kept]: 'Stopped 1' })
  expect(planes[7]).toEqual({ [kept]: 'Running 1' })
  expect(planes[8]).toEqual({})
  expect(planes[9]).toEqual({ [kept]: 'Running 2' })
  expect(planes[10]).toEqual({ [kept]: 'Stopped 2' })
  expect(states[11]).toEqual({ clusters: [], planes: {}, secrets: [] })
})

test('F1 F2: the controller may die around any write', async () => {
  expect(await checkEveryWrite(simulation, 'cluster', 10)).toBeGreaterThan(20)
})

test(
  `${isFull ? 300 : 5} seeds of faults end as if nothing had gone wrong`,
  async () => {
    await checkSeeds(simulation, seedsOf(isFull ? 300 : 5))
  },
  FULL_MS,
)

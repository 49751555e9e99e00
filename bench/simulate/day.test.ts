// What a simulation says about a generated day stays the same to the byte, however it is made faster. The counts tell which part moved.
import { expect, test } from 'vitest'
import { canonicalJson } from '#lib/json.ts'
import { sha256 } from '#lib/sha256.ts'
import type { Scenario } from '#api/scenario.ts'
import { runOnce } from '#forecast/simulation/run-once.ts'
import { requestOf } from './fleet.ts'

const DAY_MS = 86_400_000

/** Faults, a zone without power in the midst of the rollout, and a version that fails somewhere. */
const scenario: Scenario = {
  description: 'a bad day',
  faults: [{ condition: 'KernelDeadlock', clearedBy: ['reboot'], clearShare: 0.9, over: '24h', pick: { count: 6 } }],
  outages: [{ at: '30m', pick: { zone: 'zone-1' }, for: '1h' }],
  badVersions: [{ component: 'component-1', share: 0.02 }],
}

test.each([
  { seed: 0, slices: 49, repairs: 6, digest: '10cad296065caa2e0b44a245bbce7f4feb2108a79a80ad73263ae4eef655b56f' },
  { seed: 1, slices: 51, repairs: 6, digest: '4b8b98cfa99d89148e3423f3ab43427168bbaa11a035058b417d484c291e1a6a' },
])('seed $seed', async ({ seed, ...known }) => {
  const result = await runOnce({ ...requestOf(90, 3, 'rollout'), scenario, seed, mostMs: DAY_MS })
  expect({
    slices: result.slices,
    repairs: result.repairs.jobs,
    digest: sha256(canonicalJson(result)).toString('hex'),
  }).toEqual(known)
})

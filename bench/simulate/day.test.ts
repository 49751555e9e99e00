// What a simulation says about a generated day stays the same to the byte, however it is made faster. The counts tell which part moved.
import { expect, test } from 'vitest'
import { canonicalJson } from '#lib/json.ts'
import { sha256 } from '#lib/sha256.ts'
import type { Scenario } from '#api/scenario.ts'
import { runOnce } from '#forecast/simulation/run-once.ts'
import { requestOf } from './fleet.ts'

const DAY_MS = 86_400_000

/** Faults, a zone without power in the midst of the rollout, and a version that fails somewhere. */
const bad: Scenario = {
  description: 'a bad day',
  faults: [{ condition: 'KernelDeadlock', clearedBy: ['reboot'], clearShare: 0.9, over: '24h', pick: { count: 6 } }],
  outages: [{ at: '30m', pick: { zone: 'zone-1' }, for: '1h' }],
  badVersions: [{ component: 'component-1', share: 0.02 }],
}

/** Everything else that a scenario may have. */
const cloudy: Scenario = {
  description: 'a day of a cloud',
  apiOutages: [{ at: '20m', for: '10m' }],
  hostWork: [{ at: '1h', pick: { rack: 'rack-0', count: 4 }, for: '2h' }],
  spotReclaims: [{ at: '2h', pick: { count: 8 }, over: '1h' }],
  providerLimits: [{ at: '2h', for: '4h', perHour: 2 }],
}

test.each([
  {
    scenario: bad,
    seed: 0,
    slices: 49,
    repairs: 6,
    digest: '10cad296065caa2e0b44a245bbce7f4feb2108a79a80ad73263ae4eef655b56f',
  },
  {
    scenario: bad,
    seed: 1,
    slices: 51,
    repairs: 6,
    digest: '4b8b98cfa99d89148e3423f3ab43427168bbaa11a035058b417d484c291e1a6a',
  },
  {
    scenario: cloudy,
    seed: 0,
    slices: 47,
    repairs: 0,
    digest: '9b02aa3bb20a30ff6dc46cdb6054c4b720a7a6c5a106f78f177b7cdc136c101e',
  },
])('$scenario.description, seed $seed', async ({ scenario, seed, ...known }) => {
  const result = await runOnce({ ...requestOf(90, 3, 'rollout'), scenario, seed, mostMs: DAY_MS })
  expect({
    slices: result.slices,
    repairs: result.repairs.jobs,
    digest: sha256(canonicalJson(result)).toString('hex'),
  }).toEqual(known)
})

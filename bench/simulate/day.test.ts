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
    digest: '6b1a9d0e7be5ae146160398174666b670ffc3916b8aa3f50ca383da5a4ef0749',
  },
  {
    scenario: bad,
    seed: 1,
    slices: 56,
    repairs: 6,
    digest: 'c364c0fd88207b1092deb65b88ce6de17a7389d7c1378917c02c7ae1787dead9',
  },
  {
    scenario: cloudy,
    seed: 0,
    slices: 47,
    repairs: 0,
    digest: '127c4cf685fd5662b6c25cd83ca4e6e007ad157f91a7499b8a2892e85243864c',
  },
])('$scenario.description, seed $seed', async ({ scenario, seed, ...known }) => {
  const result = await runOnce({ ...requestOf(90, 3, 'rollout'), scenario, seed, mostMs: DAY_MS })
  expect({
    slices: result.slices,
    repairs: result.repairs.jobs,
    digest: sha256(canonicalJson(result)).toString('hex'),
  }).toEqual(known)
})

// Finds the clusters that change or are about to, and the failures in a cluster's sets and rules.
import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { Release } from '#api/kinds/release.ts'
import { type Evidence, evidenceOf } from './evidence.ts'
import { brakeLimits } from './limits.ts'
import { needsOf } from './needs.ts'

const release = (phase: string, clusters: readonly object[]): Release =>
  ({ metadata: { namespace: 'fleet', name: phase }, spec: {}, status: { phase, clusters } }) as unknown as Release
const budget = (since: string) => ({ predicate: 'FleetBudget', since })
const shows = (openSlices: number, waitingSlices: number): Evidence => ({
  failed: [],
  repairs: new Map(),
  openSlices,
  waitingSlices,
})

test('what is at work, changes or has an open slice, changes; what waits for the budget would begin, longest first', () => {
  const releases = [
    release('Progressing', [
      { name: 'hub', phase: 'Applying' },
      { name: 'a', phase: 'Applying' },
      { name: 'b', phase: 'Healthy' },
      { name: 'late', phase: 'Waiting', waitingFor: budget('2026-01-31T12:05:00Z') },
      { name: 'early', phase: 'Waiting', waitingFor: budget('2026-01-31T12:00:00Z') },
      {
        name: 'windowed',
        phase: 'Waiting',
        waitingFor: { predicate: 'WaitingForWindow', since: '2026-01-31T11:00:00Z' },
      },
    ]),
    release('Superseded', [{ name: 'old', phase: 'Applying' }]),
  ]
  const clusters = [
    { metadata: { namespace: 'fleet', name: 'plane' }, status: { phase: 'Upgrading' } },
    { metadata: { namespace: 'fleet', name: 'b' }, status: { phase: 'Ready' } },
  ] as unknown as readonly Cluster[]
  const evidences = new Map([
    ['hub', shows(3, 0)],
    ['fleet/open', shows(1, 1)],
    ['fleet/left', shows(0, 1)],
    ['fleet/silent', undefined],
  ])
  expect([...needsOf({ releases, clusters, evidences })]).toEqual([
    ['fleet/a', 'Changes'],
    ['fleet/open', 'Changes'],
    ['fleet/plane', 'Changes'],
    ['fleet/left', 'Begins'],
    ['fleet/early', 'Begins'],
    ['fleet/late', 'Begins'],
  ])
})

const set = (status: object): MachineComponentSet =>
  ({
    metadata: { name: 'base', generation: 2, annotations: { 'kubenode.io/commit': 'c'.repeat(40) } },
    spec: { components: [{ name: 'beacon', version: '1.1.0' }] },
    status: { observedGeneration: 2, ...status },
  }) as unknown as MachineComponentSet
const FAILED = {
  revisions: { update: 'base-2', blocked: [{ revision: 'base-2', component: 'beacon' }] },
  slices: [{ component: 'beacon', version: '1.1.0', config: 'beacon-1', phase: 'Failed' }],
}
const rules = [{ metadata: { name: 'silent' }, status: { counts: { lastHour: 4 } } }] as unknown as NodeRemedier[]

test('the blocked revision that is declared now shows as a failed version, with its configuration and commit', () => {
  const { failed, repairs } = evidenceOf([set(FAILED)], rules)
  expect(failed).toEqual([{ component: 'beacon', version: '1.1.0', config: 'beacon-1', commit: 'c'.repeat(40) }])
  expect([...repairs]).toEqual([['silent', 4]])
})

test.each([
  ['an earlier revision', { ...FAILED, revisions: { ...FAILED.revisions, update: 'base-3' } }],
  ['a status of an earlier spec', { ...FAILED, observedGeneration: 1 }],
])('%s is no evidence', (_, status) => {
  expect(evidenceOf([set(status)], []).failed).toEqual([])
})

test('slices at work are open, and of those that wait only the ones that nothing else stops', () => {
  const slices = [
    { phase: 'Switching' },
    { phase: 'Soaking' },
    { phase: 'AwaitingPermit', waitingFor: { predicate: 'FleetBudget' } },
    { phase: 'AwaitingPermit', waitingFor: { predicate: 'BudgetExhausted' } },
  ]
  expect(evidenceOf([set({ slices })], [])).toMatchObject({ openSlices: 2, waitingSlices: 1 })
})

test('the lowest limit of the policies applies, one in mode Audit limits nothing, and three clusters need no policy', () => {
  const policy = (fleet: object, mode = 'Enforce'): DefenderPolicy =>
    ({ spec: { fleet, mode } }) as unknown as DefenderPolicy
  expect(brakeLimits([])).toEqual({ maxChanging: undefined, failedClusters: 3, repairsPerHour: 200 })
  expect(
    brakeLimits([
      policy({ maxChanging: 5, repairsPerHour: 9 }),
      policy({ maxChanging: 2 }),
      policy({ maxChanging: 1 }, 'Audit'),
    ]),
  ).toEqual({ maxChanging: 2, failedClusters: 3, repairsPerHour: 9 })
})

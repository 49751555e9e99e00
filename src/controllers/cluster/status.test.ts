// What the status of a Cluster shows of its control plane.
import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { QUIET } from '#test/doubles/quiet-cluster.ts'
import { plan } from './plan.ts'
import type { Seen } from './seen.ts'
import { statusOf } from './status.ts'
import { defined } from '#lib/defined.ts'
import { formatDuration } from '#lib/duration.ts'
import { runningPlane } from '#test/doubles/running-plane.ts'

const NOW = Date.UTC(2030, 0, 1)

test.each([
  ['three API servers', 'kubernetes', 3, true, 'Yes'],
  ['one API server of a host that could run more', 'kubernetes', 1, true, 'No'],
  ['a number that is left out', 'kubernetes', undefined, true, 'No'],
  ['a host that runs one', 'embedded', undefined, false, 'No'],
  ['a flavor that no host of the hub serves', 'other', 3, false, undefined],
] as const)('whether another API server serves: %s', (_, name, replicas, isHighlyAvailable, expected) => {
  const flavor = name === 'other' ? 'kubernetes' : name
  const seen: Seen = {
    ...QUIET,
    plane: undefined,
    kubeconfig: undefined,
    addons: '2.0.0+b',
    cluster: {
      metadata: { namespace: 'fleet', name: 'one', uid: 'u-1' },
      spec: { version: '1.36.0', controlPlane: { flavor, ...defined({ replicas }) } },
      // Written by an earlier release.
      status: { highAvailability: 'No' },
    } as unknown as Cluster,
    host: {
      name: name === 'other' ? 'embedded' : name,
      capabilities: { isHighlyAvailable, minors: ['1.36'], most: 9 },
    },
  }
  expect(statusOf(seen, plan(seen, NOW), [], NOW).highAvailability).toBe(expected)
})

test.each<[string, object | undefined, string]>([
  ['from when it was first observed', { from: '1.35.1', to: '1.36.0', startedAt: '2029-12-31T23:50:00Z' }, '10m'],
  [
    'not, where it returned to the version before',
    { from: '1.36.0', to: '1.37.0', startedAt: '2029-12-31T23:50:00Z' },
    '0ms',
  ],
  ['not, where nothing saw it begin', undefined, '0ms'],
])('how long a change of the version took is recorded %s', (_, change, took) => {
  const first = { version: '1.35.1', startedAt: '2029-01-01T00:00:00Z', completedAt: '2029-01-01T00:00:00Z' }
  const seen: Seen = {
    ...QUIET,
    plane: { ...runningPlane('fleet.one'), owner: 'u-1', version: '1.36.0' },
    kubeconfig: undefined,
    addons: '2.0.0+b',
    cluster: {
      metadata: { namespace: 'fleet', name: 'one', uid: 'u-1' },
      spec: { version: '1.36.0', controlPlane: { flavor: 'embedded' } },
      status: { history: [first], ...defined({ change }) },
    } as unknown as Cluster,
    host: { name: 'embedded', capabilities: { isHighlyAvailable: false, minors: ['1.36'], most: 9 } },
  }
  const { history = [] } = statusOf(seen, plan(seen, NOW), [], NOW)
  const [{ version, startedAt, completedAt = '' } = first] = history.slice(-1)
  expect([version, formatDuration(Date.parse(completedAt) - Date.parse(startedAt))]).toEqual(['1.36.0', took])
})

test('a change keeps the time when it was first observed, and another one has its own', () => {
  const startedAt = '2029-12-31T23:50:00Z'
  const startOf = (from: string) => {
    const seen: Seen = {
      ...QUIET,
      plane: {
        ...runningPlane('fleet.one'),
        owner: 'u-1',
        change: { from: '1.35.1', to: '1.36.0', message: 'it soaks', wayBack: 'Programs' },
      },
      kubeconfig: undefined,
      addons: '2.0.0+b',
      cluster: {
        metadata: { namespace: 'fleet', name: 'one', uid: 'u-1' },
        spec: { version: '1.36.0', controlPlane: { flavor: 'embedded' } },
        status: { change: { from, to: '1.36.0', message: 'it soaks', wayBack: 'Programs', startedAt } },
      } as unknown as Cluster,
      host: { name: 'embedded', capabilities: { isHighlyAvailable: false, minors: ['1.36'], most: 9 } },
    }
    return statusOf(seen, plan(seen, NOW), [], NOW).change?.startedAt
  }
  expect(startOf('1.35.1')).toBe(startedAt)
  expect(startOf('1.34.1')).toBe('2030-01-01T00:00:00Z')
})

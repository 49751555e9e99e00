// What the status of a Cluster shows of its control plane.
import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { QUIET } from '#test/doubles/quiet-cluster.ts'
import { plan } from './plan.ts'
import type { Seen } from './seen.ts'
import { statusOf } from './status.ts'
import { defined } from '#lib/defined.ts'

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

import { describe, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { machinesWith } from './machine-loss.ts'

const HOSTED = { version: '1.36.0', controlPlane: { flavor: 'embedded' }, deletionPolicy: 'Delete' } as const
const machines = { total: 6, ready: 5, agents: 6 }
const SERVED = '2026-01-05T12:00:00Z'

describe('the machines that are deleted with a Cluster', () => {
  test.each([
    ['are all that it has', HOSTED, { machines }, 6],
    ['are none where its control plane is kept', { ...HOSTED, deletionPolicy: 'Orphan' }, { machines }, 0],
    ['are none where its control plane is elsewhere', { kubeconfigSecretRef: { name: 'k' } }, { machines }, 0],
    ['count where it has a time to live: a commit before may have added it', { ...HOSTED, ttl: '4h' }, { machines }, 6],
    ['are none before it first answered', HOSTED, {}, 0],
    ['are unknown where it answered and no longer says how many', HOSTED, { reachableSince: SERVED }, 'Unknown'],
  ] as const)('%s', (_, spec, status, expected) =>
    expect(machinesWith({ spec, status } as unknown as Cluster)).toBe(expected),
  )
})

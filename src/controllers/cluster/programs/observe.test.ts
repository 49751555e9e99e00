import { describe, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { programsSeen } from './observe.ts'

const clusterThat = (programs: Cluster['spec']['programs']): Cluster =>
  ({ metadata: { namespace: 'fleet', name: 'one', uid: 'u-1' }, spec: { controlPlane: {}, programs } }) as never

describe('the objects for programs in a Cluster', () => {
  const observed = (programs: Cluster['spec']['programs'], inClusters: () => Promise<readonly unknown[]>) => {
    const tools = { client: { get: async () => undefined }, clients: {}, now: () => 0, inClusters } as never
    return programsSeen(tools, clusterThat(programs), undefined, AbortSignal.timeout(60_000))
  }
  const broken = async (): Promise<readonly unknown[]> => {
    throw new Error('no JSON')
  }

  test.each(['Hub', 'None', undefined] as const)('are not read for a Cluster with programs %s', async (programs) => {
    expect((await observed(programs, broken)).unreadable).toBeUndefined()
  })

  test('that cannot be read are a message of the Cluster that wants them, and no error', async () => {
    expect(await observed('Cluster', broken)).toMatchObject({ isOffered: false, unreadable: 'no JSON' })
  })

  test('are offered when there are some', async () => {
    expect((await observed('Cluster', async () => [{}])).isOffered).toBe(true)
    expect((await observed('Cluster', async () => [])).isOffered).toBe(false)
  })
})

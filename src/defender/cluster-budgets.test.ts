import { describe, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { DefenderPolicySpec } from '#api/kinds/defender-policy.ts'
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { START_MS, aPermit, aPolicy, aSnapshot, condition, machines } from '#test/support/fleets/defender-objects.ts'
import { decide } from './plan.ts'

type Budget = NonNullable<DefenderPolicySpec['budgets']>[number]

const aCluster = (name: string, stage: string, region: string | undefined, ready = 'True'): Cluster =>
  ({
    apiVersion: API_GROUP_VERSION,
    kind: 'Cluster',
    metadata: {
      name,
      namespace: 'fleet',
      uid: `uid-${name}`,
      ...(region !== undefined && { labels: { 'topology.kubernetes.io/region': region } }),
    },
    spec: { stage, kubeconfigSecretRef: { name: `cluster-${name}` }, deletionPolicy: 'Orphan' },
    status: { conditions: [condition('Ready', ready as 'True')] },
  }) as unknown as Cluster

/** Two in test, both in the east; three in prod: one east, two without a region. */
const CLUSTERS = [
  aCluster('t1', 'test', 'east'),
  aCluster('t2', 'test', 'east'),
  aCluster('p1', 'prod', 'east'),
  aCluster('p2', 'prod', undefined),
  aCluster('p3', 'prod', undefined),
]

const pruneOf = (name: string): OperationPermit => {
  const made = aPermit({ name: `prune-${name}`, targets: [name], operations: ['MassPrune'] })
  const target = { kind: 'Cluster' as const, namespace: 'fleet', name, uid: `uid-${name}` }
  return { ...made, spec: { ...made.spec, targets: [target] } }
}

const granted = (budget: Budget, asked: readonly string[], clusters = CLUSTERS, ledger?: LedgerSpec) => {
  const snapshot = aSnapshot({ clusters, permits: asked.map(pruneOf), policies: [aPolicy({ budgets: [budget] })] })
  const decision = decide(snapshot, ledger, { now: START_MS, leader: 'a' })
  const names = decision.permits.filter((p) => p.phase === 'Granted').map((p) => p.permit.spec.targets[0]?.name ?? '')
  return { names: names.toSorted((a, b) => (a < b ? -1 : 1)), ledger: decision.ledger }
}

const ALL = ['t1', 't2', 'p1', 'p2', 'p3']

describe('a budget over clusters', () => {
  test.each([
    ['Expired', ['t2']],
    ['Failed', []],
  ])('one in phase %s, not Ready: grants for another %j', (phase, names) => {
    const [t1, t2] = [aCluster('t1', 'test', 'east', 'False'), aCluster('t2', 'test', 'east')]
    const clusters = [{ ...t1, status: { ...t1.status, phase } } as Cluster, t2]
    expect(granted({ max: 1, of: 'unavailable', per: 'hub' }, ['t2'], clusters).names).toEqual(names)
  })

  test.each<[Budget['per'], readonly string[]]>([
    ['stage', ['p1', 't1']],
    // Clusters without a region count as one region.
    ['region', ['p1', 'p2']],
    ['hub', ['p1']],
    ['cluster', ['p1']],
  ])('per %s grants one in each', (per, names) => {
    expect(granted({ max: 1, of: 'concurrent', per }, ALL).names).toEqual(names)
  })

  test('counts what was granted before, by stage and region of the time of the grant, also of a Cluster that was deleted since', () => {
    const first = granted({ max: 1, of: 'concurrent', per: 'region' }, ['t1'])
    expect(first.ledger?.grants?.[0]).toMatchObject({ name: 't1', stage: 'test', region: 'east' })
    const rest = CLUSTERS.filter((c) => c.metadata.name !== 't1')
    expect(granted({ max: 1, of: 'concurrent', per: 'region' }, ['t2', 'p1', 'p2'], rest, first.ledger).names).toEqual([
      'p2',
    ])
  })

  test('counts clusters that do not answer as unavailable in their stage only', () => {
    const down = [aCluster('t3', 'test', 'east', 'Unknown'), ...CLUSTERS]
    expect(granted({ max: 1, of: 'unavailable', per: 'stage' }, ['t1', 'p1'], down).names).toEqual(['p1'])
  })

  test('a percentage is of the clusters of the domain', () => {
    expect(granted({ max: '67%', of: 'concurrent', per: 'stage' }, ALL).names).toEqual(['p1', 'p2', 't1'])
  })

  test('limits no machine', () => {
    const permits = [aPermit({ name: 'a', targets: ['m-0', 'm-1', 'm-2'] })]
    for (const per of ['stage', 'region', 'hub'] as const) {
      const policies = [
        aPolicy({ budgets: [{ max: 0, of: 'concurrent', per }], rates: [{ window: '1h', max: 0, per }] }),
      ]
      const snapshot = aSnapshot({ machines: machines(10), permits, policies })
      expect(decide(snapshot, undefined, { now: START_MS, leader: 'a' }).ledger?.grants).toHaveLength(3)
    }
  })

  test('a stage in the request changes nothing: it is that of the Cluster on the hub', () => {
    const claimed = {
      ...pruneOf('p1'),
      metadata: { name: 'prune-p1', uid: 'x', labels: { 'kubenode.io/stage': 'test' } },
    }
    const policies = [
      aPolicy({
        budgets: [{ max: 0, of: 'concurrent', per: 'cluster' }],
        selector: { matchLabels: { 'kubenode.io/stage': 'prod' } },
      }),
    ]
    const snapshot = aSnapshot({ clusters: CLUSTERS, permits: [claimed], policies })
    expect(decide(snapshot, undefined, { now: START_MS, leader: 'a' }).permits[0]?.phase).not.toBe('Granted')
  })
})

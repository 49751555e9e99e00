// Checks that block the upgrade of a control plane before it requests a permit.
import { describe, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { FINALIZERS } from '#api/names.ts'
import type { ClusterReadiness } from '#controlplanes/upgrade/seen.ts'
import { defined } from '#lib/defined.ts'
import { QUIET } from '#test/doubles/quiet-cluster.ts'
import { runningPlane } from '#test/doubles/running-plane.ts'
import { plan } from './plan.ts'
import type { Seen } from './seen.ts'

const NOW = Date.parse('2030-01-01T00:00:00Z')
const known = <T>(value: T) => ({ known: true, value }) as const
const READY: ClusterReadiness = {
  kubelets: known({ oldest: '1.35.0', newest: '1.35.0' }),
  unreadyNodes: known({ total: 2, names: [] }),
  blockingBudgets: known([]),
  deafWebhooks: known([]),
}
const seen = (readiness: ClusterReadiness | undefined, version = '1.36.0', accept?: readonly string[]): Seen => ({
  ...QUIET,
  cluster: {
    metadata: { namespace: 'fleet', name: 'c', uid: 'u', finalizers: [FINALIZERS.cluster] },
    spec: { version, controlPlane: { flavor: 'embedded', ...defined({ accept }) } },
    status: { phase: 'Ready', history: [{ version: '1.35.0', startedAt: '2030-01-01T00:00:00Z' }] },
  } as unknown as Cluster,
  plane: { ...runningPlane('fleet.c'), owner: 'u', version: '1.35.0' },
  host: { name: 'embedded', capabilities: { isHighlyAvailable: false, minors: ['1.34', '1.35', '1.36'], most: 9 } },
  kubeconfig: undefined,
  addons: 'a',
  readiness,
})
const planned = (...of: Parameters<typeof seen>) => plan(seen(...of), NOW)

test('nothing speaks against it: a permit is asked for', () => {
  expect(planned(READY)).toMatchObject({ phase: 'Upgrading', wait: { predicate: 'PermitRequested' } })
})

describe('nothing is asked for, and the cluster stays Ready, while', () => {
  test.each<[string, Partial<ClusterReadiness> | undefined, string]>([
    [
      'a budget lets no pod go',
      { blockingBudgets: known(['shop/cart']) },
      'PodDisruptionBudgets let no pod go: shop/cart',
    ],
    ['a node is not Ready', { unreadyNodes: known({ total: 2, names: ['n-1'] }) }, '1 of 2 nodes are not Ready: n-1'],
    [
      'a kubelet would be too old',
      { kubelets: known({ oldest: '1.32.0', newest: '1.35.0' }) },
      'a kubelet 1.32.0 would be 4 minors behind; at most 3 are allowed',
    ],
    [
      'the budgets cannot be read',
      { blockingBudgets: { known: false, why: 'no answer' } },
      'the PodDisruptionBudgets cannot be read: no answer',
    ],
  ])('%s', (_, bad, text) => {
    const { actions, phase, wait } = planned({ ...READY, ...bad })
    expect({ actions, phase, wait }).toMatchObject({
      actions: [],
      phase: 'Ready',
      wait: { predicate: 'UpgradeRefused', seen: text },
    })
  })

  test('nothing was read', () => {
    expect(planned(undefined).wait?.seen).toContain('the nodes cannot be read')
  })
})

test('a commit accepts a budget that lets no pod go', () => {
  const bad = { ...READY, blockingBudgets: known(['shop/cart']) }
  expect(planned(bad, '1.36.0', ['DisruptionBudgets']).wait?.predicate).toBe('PermitRequested')
})

test('going back is stopped by a kubelet that would be newer, and by nothing else', () => {
  const bad = {
    ...READY,
    kubelets: known({ oldest: '1.34.0', newest: '1.34.0' }),
    unreadyNodes: known({ total: 1, names: ['n-1'] }),
  }
  expect(planned(bad, '1.34.0').wait?.predicate).toBe('PermitRequested')
  expect(planned(READY, '1.34.0').wait?.seen).toBe('a kubelet 1.35.0 is newer than 1.34.0')
})

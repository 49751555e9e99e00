// The order in which Clusters are created if a policy limits concurrent creations.
import { describe, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { QUIET } from '#test/doubles/quiet-cluster.ts'
import { runningPlane } from '#test/doubles/running-plane.ts'
import { tooManyCreated } from './plan-creation.ts'
import type { Seen } from './seen.ts'
import { defined } from '#lib/defined.ts'

const of = (n: number, status: object = {}, more: object = {}): Cluster =>
  ({
    metadata: {
      namespace: 'fleet',
      name: `c-${n}`,
      uid: `u-${n}`,
      creationTimestamp: `2030-01-01T00:00:0${n}Z`,
      ...more,
    },
    spec: { version: '1.36.0', controlPlane: { flavor: 'embedded' } },
    status,
  }) as unknown as Cluster
const waits = (cluster: Cluster, hosted: readonly Cluster[], maxCreating?: number, more: Partial<Seen> = {}) =>
  tooManyCreated({
    ...QUIET,
    cluster,
    hosted,
    caps: defined({ maxCreating }),
    plane: undefined,
    ...more,
  } as Seen)

const ready = { phase: 'Ready', history: [{ version: '1.36.0', startedAt: '2030-01-01T00:00:00Z' }] }
const waiting = (predicate: string) => ({ phase: 'Pending', waitingFor: { predicate } })

describe('with a limit of one', () => {
  test('the oldest begins, and the next one says what it waits for', () => {
    const all = [of(1), of(2), of(3)]
    expect(waits(of(1), all, 1)).toBeUndefined()
    expect(waits(of(2), all, 1)).toEqual({
      predicate: 'CreationLimit',
      seen: '1 Cluster being created or before it; a policy allows 1 at once',
      unblock: 'one of them is Ready or deleted, or the policy allows more',
    })
    expect(waits(of(3), all, 1)?.seen).toContain('2 Clusters')
  })

  test.each<[string, Cluster]>([
    ['is Ready', of(1, ready)],
    ['failed after it was Ready', of(1, { ...ready, phase: 'Failed' })],
    ['is being deleted', of(1, {}, { deletionTimestamp: '2030-01-01T00:01:00Z' })],
    ['waits for a person', of(1, waiting('EndpointTaken'))],
  ])('an older one that %s blocks no other', (_, older) => {
    expect(waits(of(2), [older, of(2)], 1)).toBeUndefined()
  })

  test('an older one that waits for its own turn keeps the younger ones waiting', () => {
    expect(waits(of(3), [of(1, { phase: 'Creating' }), of(2, waiting('CreationLimit')), of(3)], 2)).toBeDefined()
  })

  test('a younger one that was begun counts', () => {
    expect(waits(of(1), [of(1), of(2, { phase: 'Addons' })], 1)).toBeDefined()
  })

  test('a control plane that exists is never held up', () => {
    expect(waits(of(2), [of(1), of(2)], 1, { plane: runningPlane('fleet.c-2') })).toBeUndefined()
  })
})

test('without a limit all begin, and with a limit of none, none does', () => {
  expect(waits(of(2), [of(1), of(2)])).toBeUndefined()
  expect(waits(of(1), [of(1)], 0)).toBeDefined()
})

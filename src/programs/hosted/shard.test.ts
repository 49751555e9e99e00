import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ownerOf, planShard, type Replica } from './shard.ts'

const replica = (name: string, ...hosts: readonly string[]): Replica => ({ name, hosts: new Set(hosts) })
const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,6}$/), { maxLength: 30 })
const someReplicas = fc.uniqueArray(fc.stringMatching(/^r[a-z0-9]{1,4}$/), { minLength: 1, maxLength: 5 })

describe('which replica runs which cluster', () => {
  it('each cluster has exactly one replica once all have taken what is theirs', () => {
    fc.assert(
      fc.property(names, someReplicas, (clusters, alive) => {
        const replicas = alive.map((name) => replica(name))
        const taken = alive.flatMap((self) => planShard({ clusters, replicas, self, running: new Set() }))
        expect(taken.toSorted()).toEqual([...clusters].toSorted())
      }),
    )
  })

  it('when a replica ends, only its own clusters move', () => {
    fc.assert(
      fc.property(names, someReplicas, (clusters, alive) => {
        const [gone, ...rest] = alive.map((name) => replica(name))
        if (gone === undefined || rest.length === 0) return
        for (const cluster of clusters) {
          const before = ownerOf(cluster, [gone, ...rest])
          if (before !== gone) expect(ownerOf(cluster, rest)).toBe(before)
        }
      }),
    )
  })

  it('the order of Leases does not matter', () => {
    fc.assert(
      fc.property(names, someReplicas, (clusters, alive) => {
        const replicas = alive.map((name) => replica(name))
        for (const cluster of clusters) expect(ownerOf(cluster, replicas.toReversed())).toBe(ownerOf(cluster, replicas))
      }),
    )
  })

  it('a hundred clusters are spread: no replica of three has more than half', () => {
    const clusters = Array.from({ length: 100 }, (_, n) => `kubenode-system/c-${n}`)
    const replicas = ['a', 'b', 'c'].map((name) => replica(name))
    for (const { name: self } of replicas)
      expect(planShard({ clusters, replicas, self, running: new Set() }).length).toBeLessThan(50)
  })

  it('a cluster that moves is kept until its new replica runs it', () => {
    const cluster = Array.from({ length: 50 }, (_, n) => `c-${n}`).find(
      (c) => ownerOf(c, [replica('old'), replica('new')])?.name === 'new',
    )
    expect(cluster).toBeDefined()
    const clusters = [cluster ?? '']
    const of = (replicas: readonly Replica[], ...running: readonly string[]) =>
      planShard({ clusters, replicas, self: 'old', running: new Set(running) })
    expect(of([replica('old'), replica('new')], ...clusters)).toEqual(clusters)
    expect(of([replica('old'), replica('new', ...clusters)], ...clusters)).toEqual([])
    // One that it does not run is not taken meanwhile.
    expect(of([replica('old'), replica('new')])).toEqual([])
  })
})

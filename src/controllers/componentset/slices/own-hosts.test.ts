// Slices over machines that host our own pods: a property over random hosts, and the order in which a fleet is switched.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hostsForLater, type Candidate, type OwnHosts } from './own-hosts.ts'

const named = (names: readonly string[]): readonly Candidate[] => names.map((name) => ({ name, node: `node-${name}` }))
const ownHosts = (of: Readonly<Record<string, readonly string[]>>, leaders: readonly string[]): OwnHosts => ({
  hosts: new Map(Object.entries(of).map(([name, roles]) => [`node-${name}`, new Set(roles)])),
  leading: new Set(leaders.map((name) => `node-${name}`)),
})

/** Slices until no machine is left, each as large as allowed. */
function slicesOf(names: readonly string[], own: OwnHosts): readonly (readonly string[])[] {
  const slices: (readonly string[])[] = []
  for (let left = [...names]; left.length > 0;) {
    const later = hostsForLater(named(left), own)
    const slice = left.filter((name) => !later.has(name))
    if (slice.length === 0) throw new Error(`stuck with ${left.join(', ')}`)
    slices.push(slice)
    left = left.filter((name) => later.has(name))
  }
  return slices
}

test('a leader comes after its replica, and both apart', () => {
  const own = ownHosts({ a: ['defender', 'sync'], b: ['defender'], c: ['sync'] }, ['a'])
  expect(slicesOf(['a', 'b', 'c', 'd'], own)).toEqual([['b', 'c', 'd'], ['a']])
})

test('where no program runs as a pod nothing waits', () => {
  expect(slicesOf(['a', 'b'], ownHosts({}, []))).toEqual([['a', 'b']])
})

test('whatever runs where, every machine gets its turn, no slice has two hosts of one program, and leaders are last', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  const roles = fc.subarray(['defender', 'controllers', 'sync'], { minLength: 1 })
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), roles), fc.subarray(names), (of, leaders) => {
      const hosts = leaders.filter((name) => of[name] !== undefined)
      const slices = slicesOf(names, ownHosts(of, hosts))
      expect(slices.flat().toSorted()).toEqual(names)
      for (const slice of slices) {
        const found = slice.flatMap((name) => of[name] ?? [])
        expect(found).toHaveLength(new Set(found).size)
      }
      const order = slices.flatMap((slice, n) => slice.map((name) => ({ n, isLeader: hosts.includes(name) })))
      const lastOther = Math.max(-1, ...order.filter((o) => !o.isLeader).map((o) => o.n))
      expect(order.filter((o) => o.isLeader && o.n <= lastOther)).toEqual([])
    }),
  )
})

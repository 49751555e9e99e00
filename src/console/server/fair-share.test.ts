import fc from 'fast-check'
import { expect, test } from 'vitest'
import { placeFor } from './fair-share.ts'

const BOUNDS = { all: 6, ofPerson: 4 }

/** `aab`: two of a, then one of b. */
const taken = (people: string) => [...people].map((person, item) => ({ item, person }))

test.each([
  ['', 'a', { kind: 'Free' }],
  ['aaabb', 'c', { kind: 'Free' }],
  ['baaaa', 'a', { kind: 'PersonIsFull', from: 1 }],
  ['baaaac', 'd', { kind: 'AllAreTaken', from: 1 }],
  // After the exchange each would have the other's share.
  ['aabbcc', 'a', { kind: 'AllAreTaken', from: 0 }],
  ['aabbcd', 'd', { kind: 'AllAreTaken', from: 5 }],
  ['abcdef', 'a', { kind: 'AllAreTaken', from: 0 }],
  ['abcdef', 'g', { kind: 'Refused' }],
])('with %s open, one more of %s', (open, person, place) => {
  expect(placeFor(taken(open), person, BOUNDS)).toEqual(place)
})

test('accounts of one namespace share when all places are taken, and each has places of its own before', () => {
  const account = (n: number): string => `system:serviceaccount:tenant:robot-${n}`
  const robots = Array.from({ length: 5 }, (_, n) => ({ item: n, person: account(n) }))
  const all = [...robots, { item: 5, person: 'ada' }]
  expect(placeFor(all, 'bob', BOUNDS)).toEqual({ kind: 'AllAreTaken', from: 0 })
  expect(placeFor(all, account(6), BOUNDS)).toEqual({ kind: 'AllAreTaken', from: 0 })
  expect(placeFor(all, 'system:serviceaccount:other:robot', BOUNDS)).toEqual({ kind: 'AllAreTaken', from: 0 })
  expect(placeFor(robots, account(0), BOUNDS)).toEqual({ kind: 'Free' })
})

test('whatever others open, a person who asks for one place has it while there are fewer people than places', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...'abcde'), { maxLength: 200 }), (asks) => {
      let open: { item: number; person: string }[] = []
      asks.forEach((person, item) => {
        const place = placeFor(open, person, BOUNDS)
        if (place.kind === 'Refused') return
        if (place.kind !== 'Free') open = open.filter((t) => t.item !== place.from)
        open.push({ item, person })
      })
      expect(open.length).toBeLessThanOrEqual(BOUNDS.all)
      for (const person of new Set(asks)) {
        const own = open.filter((t) => t.person === person).length
        expect(own).toBeGreaterThanOrEqual(1)
        expect(own).toBeLessThanOrEqual(BOUNDS.ofPerson)
      }
    }),
  )
})

// Picked machines in the address: what a link may bring, and what a pick adds and drops.
import { expect, test } from 'vitest'
import { hrefOf, parseRoute } from '../router.ts'
import { isFull, isPicked, picksIn, toggled } from './picked.ts'

const at = (picked: string) => parseRoute(`#/machines?picked=${encodeURIComponent(picked)}`)

test('a pick is in the address, a second one drops it, and a cluster may have any name', () => {
  const pick = { cluster: 'arn:aws:eks/eu,prod', name: 'n-1' }
  const one = toggled(parseRoute('#/machines'), pick)
  expect(picksIn(parseRoute(hrefOf(one)))).toEqual([pick])
  expect(isPicked(picksIn(one), pick)).toBe(true)
  expect(picksIn(toggled(one, pick))).toEqual([])
})

test.each(['', 'prod', 'prod/', '/n-1', 'prod/n-1/x', 'prod/%E0%A4%A', 'prod/-rf', 'prod/a b'])(
  'the pick %j of a link is left out',
  (text) => expect(picksIn(at(text))).toEqual([]),
)

test('a pick that a link repeats counts once, and a link brings at most fifty', () => {
  expect(picksIn(at('prod/n-1,prod/n-1,prod/n%2D1'))).toEqual([{ cluster: 'prod', name: 'n-1' }])
  const many = picksIn(at(Array.from({ length: 60 }, (_, i) => `prod/n-${i}`).join(',')))
  expect(many).toHaveLength(50)
  expect([isFull(many), isFull(many.slice(1))]).toEqual([true, false])
})

test('an address holds at most fifty picks', () => {
  const full = Array.from({ length: 60 }, (_, i) => `prod/n-${i}`).join(',')
  expect(picksIn(toggled(at(full), { cluster: 'prod', name: 'n-77' }))).toHaveLength(50)
})

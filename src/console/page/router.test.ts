import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hrefOf, parseRoute, to, withParams } from './router.ts'

test.each([
  ['', { view: 'home', params: {} }],
  ['#/', { view: 'home', params: {} }],
  ['#/unknown/x', { view: 'home', params: {} }],
  [
    '#/machines/prod?color=version&group=rack',
    { view: 'machines', cluster: 'prod', params: { color: 'version', group: 'rack' } },
  ],
  ['#/why/prod/Node/n%2F1', { view: 'why', cluster: 'prod', kind: 'Node', name: 'n/1', params: {} }],
  ['#/commits/--strategy=x', { view: 'commits', params: {} }],
  ['#/node/prod/n-1%0Acurl', { view: 'node', cluster: 'prod', params: {} }],
  ['#/node/prod/%E2%80%AEn', { view: 'node', cluster: 'prod', params: {} }],
  ['#/node/prod/%E0%A4%A', { view: 'node', cluster: 'prod', name: '%E0%A4%A', params: {} }],
])('the address %j is read', (hash, route) => expect(parseRoute(hash)).toEqual(route))

test('an address is read back as it was written, whatever names are in it', () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1 }).filter((text) => !text.startsWith('-')),
      fc.string({ minLength: 1 }).filter((text) => !text.startsWith('-')),
      fc.string({ minLength: 1 }),
      (cluster, name, only) => {
        const route = { view: 'node' as const, cluster, name, params: { only } }
        expect(parseRoute(hrefOf(route))).toEqual(route)
      },
    ),
  )
})

test('an empty parameter is left out, and a link to another view stays in the same moment', () => {
  const route = parseRoute('#/machines/prod?only=Lost&at=1700000000000')
  expect(hrefOf(withParams(route, { only: '' }))).toBe('#/machines/prod?at=1700000000000')
  expect(to(route, 'pipeline')).toBe('#/pipeline?at=1700000000000')
})

// Additional clusters of a fleet from init: any number per stage, and invalid input is refused.
import { expect, test } from 'vitest'
import { clustersIn } from '../../../template/fleet/clusters.ts'

test('several clusters of one stage, named as people name them', () => {
  const pool = { nodes: 3, provider: 'static' }
  expect(
    clustersIn({
      'eu-prod-7': { stage: 'prod', ...pool },
      'eu-prod-8': { stage: 'prod', ...pool },
      dev: { stage: 'test', ...pool },
    }),
  ).toEqual([
    { name: 'eu-prod-7', stage: 'prod', ...pool },
    { name: 'eu-prod-8', stage: 'prod', ...pool },
    { name: 'dev', stage: 'test', ...pool },
  ])
})

test.each<[string, unknown, RegExp]>([
  ['a number', 2, /^fleet\/clusters\.json: cluster x is 2; write \{ "stage": "test"/],
  ['no stage', { nodes: 1, provider: 'static' }, /cluster x has no stage; use one of test, prod, or add a stage/],
  [
    'an unknown stage',
    { stage: 'dev', nodes: 1, provider: 'static' },
    /has the unknown stage "dev"; use one of test, prod/,
  ],
  [
    'a misspelled field',
    { stage: 'test', node: 1, provider: 'static' },
    /the unknown field "node"; known are stage, nodes/,
  ],
  ['half a node', { stage: 'test', nodes: 0.5, provider: 'static' }, /has "nodes": 0.5; write a whole number/],
  ['no provider', { stage: 'test', nodes: 1 }, /has no provider; name one/],
])('%s is refused, with the file and the fix', (_, entry, why) => expect(() => clustersIn({ x: entry })).toThrow(why))

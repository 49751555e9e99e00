// Any number of clusters for each stage, named as people name them; what the files do not explain is refused with the file and the fix.
import { describe, expect, test } from 'vitest'
import { clustersIn } from './clusters.ts'

const NO_HOSTS = { clusters: [], made: 0 }

test('several clusters of one stage, registered or made, in the order of the stages', () => {
  const entries = {
    'eu-prod-8': { stage: 'prod', nodes: 2 },
    'eu-prod-7': { stage: 'prod', registered: true },
    staging: { stage: 'pre', nodes: 0 },
    'dev-anna': { stage: 'test', nodes: 1 },
  }
  const found = clustersIn(entries, { clusters: ['eu-prod-7'], made: 0 })
  expect(found.map((c) => `${c.stage}/${c.name} ${c.isRegistered} ${c.workers} ${c.hasHosts}`)).toEqual([
    'test/dev-anna false 1 false',
    'pre/staging false 0 false',
    'prod/eu-prod-7 true 0 true',
    'prod/eu-prod-8 false 2 false',
  ])
})

test('machines that this computer makes belong to the clusters that it makes', () => {
  const entries = { a: { stage: 'test', nodes: 0 }, b: { stage: 'prod', registered: true } }
  expect(clustersIn(entries, { clusters: [], made: 2 }).map((c) => c.madeHosts)).toEqual([2, 0])
})

describe('refused, with the file and what to write', () => {
  test.each<[string, Readonly<Record<string, unknown>>, RegExp]>([
    ['a number in place of an entry', { dev: 2 }, /clusters\.json: cluster dev is 2, .* write \{ "stage": "test"/],
    ['no stage', { dev: { nodes: 2 } }, /clusters\.json: cluster dev has no stage; use one of test, pre, prod/],
    [
      'an unknown stage',
      { dev: { stage: 'dev', nodes: 2 } },
      /unknown stage "dev"; use one of test, pre, prod, or add/,
    ],
    ['a misspelled field', { dev: { stage: 'test', node: 2 } }, /cluster dev has the unknown field "node"; known are/],
    ['no number of nodes', { dev: { stage: 'test' } }, /"nodes" of cluster dev is missing; use a whole number/],
    ['half a node', { dev: { stage: 'test', nodes: 1.5 } }, /"nodes" of cluster dev is 1.5/],
    ['nodes of a registered one', { dev: { stage: 'test', nodes: 1, registered: true } }, /is registered and has/],
    ['registered as text', { dev: { stage: 'test', registered: 'yes' } }, /"registered" of cluster dev is "yes"/],
  ])('%s', (_, entries, why) => expect(() => clustersIn(entries, NO_HOSTS)).toThrow(why))

  test('hosts of a cluster that the fleet does not have', () =>
    expect(() => clustersIn({ a: { stage: 'test', nodes: 1 } }, { clusters: ['eu-prod-7'], made: 0 })).toThrow(
      /hosts\.json: the fleet has no cluster eu-prod-7; correct the name, or add the cluster to fleet\/clusters\/clusters\.json/,
    ))
})

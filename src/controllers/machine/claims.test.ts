// What a set says about a machine when it goes to another revision than the one that it declares.
import { expect, test } from 'vitest'
import { componentSet, workingMachine } from '#test/support/rollout-fleet.ts'
import { type ControllerRevision, claimOf } from './claims.ts'

const machine = workingMachine('m-1', { versions: { beacon: '1.1.0' } })
const pinned: ControllerRevision = {
  apiVersion: 'apps/v1',
  kind: 'ControllerRevision',
  metadata: { name: 'base-old' },
  data: { components: [{ name: 'beacon', version: '1.0.0' }] },
}
const set = (observedGeneration: number, revisions: object) => ({
  ...componentSet({ beacon: '1.1.0', scribe: '2.0.0' }),
  status: { observedGeneration, revisions },
})
const known = (name: string) => (name === 'base-old' ? pinned : undefined)

test('a pinned set gives its machines what the revision says, and not what it declares', () => {
  const claim = claimOf(set(1, { update: 'base-old' }), machine, known)
  expect([claim?.isCurrent, claim?.components]).toEqual([true, [{ name: 'beacon', version: '1.0.0' }]])
})

test('a set whose revision is not here yet moves nothing', () => {
  expect(claimOf(set(1, { update: 'base-new' }), machine, known)?.isCurrent).toBe(false)
})

test('a set whose status is about another spec is not believed', () => {
  const claim = claimOf(set(0, { update: 'base-old' }), machine, known)
  expect([claim?.isCurrent, claim?.components.map((c) => c.version)]).toEqual([false, ['1.1.0', '2.0.0']])
})

test('what failed with an earlier revision and still binds is not offered', () => {
  const blocked = [{ revision: 'base-older', component: 'beacon', since: '', reason: '' }]
  expect(claimOf(set(1, { update: 'base-old', blocked }), machine, known)?.blocked).toEqual(['beacon'])
})

test('F21 a set whose revision is damaged moves nothing, and takes nothing from its machines', () => {
  const damaged = { ...pinned, data: { components: [{ name: 'beacon', version: '1.0.0' }, { name: 'scribe' }] } }
  const claim = claimOf(set(1, { update: 'base-old', current: 'base-old' }), machine, () => damaged)
  expect([claim?.isCurrent, claim?.lastGood]).toEqual([false, []])
  expect(claim?.components.map((c) => c.name)).toEqual(['beacon', 'scribe'])
})

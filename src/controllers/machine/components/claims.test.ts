// A set's claim on a machine when it goes to a different revision than its declared one.
import { expect, test } from 'vitest'
import { revisionNameOf } from '#api/protocol/set-revision.ts'
import { componentSet, workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import { type ControllerRevision, claimOf } from './claims.ts'

const machine = workingMachine('m-1', { versions: { beacon: '1.1.0' } })
const OLDER = [{ name: 'beacon', version: '1.0.0' }]
const OLD = revisionNameOf('base', OLDER)
const ownerOf = (kind: string) => ({ apiVersion: 'kubenode.io/v1alpha1', kind, name: 'base', uid: 'set-base' })
const pinned: ControllerRevision = {
  apiVersion: 'apps/v1',
  kind: 'ControllerRevision',
  metadata: { name: OLD, ownerReferences: [ownerOf('MachineComponentSet')] },
  revision: 1,
  data: { components: OLDER },
}
const set = (observedGeneration: number, revisions: object) => ({
  ...componentSet({ beacon: '1.1.0', scribe: '2.0.0' }),
  status: { observedGeneration, revisions },
})
const known = (name: string) => (name === OLD ? pinned : undefined)

test('a pinned set gives its machines what the revision says, and not what it declares', () => {
  const claim = claimOf(set(1, { update: OLD }), machine, known)
  expect([claim?.isCurrent, claim?.components]).toEqual([true, [{ name: 'beacon', version: '1.0.0' }]])
})

test('a set whose revision is not here yet moves nothing', () => {
  expect(claimOf(set(1, { update: 'base-new' }), machine, known)?.isCurrent).toBe(false)
})

test('a set whose status is about another spec is not believed', () => {
  const claim = claimOf(set(0, { update: OLD }), machine, known)
  expect([claim?.isCurrent, claim?.components.map((c) => c.version)]).toEqual([false, ['1.1.0', '2.0.0']])
})

test('what failed with an earlier revision and still binds is not offered', () => {
  const blocked = [{ revision: 'base-older', component: 'beacon', since: '', reason: '' }]
  expect(claimOf(set(1, { update: OLD, blocked }), machine, known)?.blocked).toEqual(['beacon'])
})

test('F21 a set whose revision is damaged moves nothing, and takes nothing from its machines', () => {
  const damaged = { ...pinned, data: { components: [{ name: 'beacon', version: '1.0.0' }, { name: 'scribe' }] } }
  const claim = claimOf(set(1, { update: OLD, current: OLD }), machine, () => damaged)
  expect([claim?.isCurrent, claim?.lastGood]).toEqual([false, []])
  expect(claim?.components.map((c) => c.name)).toEqual(['beacon', 'scribe'])
})

test.each<[string, Partial<ControllerRevision>]>([
  ['has other content than its name says', { data: { components: [{ name: 'beacon', version: '6.6.6' }] } }],
  ['is of another object', { metadata: { name: OLD, ownerReferences: [ownerOf('ConfigMap')] } }],
  ['has no owner', { metadata: { name: OLD } }],
])('S25 a planted record that %s moves nothing', (_, change) => {
  const claim = claimOf(set(1, { update: OLD, current: OLD }), machine, () => ({ ...pinned, ...change }))
  expect([claim?.isCurrent, claim?.lastGood]).toEqual([false, []])
})

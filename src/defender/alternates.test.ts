// Alternates of a permit: the Defender reports which of them it would deny individually, takes no slot for them, and keeps the result in the status.
import { describe, expect, test } from 'vitest'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import {
  START_MS,
  type SnapshotWish,
  aHold,
  aPermit,
  aPolicy,
  aSnapshot,
  machines,
  uidOf,
} from '#test/support/fleets/defender-objects.ts'
import { decide } from './plan.ts'
import { permitStatus } from './status.ts'

const NOW = { now: START_MS, leader: 'a' }
const NAMES = ['m-1', 'm-2', 'm-3'] as const

const asking = (names: readonly string[] = NAMES): OperationPermit => {
  const permit = aPermit({ name: 'a', targets: ['m-0'] })
  const alternates = names.map((name) => ({ kind: 'Machine' as const, name, uid: uidOf(name) }))
  return { ...permit, spec: { ...permit.spec, alternates } }
}

function decided(wish: SnapshotWish) {
  const { permits, ledger } = decide(aSnapshot({ machines: machines(4), permits: [asking()], ...wish }), undefined, NOW)
  const [one] = permits
  if (one === undefined) throw new Error('no permit was decided')
  const status = permitStatus(one, [], { now: START_MS, expiresAt: undefined })
  return { permit: { ...one.permit, status }, status, slots: ledger?.grants?.map((g) => g.name) ?? [] }
}

const protecting = (...names: readonly string[]) => ({
  policies: [aPolicy({ protect: names.map((name) => ({ name })) })],
})
const refusedOf = (wish: SnapshotWish) => decided(wish).status.refusedAlternates?.map((r) => `${r.target} ${r.gate}`)

describe('alternates of a permit', () => {
  test.each<readonly [string, SnapshotWish, readonly string[]]>([
    ['none is protected', {}, []],
    ['two are protected', protecting('m-1', 'm-3'), [`${uidOf('m-1')} Protect`, `${uidOf('m-3')} Protect`]],
    [
      'a hold lifts the protection',
      { ...protecting('m-1'), holds: [aHold('Unprotect', { kind: 'Machine', name: 'm-1' })] },
      [],
    ],
    ['a budget is used up: that is no refusal of a machine', { policies: [aPolicy({ healthFloor: '100%' })] }, []],
    ['an alternate does not exist', { permits: [asking(['m-9'])] }, []],
  ])('%s', (_, wish, refused) => expect(refusedOf(wish)).toEqual(refused))

  test('none of them takes a slot, and the target is decided as it would be without them', () => {
    const { status, slots } = decided({})
    expect(slots).toEqual(['m-0'])
    expect(status).toMatchObject({ phase: 'Granted', granted: 1, verdicts: [{ target: uidOf('m-0') }] })
  })

  test('a protected target is denied, and the status names the protected alternates with their policy', () => {
    const { status, slots } = decided(protecting('m-0', 'm-2'))
    expect(slots).toEqual([])
    expect(status).toMatchObject({
      phase: 'Denied',
      refusedAlternates: [{ target: uidOf('m-2'), verdict: 'Denied', policy: 'p', gate: 'Protect' }],
    })
  })

  test('what is not known yet says nothing about them', () => {
    expect(refusedOf({ ...protecting('m-1'), unknown: 'the cache of machines is not complete' })).toBeUndefined()
  })

  test('a permit without alternates has no such list', () => {
    expect(decided({ permits: [aPermit({ name: 'a', targets: ['m-0'] })] }).status).not.toHaveProperty(
      'refusedAlternates',
    )
  })

  test('later decisions keep what was read when the permit was decided', () => {
    const { permit } = decided(protecting('m-1'))
    const later = decided({ permits: [permit] })
    expect(later.status.refusedAlternates).toEqual(permit.status.refusedAlternates)
  })
})

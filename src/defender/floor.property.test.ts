// For any fleet and any requests: the grants never exceed the floor and the unavailable budget, and in a healthy fleet one always has room.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import { DISRUPTIONS } from '#api/kinds/operation-permit.ts'
import { takesAvailability } from '#api/protocol/operations.ts'
import { START_MS, aMachine, aPermit, aPolicy, aSnapshot, uidOf } from '#test/support/fleets/defender-objects.ts'
import { decide } from './plan.ts'

const OPTIONS = { now: START_MS, leader: 'a' }

const machine = fc.record({
  health: fc.constantFrom('well', 'well', 'well', 'well', 'down', 'unknown', 'coming', 'declared'),
})
type Health = 'well' | 'down' | 'unknown' | 'coming' | 'declared'

const OWNER = { apiVersion: 'kubenode.io/v1alpha1', kind: 'MachineSet', name: 'w', uid: 'w', controller: true }

function made(name: string, health: Health) {
  if (health === 'well') return aMachine({ name })
  if (health === 'down') return aMachine({ name, ready: 'False' })
  if (health === 'unknown') return aMachine({ name, ready: 'Unknown' })
  const isNew = aMachine({ name, phase: 'Provisioning', ready: 'False' })
  return health === 'declared' ? isNew : { ...isNew, metadata: { ...isNew.metadata, ownerReferences: [OWNER] } }
}

const floor = fc.oneof(
  fc.integer({ min: 0, max: 100 }).map((share): `${number}%` => `${share}%`),
  fc.integer({ min: 0, max: 12 }),
)

const story = fc.record({
  fleet: fc.array(machine, { minLength: 1, maxLength: 10 }),
  floor,
  operations: fc.array(fc.uniqueArray(fc.constantFrom(...DISRUPTIONS), { minLength: 1, maxLength: 2 }), {
    minLength: 1,
    maxLength: 3,
  }),
})

/** Requests every machine, one permit per operation, in two rounds, so that slots of an earlier decision count too. */
function grantedBy({ fleet, floor: healthFloor, operations }: typeof story extends fc.Arbitrary<infer S> ? S : never) {
  const machines = fleet.map(({ health }, n) => made(`m-${n}`, health))
  const policies = [aPolicy({ healthFloor })]
  const names = machines.map((m) => m.metadata.name ?? '')
  const permits = operations.map((of, n) => aPermit({ name: `p-${n}`, targets: names, operations: of }))
  let ledger: LedgerSpec | undefined
  for (const asked of [permits.slice(0, 1), permits])
    ledger = decide(aSnapshot({ machines, policies, permits: asked }), ledger, OPTIONS).ledger ?? ledger
  return ledger?.grants ?? []
}

test('grants never take more machines away than the floor leaves, and a percentage leaves the last room to one alone', () => {
  let taken = 0
  fc.assert(
    fc.property(story, (wish) => {
      const grants = grantedBy(wish)
      const count = (...those: readonly Health[]) => wish.fleet.filter((m) => those.includes(m.health)).length
      const total = count('well', 'down', 'unknown')
      const before = count('down', 'unknown')
      const isWell = ({ name }: { readonly name: string }) => wish.fleet[Number(name.slice(2))]?.health === 'well'
      const away = new Set(grants.filter((g) => takesAvailability(g.operations) && isWell(g)).map((g) => g.name))
      if (away.size === 0) return
      taken++
      const share = typeof wish.floor === 'number' ? undefined : Number(wish.floor.slice(0, -1))
      const needed = share === undefined ? Number(wish.floor) : Math.ceil((share * total) / 100)
      const left = total - before - away.size
      if (left >= needed) return
      expect(share, 'a number binds as it is written').toBeDefined()
      expect({ share100: share === 100, before, coming: count('coming'), away: away.size }).toEqual({
        share100: false,
        before: 0,
        coming: 0,
        away: 1,
      })
    }),
    { numRuns: 500 },
  )
  // Otherwise the property proves nothing.
  expect(taken).toBeGreaterThan(100)
})

test('where all machines are well, a percentage below 100 always has room for one, and of two requests exactly one gets the last room', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 0, max: 99 }), (n, share) => {
      const fleet = Array.from({ length: n }, () => ({ health: 'well' as const }))
      const grants = grantedBy({ fleet, floor: `${share}%`, operations: [['Reboot'], ['Drain']] })
      const room = Math.max(1, n - Math.ceil((share * n) / 100))
      expect(new Set(grants.map((g) => g.target)).size).toBe(room)
      expect(grants.some((g) => g.target === uidOf('m-0'))).toBe(true)
    }),
  )
})

test('what a machine serves through takes no room from others, whatever runs first', () => {
  const fleet = Array.from({ length: 3 }, () => ({ health: 'well' as const }))
  const of = (operations: readonly (readonly ['CleanDisk'] | readonly ['Reboot'])[]) =>
    grantedBy({ fleet, floor: '80%', operations: operations.map((o) => [...o]) }).map((g) => g.operations[0])
  const granted = Map.groupBy(of([['CleanDisk'], ['Reboot']]), (operation) => operation)
  expect([granted.get('CleanDisk')?.length, granted.get('Reboot')?.length, granted.size]).toEqual([3, 1, 2])
})

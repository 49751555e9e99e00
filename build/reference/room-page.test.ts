import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DISRUPTIONS } from '#api/kinds/operation-permit.ts'
import { takesAvailability } from '#api/protocol/operations.ts'
import { careful } from '../../rules/defender/careful.ts'
import { ROOM_PAGE, grantedAtOnce, policyOf, roomPage } from './room-page.ts'

const shipped = { name: 'careful', spec: careful }
const policy = policyOf(shipped)

test(`${ROOM_PAGE} is up to date; run npm run gen when it is not`, () => {
  const page = readFileSync(join(import.meta.dirname, '../..', ROOM_PAGE), 'utf8')
  expect(page).toBe(roomPage([shipped]))
})

const OF_MACHINES = DISRUPTIONS.filter((o) => !['ChangeControlPlane', 'DeleteControlPlane', 'MassPrune'].includes(o))

test.each(OF_MACHINES)('careful lets one machine after the other do %s in a fleet of any size', (operation) => {
  for (let size = 1; size <= 10; size++) {
    const granted = grantedAtOnce(policy, { operation }, { size, broken: 0 })
    // The rack of each machine, and the rate of twenty in ten minutes, leave room for all ten.
    expect(granted, `${operation} on ${size}`).toBe(takesAvailability([operation]) ? 1 : size)
  }
})

test.each(OF_MACHINES.filter((o) => takesAvailability([o])))(
  'careful lets no machine do %s while another one is down, in a fleet of any size',
  (operation) => {
    for (let size = 1; size <= 9; size++)
      expect(grantedAtOnce(policy, { operation }, { size, broken: 1 }), `${operation} on ${size}`).toBe(0)
  },
)

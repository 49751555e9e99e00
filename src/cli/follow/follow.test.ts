import { expect, test } from 'vitest'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { barLines } from './follow.ts'

const set = {
  metadata: { name: 'base' },
  status: { counts: { total: 4, updated: 2, failed: 1 } },
} as unknown as MachineComponentSet

test.each([
  [100, ['base [===============!!!!!!!!       ] 2/4']],
  [24, ['base [======!!!   ] 2/4']],
  [16, ['base [==! ] 2/4']],
  [12, ['base', '[===! ] 2/4']],
])('in a window of %i columns the bar is as long as it can be, and the counts stay', (columns, want) => {
  expect(barLines(set, columns)).toEqual(want)
})

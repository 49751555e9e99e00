import { expect, test } from 'vitest'
import { batchNumber, partOfPermit, sliceName, sliceNumber } from './part.ts'

const slice = { component: 'beacon', version: '1.1.0', step: 1, number: 0 }
const requester = { manager: 'm', kind: 'MachineComponentSet', name: 'base' }

test('a slice and its permits have one name, counted as people count', () => {
  expect(sliceName(slice)).toBe('beacon 1.1.0 step 2 slice 1')
  const component = { name: 'beacon', version: '1.1.0' }
  expect(partOfPermit({ component, requester: { ...requester, part: sliceNumber(slice) } })).toBe(
    `set/base ${sliceName(slice)}`,
  )
})

test('so does a component that leaves, also as earlier programs wrote it', () => {
  const { version: _, ...leaving } = slice
  expect([sliceName(leaving), sliceName({ ...leaving, version: '' })]).toEqual([
    'beacon leaves step 2 slice 1',
    'beacon leaves step 2 slice 1',
  ])
  expect(partOfPermit({ component: { name: 'beacon' }, requester: { ...requester, part: 'step 2 slice 1' } })).toBe(
    'set/base beacon leaves step 2 slice 1',
  )
})

test('a batch of a canary', () => {
  const part = { manager: 'm', kind: 'ComponentCanary', name: 'try', part: batchNumber(0) }
  expect(partOfPermit({ component: { name: 'beacon', version: '1.1.0' }, requester: part })).toBe(
    'canary/try beacon 1.1.0 batch 1',
  )
})

test.each([
  ['of an earlier program', { component: { name: 'beacon' }, requester }],
  ['for no component', { requester: { ...requester, part: 'step 2 slice 1' } }],
  ['that nothing is known of', {}],
])('a permit %s has none', (_, spec) => expect(partOfPermit(spec)).toBeUndefined())

import { expect, test } from 'vitest'
import type { Transition } from '#history/ask/reader.ts'
import { atOnce } from '#lib/steps.ts'
import { momentsOf } from './moments.ts'

const subject = { id: 1, kind: 'MachineComponentSet', name: 'base' } as unknown as Transition['subject']

const row = (topic: string, value: object): Transition => ({
  observed: 1,
  reported: undefined,
  subject,
  topic,
  value: JSON.stringify(value),
})

test('a slice has the name that why and permits give it', () => {
  const slice = { component: 'beacon', version: '1.1.0', step: 1, number: 0, phase: 'Switching', machines: ['m-1'] }
  const { version: _, ...leaving } = slice
  const rows = [row('status/slices/beacon,1,0', slice), row('status/slices/beacon,1,1', leaving)]
  expect(atOnce(momentsOf(rows)).map(({ text }) => text)).toEqual([
    'beacon 1.1.0 step 2 slice 1 Switching (1 machine)',
    'beacon leaves step 2 slice 1 Switching (1 machine)',
  ])
})

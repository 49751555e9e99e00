// Which changes of a machine affect its token.
import { expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { isSettled } from './needs-token.ts'

const machine = (phase: string, metadata: object = {}): Machine =>
  ({
    metadata: { name: 'm', uid: 'u', ...metadata },
    spec: { channel: 'Agent', provider: { name: 'process' } },
    status: { phase },
  }) as unknown as Machine

test.each<[string, Machine | undefined, Machine | undefined, boolean]>([
  ['a report of a machine that joins', machine('Pending'), machine('Joining'), true],
  ['a machine without a token', undefined, machine('Pending'), false],
  ['its agent has reported: the token ends', machine('Joining'), machine('Registering'), false],
  ['another machine of the same name', machine('Pending'), machine('Pending', { uid: 'v' }), false],
  ['a machine that is being deleted', machine('Pending'), machine('Pending', { deletionTimestamp: 'now' }), false],
  ['a deleted machine', machine('Pending'), undefined, false],
  [
    'the first key on record',
    machine('Joining'),
    machine('Joining', { annotations: { [ANNOTATIONS.agentKey]: '{}' } }),
    false,
  ],
  ['a readmission', machine('Failed'), machine('Failed', { annotations: { [ANNOTATIONS.readmit]: '{}' } }), false],
])('%s', (_, madeFor, now, isExpected) => {
  expect(isSettled(madeFor, now, 0)).toBe(isExpected)
})

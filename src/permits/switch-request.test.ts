import type { Machine } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { partOfPermit, partOfSlice } from '#api/protocol/part.ts'
import { expect, test } from 'vitest'
import type { PermitRequest } from './permits.ts'
import { switchRequest } from './switch-request.ts'

const parent = { kind: 'MachineComponentSet', metadata: { name: 'base', uid: 'uid-base' } }
const slice = {
  component: 'beacon',
  version: '1.1.0',
  config: 'beacon-1',
  step: 0,
  number: 2,
  machines: ['m-1', 'm-2'],
}
const machines = slice.machines.map((name) => ({ metadata: { name, uid: `uid-${name}` } })) as unknown as Machine[]
const asking = { manager: FIELD_MANAGERS.componentSet, parent, machines, disruption: undefined, reason: 'why' } as const

test.each([
  ['a version with its configuration', slice],
  ['the end of a component', { component: 'beacon', step: 0, number: 2, machines: slice.machines }],
])('the decision is read back from the permit: %s', (_, decided) => {
  const part = partOfSlice({ kind: parent.kind, name: 'base' }, decided)
  expect(partOfPermit(switchRequest(part, asking) as Parameters<typeof partOfPermit>[0])).toEqual(part)
})

test.each<[string | undefined, PermitRequest['operations']]>([
  [undefined, ['SwitchComponent']],
  ['Restart', ['SwitchComponent']],
  ['Drain', ['SwitchComponent', 'Drain']],
  ['Reboot', ['SwitchComponent', 'Drain', 'Reboot']],
])('disruption %s asks for %j', (disruption, operations) => {
  const request = switchRequest({ part: 'batch 1' }, { ...asking, disruption: disruption as 'Drain' })
  expect(request.operations).toEqual(operations)
})

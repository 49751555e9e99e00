import { describe, expect, test } from 'vitest'
import { freezeTarget } from '../commands/repair/freeze-hold.ts'
import { placesOf } from '#nodes/faults/planned.ts'
import { heldTarget } from '../commands/rollout/holds.ts'
import { askHold } from '../commands/repair/ask.ts'
import { kindOf, nameOfKind, namesOfKind } from './name-word.ts'

describe('a name is taken as get -o name prints it', () => {
  test.each([
    ['base'],
    ['set/base'],
    ['sets/base'],
    ['machinecomponentset/base'],
    ['machinecomponentsets/base'],
    ['machinecomponentset.kubenode.io/base'],
    ['machinecomponentsets.kubenode.io/base'],
  ])('by a command for one kind: %s', (word) => {
    expect(nameOfKind('set')(word)).toBe('base')
  })

  test.each([
    ['machine/base', 'Name a set: set/NAME, or NAME alone.'],
    ['set/', 'KN1325'],
    ['set/a/b', 'KN1325'],
    ['/base', 'KN1310'],
    ['toString/base', 'KN1310'],
    ['pods/base', 'KN1310'],
  ])('not %s', (word, why) => {
    expect(() => nameOfKind('set')(word)).toThrow(why)
  })

  test('of several kinds, and several times', () => {
    expect(nameOfKind('node', 'machine')('machine.kubenode.io/w-1')).toBe('w-1')
    expect(nameOfKind('node', 'machine')('node/w-1')).toBe('w-1')
    expect(
      ['w-1', 'machine/w-2'].reduce((all, word) => namesOfKind('machine')(word, all), [] as readonly string[]),
    ).toEqual(['w-1', 'w-2'])
  })

  test('by the commands that hold, freeze, repair and plan', () => {
    expect(heldTarget('release.kubenode.io/fleet-1')).toEqual({
      kind: 'Release',
      namespace: 'kubenode-system',
      name: 'fleet-1',
    })
    expect(heldTarget('rule/disk')).toEqual({ kind: 'NodeRemedier', name: 'disk' })
    expect(freezeTarget('machines.kubenode.io/w-1')).toEqual({ kind: 'Machine', name: 'w-1' })
    expect(placesOf(['machine.kubenode.io/w-1'], kindOf)).toEqual([{ kind: 'machine', name: 'w-1' }])
    const request = { reason: 'r', for: '1h', author: 'a' }
    expect(askHold({ ...request, verb: 'repair', what: 'nodes/w-1' }, 0)).toMatchObject({
      metadata: { name: 'repair-node-w-1-0' },
      spec: { target: { kind: 'Node', name: 'w-1' } },
    })
    expect(kindOf('gadget')).toBeUndefined()
  })
})

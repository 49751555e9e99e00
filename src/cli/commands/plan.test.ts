import { expect, test } from 'vitest'
import type { ClusterDifference } from '#sync/difference.ts'
import { textOf } from './plan.ts'

const difference: ClusterDifference = {
  cluster: 'prod',
  added: 1,
  changed: 0,
  removed: 2,
  unchanged: 7,
  changes: [],
  problems: [],
  machines: {
    deleted: 6,
    sets: [
      { set: 'a\u001b[2J', of: 24, deleted: 4, kept: 20 },
      { set: 'b', of: 3, deleted: 1, kept: 0 },
    ],
    single: ['m-1'],
  },
}

test('how many machines a commit deletes is said last, and in red on a terminal', () => {
  expect(textOf('c0ffee', undefined, [difference], false)).toBe(
    [
      'plan of c0ffee',
      '',
      'prod: 1 to add, 0 to change, 2 to remove, 7 unchanged',
      '    another set takes over 20 machines of MachineSet a\ufffd[2J',
      '  ! deletes 6 machines: MachineSet a\ufffd[2J (4 of 24); MachineSet b (1 of 3); m-1',
      '',
    ].join('\n'),
  )
  const lines = textOf('c0ffee', undefined, [difference], true).split('\n')
  expect(lines.at(-2)).toBe(
    '\u001b[31m  ! deletes 6 machines: MachineSet a\ufffd[2J (4 of 24); MachineSet b (1 of 3); m-1\u001b[39m',
  )
})

test('S25 an object that a cluster may refuse is marked in the plan', () => {
  const object = 'DaemonSet.apps/shop/a'
  const ref = { group: 'apps', kind: 'DaemonSet', namespace: 'shop', name: 'a' }
  const one: ClusterDifference = {
    ...difference,
    machines: { deleted: 0, sets: [], single: [] },
    changes: [{ change: 'added', ref, object, fields: [], more: 0 }],
  }
  const plain = { ...one, cluster: 'test' }
  const marked = { ...one, changes: one.changes.map((c) => ({ ...c, isListedOnly: true as const })) }
  const text = textOf('c0ffee', undefined, [marked, plain], false)
  expect(text).toContain('  ! DaemonSet.apps/shop/a (added; KN3094: refused unless the cluster lists it)\n')
  expect(text).toContain('  + DaemonSet.apps/shop/a\n')
})

test('nothing is said where no machine is deleted', () => {
  const quiet = { ...difference, machines: { deleted: 0, sets: [], single: [] } }
  expect(textOf('c0ffee', undefined, [quiet], true)).not.toContain('machine')
})

test('S33 keys, values and problems of a commit add no line of their own and no command of a CI runner', () => {
  const forged: ClusterDifference = {
    ...difference,
    machines: { deleted: 0, sets: [], single: [] },
    problems: ['x: bad\n::error::forged'],
    changes: [
      {
        change: 'changed',
        ref: { group: '', kind: 'ConfigMap', namespace: 'default', name: 'a' },
        object: 'ConfigMap/default/a',
        fields: [{ path: 'data.a\n  - MachineSet/workers', before: '##[add-path]', after: '\u2028::error::\u202e' }],
        more: 0,
      },
    ],
  }
  const text = textOf('c0ffee', undefined, [forged], false)
  expect(text.split('\n')).toHaveLength(7)
  expect(text).not.toMatch(/^\s*::|##\[|[\u2028\u202e]/m)
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { MachineComponentInput } from './kinds/machine-component.ts'
import { formatProblem } from './problem.ts'
import { installOrder, requirementProblems } from './requires.ts'

type Spec = MachineComponentInput['spec']

const version = (component: string, v: string, ...requires: readonly (readonly [string, string])[]): Spec => ({
  component,
  version: v,
  requires: requires.map(([name, range]) => ({ component: name, range })),
})

describe('what components require of each other', () => {
  test.each([
    ['nothing', [version('a', '1.0.0')], []],
    ['what is there in range', [version('a', '1.0.0', ['b', '^2']), version('b', '2.3.0')], []],
    [
      'what is missing',
      [version('a', '1.0.0', ['b', '^2'])],
      ['KN5007: /0/spec/requires/0: needs b ^2, which is not in the list'],
    ],
    [
      'another version',
      [version('a', '1.0.0', ['b', '^2']), version('b', '3.0.0')],
      ['KN5007: /0/spec/requires/0: needs a different version of b; got 3.0.0; allowed: ^2'],
    ],
    [
      'a version that cannot be compared',
      [version('a', '1.0.0', ['b', '^2']), version('b', '2:x')],
      ['KN5007: /0/spec/requires/0: needs a different version of b; got 2:x; allowed: ^2'],
    ],
    [
      'themselves, in a circle',
      [version('x', '1.0.0', ['a', '*']), version('a', '1.0.0', ['b', '*']), version('b', '1.0.0', ['a', '*'])],
      ['KN5007: /1/spec/requires: is circular: a → b → a'],
    ],
  ] as const)('%s', (_, specs, lines) => expect(requirementProblems(specs).map(formatProblem)).toEqual(lines))
})

test('whatever is required is installed first, and a circle has no order', () => {
  const names = ['a', 'b', 'c', 'd', 'e']
  const edges = fc.array(fc.tuple(fc.constantFrom(...names), fc.constantFrom(...names)), { maxLength: 8 })
  fc.assert(
    fc.property(edges, (pairs) => {
      const specs = names.map((n) =>
        version(n, '1.0.0', ...pairs.flatMap(([from, to]) => (from === n ? [[to, '*'] as const] : []))),
      )
      const order = installOrder(specs)
      const circle = requirementProblems(specs).some((p) => p.message.startsWith('is circular'))
      expect(order === undefined).toBe(circle)
      if (order === undefined) return
      expect(order.toSorted()).toEqual(names)
      for (const [from, to] of pairs) expect(order.indexOf(to)).toBeLessThan(order.indexOf(from))
    }),
  )
})

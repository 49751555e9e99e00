import { describe, expect, it } from 'vitest'
import { compileRule } from './compile-rule.ts'
import * as api from '#api/rule-tree.ts'
import { MAX_RULE_BYTES, MAX_RULE_DEPTH, MAX_RULE_LEAVES } from './limits.ts'
import { nodeVocabulary } from './node-vocabulary.ts'
import { describeProblem } from './problem.ts'

const vocabulary = nodeVocabulary({ conditionTypes: ['Ready', 'KernelDeadlock', 'DiskPressure'] })
const status = { fact: 'conditions', path: '/KernelDeadlock/status' }
const leaf = { ...status, operator: 'equal', value: 'True' }
const peers = { fact: 'peers', path: '/rack/KernelDeadlock' }

const problemsOf = (definition: unknown) => {
  const result = compileRule('r', definition, vocabulary)
  return result.ok ? [] : result.problems.map(({ code, pointer, didYouMean }) => ({ code, pointer, didYouMean }))
}

const nested = (depth: number): unknown => (depth === 0 ? leaf : { all: [nested(depth - 1)] })

describe('a rule that could be silently false is refused', () => {
  const cases: readonly (readonly [string, unknown, readonly [string, string, string?]])[] = [
    ['no group at the top', leaf, ['KN4001', '']],
    ['a list', [leaf], ['KN4001', '']],
    ['a text', 'all', ['KN4001', '']],
    ['nothing', undefined, ['KN4001', '']],
    ['a function inside', { all: [{ ...leaf, value: () => 1 }] }, ['KN4001', '/all/0/value']],
    ['a date inside', { all: [{ ...leaf, value: new Date(0) }] }, ['KN4001', '/all/0/value']],
    ['not a number', { all: [{ ...leaf, value: Number.NaN }] }, ['KN4001', '/all/0/value']],
    ['too many bytes', { all: [{ ...leaf, value: 'x'.repeat(MAX_RULE_BYTES) }] }, ['KN4002', '']],
    ['too deep', nested(17), ['KN4002', '/all/0'.repeat(17)]],
    ['far too deep', nested(5_000), ['KN4002', '/all/0'.repeat(18) + '/all']],
    ['too many leaves', { all: Array.from({ length: MAX_RULE_LEAVES + 1 }, () => leaf) }, ['KN4002', '']],
    ['an unknown field of a leaf', { all: [{ ...leaf, vlaue: 1 }] }, ['KN4005', '/all/0/vlaue', 'value']],
    ['an unknown field of a group', { all: [leaf], event: {} }, ['KN4005', '/event']],
    ['a named condition', { all: [{ condition: 'x' }] }, ['KN4005', '/all/0/condition']],
    ['an unknown fact', { all: [{ ...leaf, fact: 'condition' }] }, ['KN4005', '/all/0/fact', 'conditions']],
    ['a fact of every object', { all: [{ ...leaf, fact: 'constructor' }] }, ['KN4005', '/all/0/fact']],
    [
      'the prototype as fact',
      JSON.parse('{"all":[{"fact":"__proto__","operator":"exists"}]}'),
      ['KN4005', '/all/0/fact'],
    ],
    [
      'an unknown path',
      { all: [{ ...leaf, path: '/KernelDeadlock/state' }] },
      ['KN4005', '/all/0/path', '/KernelDeadlock/status'],
    ],
    [
      'an unknown condition type',
      { all: [{ ...leaf, path: '/KernelDedlock/status' }] },
      ['KN4005', '/all/0/path', '/KernelDeadlock/status'],
    ],
    ['the prototype as path', { all: [{ ...leaf, path: '/__proto__/status' }] }, ['KN4005', '/all/0/path']],
    ['a field of every object as path', { all: [{ ...leaf, path: '/Ready/constructor' }] }, ['KN4005', '/all/0/path']],
    ['a path into a text', { all: [{ ...leaf, path: '/Ready/status/x' }] }, ['KN4005', '/all/0/path']],
    ['a JSONPath', { all: [{ ...leaf, path: '$.Ready.status' }] }, ['KN4001', '/all/0/path', '/Ready/status']],
    ['a JSONPath filter', { all: [{ ...leaf, path: '$..[?(@.status)]' }] }, ['KN4001', '/all/0/path']],
    ['a pointer with a bad escape', { all: [{ ...leaf, path: '/a~2b' }] }, ['KN4001', '/all/0/path']],
    ['a path that is no text', { all: [{ ...leaf, path: 3 }] }, ['KN4001', '/all/0/path']],
    ['a path of many segments', { all: [{ ...leaf, path: '/a'.repeat(9) }] }, ['KN4001', '/all/0/path']],
    ['an unknown operator', { all: [{ ...leaf, operator: 'equals' }] }, ['KN4005', '/all/0/operator', 'equal']],
    ['an operator by its sign', { all: [{ ...leaf, operator: '!=' }] }, ['KN4005', '/all/0/operator', 'notEqual']],
    ['an unknown decorator', { all: [{ ...leaf, operator: 'swap:equal' }] }, ['KN4005', '/all/0/operator']],
    ['too many decorators', { all: [{ ...leaf, operator: 'not:not:not:not:equal' }] }, ['KN4005', '/all/0/operator']],
    ['an operator that is no text', { all: [{ ...leaf, operator: null }] }, ['KN4005', '/all/0/operator']],
    ['an operator of every object', { all: [{ ...leaf, operator: 'toString' }] }, ['KN4005', '/all/0/operator']],
    ['an ordering of texts', { all: [{ ...leaf, operator: 'lessThan', value: 1 }] }, ['KN4005', '/all/0/operator']],
    [
      'equality of objects',
      { all: [{ fact: 'conditions', operator: 'equal', value: {} }] },
      ['KN4005', '/all/0/operator'],
    ],
    ['someFact over no list', { all: [{ ...leaf, operator: 'someFact:equal' }] }, ['KN4005', '/all/0/operator']],
    ['a value of the wrong type', { all: [{ ...leaf, value: true }] }, ['KN4001', '/all/0/value']],
    ['no value', { all: [{ ...status, operator: 'equal' }] }, ['KN4001', '/all/0/value']],
    ['null as value', { all: [{ ...leaf, value: null }] }, ['KN4001', '/all/0/value']],
    ['a list where a text belongs', { all: [{ ...leaf, value: ['True'] }] }, ['KN4001', '/all/0/value']],
    ['a text where a list belongs', { all: [{ ...leaf, operator: 'in' }] }, ['KN4001', '/all/0/value']],
    [
      'a second fact of another type',
      { all: [{ ...leaf, value: { fact: 'unschedulable' } }] },
      ['KN4001', '/all/0/value'],
    ],
    [
      'a second fact for a regex',
      { all: [{ ...leaf, operator: 'matches', value: { fact: 'name' } }] },
      ['KN4001', '/all/0/value'],
    ],
    ['an unknown second fact', { all: [{ ...leaf, value: { fact: 'nam' } }] }, ['KN4005', '/all/0/value/fact', 'name']],
    ['a value that is never seen', { all: [{ ...leaf, value: 'true' }] }, ['KN4001', '/all/0/value', 'True']],
    ['an empty list', { all: [{ ...leaf, operator: 'in', value: [] }] }, ['KN4001', '/all/0/value']],
    ['a back reference', { all: [{ fact: 'name', operator: 'matches', value: '(a)\\1' }] }, ['KN4001', '/all/0/value']],
    [
      'an endless regex',
      { all: [{ fact: 'name', operator: 'matches', value: 'a'.repeat(600) }] },
      ['KN4001', '/all/0/value'],
    ],
    [
      'a bad duration',
      { all: [{ fact: 'createdAt', operator: 'heldFor', value: '5 min' }] },
      ['KN4001', '/all/0/value'],
    ],
    ['a bad time', { all: [{ fact: 'now', operator: 'after', value: 'yesterday' }] }, ['KN4001', '/all/0/value']],
    [
      'a bad version',
      { all: [{ fact: 'versions', path: '/kernel', operator: 'semverLess', value: 'new' }] },
      ['KN4001', '/all/0/value'],
    ],
    [
      'a bad range',
      { all: [{ fact: 'versions', path: '/kernel', operator: 'semverSatisfies', value: '=>5' }] },
      ['KN4001', '/all/0/value'],
    ],
    ['a ratio over one', { all: [{ ...peers, operator: 'ratioAtLeast', value: 25 }] }, ['KN4001', '/all/0/value']],
    ['a broken count', { all: [{ ...peers, operator: 'countAtLeast', value: 2.5 }] }, ['KN4001', '/all/0/value']],
    ['exists with a value', { all: [{ fact: 'name', operator: 'exists', value: 'x' }] }, ['KN4001', '/all/0/value']],
    [
      'for where nothing says since when',
      { all: [{ fact: 'name', operator: 'equal', value: 'x', for: '5m' }] },
      ['KN4001', '/all/0/for'],
    ],
    ['a bad for', { all: [{ ...leaf, for: 'long' }] }, ['KN4001', '/all/0/for']],
    ['an empty all', { all: [] }, ['KN4001', '/all']],
    ['an empty any inside', { all: [{ any: [] }] }, ['KN4001', '/all/0/any']],
    ['all and any side by side', { all: [leaf], any: [leaf] }, ['KN4001', '']],
    ['not of a list', { not: [leaf] }, ['KN4001', '/not']],
    ['a condition that is null', { all: [null] }, ['KN4001', '/all/0']],
  ]
  it.each(cases)('%s', (_name, definition, [code, pointer, didYouMean]) => {
    expect(problemsOf(definition)).toEqual([{ code, pointer, didYouMean }])
  })

  it('lists all problems, not the first one', () => {
    const definition = { any: [{ ...leaf, fact: 'x' }, { not: { ...leaf, path: '/x' } }, { ...leaf, operator: '?' }] }
    expect(problemsOf(definition).map((p) => p.pointer)).toEqual(['/any/0/fact', '/any/1/not/path', '/any/2/operator'])
  })

  it('says it in a sentence with number, place and what was meant', () => {
    const result = compileRule('r', { all: [{ ...leaf, path: '/KernelDeadlock/sttus' }] }, vocabulary)
    expect(result.ok ? [] : result.problems.map(describeProblem)).toEqual([
      'KN4005: at /all/0/path: there is no "sttus" in conditions/KernelDeadlock; ' +
        'did you mean /KernelDeadlock/status? There are status, reason, message, lastTransitionTime, lastHeartbeatTime',
    ])
  })

  it('says what was meant before it lists what there is, which a status cuts off', () => {
    const said = (operator: string) => {
      const result = compileRule('r', { all: [{ ...leaf, operator }] }, vocabulary)
      return result.ok ? '' : result.problems.map(describeProblem).join()
    }
    expect(said('equals')).toMatch(
      /^KN4005: at \/all\/0\/operator: unknown operator "equals"; did you mean equal\? There are /,
    )
    expect(said('zzzzzz')).toMatch(/unknown operator "zzzzzz"; there are equal, /)
  })

  it('shared references cannot blow up', () => {
    let bomb: unknown = leaf
    for (let i = 0; i < 12; i++) bomb = { all: Array.from({ length: 30 }, () => bomb) }
    expect(problemsOf(bomb).map((p) => p.code)).toEqual(['KN4002'])
  })
})

describe('a rule that is well formed compiles', () => {
  const cases: readonly (readonly [string, unknown, number])[] = [
    ['one leaf', { all: [leaf] }, 1],
    ['a leaf that must hold', { all: [{ ...leaf, for: '5m' }] }, 2],
    ['not at the top', { not: leaf }, 1],
    ['sixteen levels', nested(16), 1],
    ['names on groups and leaves', { all: [{ ...leaf, name: 'x' }], name: 'y' }, 1],
    [
      'a second fact',
      {
        all: [
          { fact: 'versions', path: '/kubelet', operator: 'semverLess', value: { fact: 'versions', path: '/kernel' } },
        ],
      },
      1,
    ],
    [
      'a label with a slash',
      { all: [{ fact: 'labels', path: '/topology.kubernetes.io~1zone', operator: 'equal', value: 'a' }] },
      1,
    ],
    ['a label named constructor', { all: [{ fact: 'labels', path: '/constructor', operator: 'exists' }] }, 1],
  ]
  it.each(cases)('%s', (_name, definition, leafCount) => {
    const result = compileRule('r', definition, vocabulary)
    expect(result).toMatchObject({ ok: true, rule: { leafCount } })
  })

  it('as large as the API takes it', () => {
    expect([MAX_RULE_BYTES, MAX_RULE_DEPTH, MAX_RULE_LEAVES]).toEqual([
      api.MAX_RULE_BYTES,
      api.MAX_RULE_DEPTH,
      api.MAX_RULE_LEAVES,
    ])
    const definition = { all: Array.from({ length: MAX_RULE_LEAVES }, () => ({ ...leaf, for: '1m' })) }
    expect([problemsOf(definition), api.ruleTreeFindings(definition)]).toEqual([[], []])
  })

  it('and no longer changes with what it was made from', () => {
    const definition = { all: [{ ...leaf }] }
    const result = compileRule('r', definition, vocabulary)
    definition.all[0]!.value = 'False'
    expect(result.ok && result.rule.definition).toEqual({ all: [leaf] })
  })
})

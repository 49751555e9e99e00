import { describe, expect, it } from 'vitest'
import { compileRule } from './compile-rule.ts'
import { evaluate } from './evaluate.ts'
import { renderExplanation } from './explanation.ts'
import { nodeVocabulary } from './node-vocabulary.ts'
import { createRuleset } from './ruleset.ts'
import type { Facts } from './reading.ts'
import type { Verdict } from './verdict.ts'
import { describeProblem } from './problem.ts'

const NOW = Date.parse('2026-05-01T12:00:00Z')
const ago = (seconds: number) => new Date(NOW - seconds * 1_000).toISOString()

const rule = (name: string, definition: unknown) => {
  const result = compileRule(name, definition, nodeVocabulary())
  if (!result.ok) throw new Error(result.problems.map(describeProblem).join('\n'))
  return result.rule
}

/** The verdict, compared with the events that the engine fired. */
async function verdictOn(definition: unknown, facts: Facts, now = NOW): Promise<Verdict | undefined> {
  const evaluation = await evaluate(createRuleset([rule('r', definition)]), facts, now)
  const verdict = evaluation.verdict('r')
  expect(evaluation.fired).toEqual(verdict === 'true' ? ['r'] : [])
  return verdict
}

const deadlock = { fact: 'conditions', path: '/KernelDeadlock/status', operator: 'equal', value: 'True' }
const conditions = (status: unknown, lastTransitionTime: unknown = ago(600)) => ({
  conditions: { KernelDeadlock: { status, lastTransitionTime } },
})

describe('what is not known never makes a rule true', () => {
  const cases: readonly (readonly [string, unknown, Facts, Verdict])[] = [
    ['a leaf over a fact that is not there', { all: [deadlock] }, {}, 'unknown'],
    ['not of it', { not: deadlock }, {}, 'unknown'],
    ['not of not of it', { not: { not: deadlock } }, {}, 'unknown'],
    ['notEqual of it', { all: [{ ...deadlock, operator: 'notEqual' }] }, {}, 'unknown'],
    ['the not: decorator over it', { all: [{ ...deadlock, operator: 'not:equal' }] }, {}, 'unknown'],
    [
      'not of all of it and something true',
      { not: { all: [deadlock, { fact: 'name', operator: 'exists' }] } },
      { name: 'n' },
      'unknown',
    ],
    [
      'not of all of it and something false',
      { not: { all: [deadlock, { fact: 'name', operator: 'absent' }] } },
      { name: 'n' },
      'true',
    ],
    ['any of it and something true', { any: [deadlock, { fact: 'name', operator: 'exists' }] }, { name: 'n' }, 'true'],
    ['a path that is missing', { not: deadlock }, { conditions: {} }, 'unknown'],
    ['a path that is null', { not: deadlock }, conditions(null), 'unknown'],
    ['a value of another type', { not: deadlock }, conditions(1), 'unknown'],
    ['a fact of another shape', { not: deadlock }, { conditions: 'True' }, 'unknown'],
    ['a fact that is a list', { not: deadlock }, { conditions: [{ status: 'False' }] }, 'unknown'],
    [
      'a path that only the prototype has',
      { all: [{ fact: 'labels', path: '/toString', operator: 'exists' }] },
      { labels: {} },
      'false',
    ],
    [
      'a value that only the prototype of a fact has',
      { all: [{ fact: 'labels', path: '/a', operator: 'equal', value: 'x' }] },
      { labels: Object.create({ a: 'x' }) as unknown },
      'unknown',
    ],
    [
      'a whole fact that only the prototype has',
      { all: [{ fact: 'name', operator: 'equal', value: 'x' }] },
      Object.create({ name: 'x' }) as Facts,
      'unknown',
    ],
    [
      'a fact that only the prototype has',
      { all: [{ fact: 'name', operator: 'exists' }] },
      Object.create({ name: 'x' }),
      'unknown',
    ],
  ]
  it.each(cases)('%s', async (_name, definition, facts, verdict) => {
    expect(await verdictOn(definition, facts)).toBe(verdict)
  })
})

const tally = (count: number, total: number, unknown = 0) => ({ peers: { rack: { X: { count, total, unknown } } } })
const onPeers = { fact: 'peers', path: '/rack/X' }
const kernel = (v: unknown) => ({ versions: { kernel: v } })

describe('an operator', () => {
  const cases: readonly (readonly [string, object, Facts, Verdict])[] = [
    ['equal: the same', { ...deadlock }, conditions('True'), 'true'],
    ['equal: another', { ...deadlock }, conditions('False'), 'false'],
    ['notEqual: another', { ...deadlock, operator: 'notEqual' }, conditions('False'), 'true'],
    ['equal: a boolean', { fact: 'unschedulable', operator: 'equal', value: true }, { unschedulable: true }, 'true'],
    [
      'equal: a boolean as text',
      { fact: 'unschedulable', operator: 'equal', value: true },
      { unschedulable: 'true' },
      'unknown',
    ],
    ['in: one of them', { ...deadlock, operator: 'in', value: ['True', 'Unknown'] }, conditions('Unknown'), 'true'],
    ['in: none of them', { ...deadlock, operator: 'in', value: ['True', 'Unknown'] }, conditions('False'), 'false'],
    [
      'notIn: none of them',
      { ...deadlock, operator: 'notIn', value: ['True', 'Unknown'] },
      conditions('False'),
      'true',
    ],
    ['equal: a status that its reporter does not know', { ...deadlock }, conditions('Unknown'), 'unknown'],
    ['notEqual: the same', { ...deadlock, operator: 'notEqual' }, conditions('Unknown'), 'unknown'],
    ['notIn: the same', { ...deadlock, operator: 'notIn', value: ['True'] }, conditions('Unknown'), 'unknown'],
    ['equal: the word for it', { ...deadlock, value: 'Unknown' }, conditions('Unknown'), 'true'],
    [
      'matches: a pattern that names it',
      { ...deadlock, operator: 'matches', value: '^(True|Unknown)$' },
      conditions('Unknown'),
      'true',
    ],
    [
      'equal: two statuses, one not known',
      { ...deadlock, value: { fact: 'machine', path: '/agentReachable' } },
      { ...conditions('True'), machine: { agentReachable: 'Unknown' } },
      'unknown',
    ],
    [
      'exists: a status that is not known is there',
      { fact: 'conditions', path: '/KernelDeadlock/status', operator: 'exists' },
      conditions('Unknown'),
      'true',
    ],
    ['contains', { fact: 'taints', operator: 'contains', value: 'a' }, { taints: ['a', 'b'] }, 'true'],
    ['contains: lacking', { fact: 'taints', operator: 'contains', value: 'c' }, { taints: ['a', 'b'] }, 'false'],
    [
      'contains: an element of another type',
      { fact: 'taints', operator: 'contains', value: 'c' },
      { taints: ['a', 1] },
      'unknown',
    ],
    ['doesNotContain', { fact: 'taints', operator: 'doesNotContain', value: 'c' }, { taints: [] }, 'true'],
    ['containsAny', { fact: 'taints', operator: 'containsAny', value: ['x', 'b'] }, { taints: ['a', 'b'] }, 'true'],
    ['containsAll', { fact: 'taints', operator: 'containsAll', value: ['x', 'b'] }, { taints: ['a', 'b'] }, 'false'],
    ['containsNone', { fact: 'taints', operator: 'containsNone', value: ['x', 'y'] }, { taints: ['a', 'b'] }, 'true'],
    ['lengthAtLeast', { fact: 'taints', operator: 'lengthAtLeast', value: 2 }, { taints: ['a', 'b'] }, 'true'],
    ['lengthAtMost', { fact: 'taints', operator: 'lengthAtMost', value: 1 }, { taints: ['a', 'b'] }, 'false'],
    ['someFact', { fact: 'taints', operator: 'someFact:startsWith', value: 'k' }, { taints: ['a', 'kb'] }, 'true'],
    ['someFact of nothing', { fact: 'taints', operator: 'someFact:startsWith', value: 'k' }, { taints: [] }, 'false'],
    [
      'someFact: too much text',
      { fact: 'taints', operator: 'someFact:startsWith', value: 'k' },
      { taints: ['k', 'a'.repeat(17_000)] },
      'unknown',
    ],
    ['everyFact', { fact: 'taints', operator: 'everyFact:startsWith', value: 'k' }, { taints: ['ka', 'kb'] }, 'true'],
    [
      'everyFact of nothing',
      { fact: 'taints', operator: 'everyFact:startsWith', value: 'k' },
      { taints: [] },
      'unknown',
    ],
    ['someValue', { fact: 'name', operator: 'someValue:startsWith', value: ['a', 'n'] }, { name: 'n1' }, 'true'],
    ['everyValue', { fact: 'name', operator: 'everyValue:includes', value: ['1', 'n'] }, { name: 'n1' }, 'true'],
    ['not:someFact', { fact: 'taints', operator: 'not:someFact:equal', value: 'x' }, { taints: ['a'] }, 'true'],
    ['startsWith', { fact: 'name', operator: 'startsWith', value: 'gpu-' }, { name: 'gpu-1' }, 'true'],
    ['endsWith', { fact: 'name', operator: 'endsWith', value: '-2' }, { name: 'gpu-1' }, 'false'],
    ['matches', { fact: 'name', operator: 'matches', value: '^gpu-[0-9]+$' }, { name: 'gpu-12' }, 'true'],
    [
      'matches: a text too long to judge',
      { fact: 'name', operator: 'matches', value: 'a' },
      { name: 'a'.repeat(4_097) },
      'unknown',
    ],
    ['exists', { fact: 'conditions', path: '/X', operator: 'exists' }, { conditions: { X: {} } }, 'true'],
    [
      'exists: observed, not there',
      { fact: 'conditions', path: '/X', operator: 'exists' },
      { conditions: {} },
      'false',
    ],
    ['absent: observed, not there', { fact: 'conditions', path: '/X', operator: 'absent' }, { conditions: {} }, 'true'],
    [
      'absent: observed as nothing',
      { fact: 'conditions', path: '/X', operator: 'absent' },
      { conditions: null },
      'true',
    ],
    ['absent: not observed', { fact: 'conditions', path: '/X', operator: 'absent' }, {}, 'unknown'],
    [
      'absent: of another shape',
      { fact: 'conditions', path: '/X', operator: 'absent' },
      { conditions: 'oops' },
      'unknown',
    ],
    ['for: long enough', { ...deadlock, for: '10m' }, conditions('True', ago(600)), 'true'],
    ['for: not yet', { ...deadlock, for: '10m' }, conditions('True', ago(599)), 'false'],
    ['for: no longer so', { ...deadlock, for: '10m' }, conditions('False', ago(900)), 'false'],
    ['for: a stamp from the future', { ...deadlock, for: '0' }, conditions('True', ago(-1)), 'unknown'],
    ['for: a stamp from 1970', { ...deadlock, for: '1m' }, conditions('True', '1970-01-01T00:00:09Z'), 'unknown'],
    ['for: no stamp', { ...deadlock, for: '1m' }, { conditions: { KernelDeadlock: { status: 'True' } } }, 'unknown'],
    ['for: a stamp that is no time', { ...deadlock, for: '1m' }, conditions('True', 'May 1'), 'unknown'],
    ['heldFor', { fact: 'createdAt', operator: 'heldFor', value: '1h' }, { createdAt: ago(3_601) }, 'true'],
    ['changedWithin', { fact: 'createdAt', operator: 'changedWithin', value: '1h' }, { createdAt: ago(3_599) }, 'true'],
    [
      'changedWithin: the future',
      { fact: 'createdAt', operator: 'changedWithin', value: '1h' },
      { createdAt: ago(-60) },
      'unknown',
    ],
    [
      'before',
      { fact: 'createdAt', operator: 'before', value: '2026-05-01T00:00:00+08:00' },
      { createdAt: '2026-04-30T15:59:59Z' },
      'true',
    ],
    ['after, now', { fact: 'now', operator: 'after', value: '2026-05-01T11:59:59Z' }, {}, 'true'],
    [
      'after, another fact',
      { fact: 'now', operator: 'after', value: { fact: 'createdAt' } },
      { createdAt: ago(1) },
      'true',
    ],
    [
      'after, another fact that is missing',
      { fact: 'now', operator: 'after', value: { fact: 'createdAt' } },
      {},
      'unknown',
    ],
    [
      'now cannot be forged',
      { fact: 'now', operator: 'after', value: '2027-01-01T00:00:00Z' },
      { now: '2028-01-01T00:00:00Z' },
      'false',
    ],
    [
      'semverLess',
      { fact: 'versions', path: '/kernel', operator: 'semverLess', value: '5.10' },
      kernel('5.9.120-al8'),
      'true',
    ],
    [
      'semverAtLeast',
      { fact: 'versions', path: '/kernel', operator: 'semverAtLeast', value: '5.10' },
      kernel('v5.10.0'),
      'true',
    ],
    [
      'semverSatisfies',
      { fact: 'versions', path: '/kernel', operator: 'semverSatisfies', value: '^5.10 || 6.1.x' },
      kernel('6.1.9'),
      'true',
    ],
    [
      'semverSatisfies: no version',
      { fact: 'versions', path: '/kernel', operator: 'semverSatisfies', value: '*' },
      kernel('latest'),
      'unknown',
    ],
    [
      'semverEqual, another fact',
      { fact: 'versions', path: '/kernel', operator: 'semverEqual', value: { fact: 'versions', path: '/kubelet' } },
      { versions: { kernel: '1.2.0', kubelet: 'v1.2' } },
      'true',
    ],
    ['countAtLeast', { ...onPeers, operator: 'countAtLeast', value: 3 }, tally(3, 10), 'true'],
    ['countAtMost', { ...onPeers, operator: 'countAtMost', value: 3 }, tally(4, 10), 'false'],
    [
      'countAtMost: the unknown could turn it',
      { ...onPeers, operator: 'countAtMost', value: 3 },
      tally(3, 10, 1),
      'unknown',
    ],
    ['countAtMost: they could not', { ...onPeers, operator: 'countAtMost', value: 3 }, tally(2, 10, 1), 'true'],
    [
      'ratioAtLeast: exactly, where floats would miss it',
      { ...onPeers, operator: 'ratioAtLeast', value: 0.1 },
      tally(3, 30),
      'true',
    ],
    ['ratioAbove: exactly is not above', { ...onPeers, operator: 'ratioAbove', value: '10%' }, tally(3, 30), 'false'],
    ['ratioAtMost: exactly', { ...onPeers, operator: 'ratioAtMost', value: '10%' }, tally(3, 30), 'true'],
    ['ratioBelow: exactly is not below', { ...onPeers, operator: 'ratioBelow', value: '10%' }, tally(3, 30), 'false'],
    [
      'ratioAtMost: the unknown could turn it',
      { ...onPeers, operator: 'ratioAtMost', value: 0.1 },
      tally(3, 30, 1),
      'unknown',
    ],
    ['ratioAtMost: of no peers', { ...onPeers, operator: 'ratioAtMost', value: 0.1 }, tally(0, 0), 'unknown'],
    [
      'ratioAtMost: numbers that do not fit together',
      { ...onPeers, operator: 'ratioAtMost', value: 0.5 },
      tally(9, 3),
      'unknown',
    ],
  ]
  it.each(cases)('%s', async (_name, leaf, facts, verdict) => {
    expect(await verdictOn({ all: [leaf] }, facts)).toBe(verdict)
    const opposite = { true: 'false', false: 'true', unknown: 'unknown' }[verdict]
    expect(await verdictOn({ not: leaf }, facts)).toBe(opposite)
  })
})

describe('an evaluation', () => {
  const rules = ['b', 'a', 'c'].map((type) => rule(type, { all: [{ ...deadlock, path: `/${type}/status` }] }))

  it('names the rules that fired in the order of the set', async () => {
    const facts = { conditions: { a: { status: 'True' }, b: { status: 'True' }, c: { status: 'False' } } }
    const evaluation = await evaluate(createRuleset(rules), facts, NOW)
    expect([evaluation.fired, evaluation.asked]).toEqual([['b', 'a'], 2])
  })

  it('never mixes with others that begin while it runs, as runs of one shared engine do', async () => {
    const set = createRuleset(rules)
    for (let ticks = 0; ticks < 60; ticks++) {
      const first = evaluate(set, { conditions: { a: { status: 'True' } } }, NOW)
      for (let i = 0; i < ticks; i++) await Promise.resolve()
      const second = evaluate(set, { conditions: { b: { status: 'True' }, c: { status: 'True' } } }, NOW)
      expect([ticks, (await first).fired, (await second).fired]).toEqual([ticks, ['a'], ['b', 'c']])
    }
  })

  it('explains each leaf: fact, path, wanted, seen, verdict', async () => {
    const set = createRuleset([
      rule('r', {
        all: [{ ...deadlock, for: '5m' }, { not: { fact: 'name', operator: 'equal', value: 'n\u001b[1m' } }],
      }),
    ])
    const evaluation = await evaluate(set, { ...conditions('True', ago(-5)), name: 'n\u001b[2m' }, NOW)
    const explanation = evaluation.explain('r')
    expect(explanation && renderExplanation(explanation)).toBe(
      [
        'unknown all',
        'unknown   all',
        'true        conditions/KernelDeadlock/status equal "True", seen "True"',
        'unknown     conditions/KernelDeadlock/lastTransitionTime heldFor "5m", seen "2026-05-01T12:00:05.000Z" (not a time, or in the future)',
        'true      not',
        'false       name equal "n\\u001b[1m", seen "n\\u001b[2m"',
      ].join('\n'),
    )
    expect(evaluation.explain('other')).toBeUndefined()
  })

  it('refuses a time that is none', async () => {
    await expect(evaluate(createRuleset(rules), {}, Number.NaN)).rejects.toThrow(/^KN1000: /)
  })
})

describe('a set of rules', () => {
  it('has no two of one name', () => {
    expect(() => createRuleset([rule('x', { all: [deadlock] }), rule('x', { all: [deadlock] })])).toThrow(/^KN4016: /)
  })

  it('is bounded', () => {
    const one = rule('x', { all: [deadlock] })
    const many = Array.from({ length: 1_001 }, (_, i) => ({ ...one, name: `x${i}` }))
    expect(() => createRuleset(many)).toThrow(/^KN4002: /)
  })
})

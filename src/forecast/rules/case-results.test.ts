import { expect, test } from 'vitest'
import { compileRule } from '#policy/compile-rule.ts'
import { nodeVocabulary } from '#policy/node-vocabulary.ts'
import { caseResults } from './case-results.ts'

test('a case that leaves a value out is told which one', () => {
  const when = {
    all: [
      { fact: 'conditions', path: '/Ready/status', operator: 'equal', value: 'False' },
      { fact: 'cluster', path: '/readyPercent', operator: 'greaterThanInclusive', value: 80 },
      { fact: 'repairs', path: '/lastDay', operator: 'lessThan', value: 4 },
    ],
  }
  const result = compileRule('mend', when, nodeVocabulary())
  if (!result.ok) throw new Error('it is a rule')
  const conditions = [{ type: 'Ready', status: 'False' }] as const
  const cases = [
    { name: 'a node that is down', conditions, facts: { repairs: { lastDay: 0 } }, verdict: 'fires' },
  ] as const
  const file = { name: 'mend', path: 'mend.ts', casesPath: 'mend.cases.ts', cases, spec: undefined }
  const [one] = caseResults([{ ...file, compiled: result.rule, problems: [], caseProblems: [], notes: [] }])
  expect(one?.why).toBe(
    'it should fire, but it is unknown: the case leaves out, or reports as Unknown, cluster/readyPercent',
  )
})

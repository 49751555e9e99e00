// When the rule for a line in a log fires, and when it must not; the component is scribe.
import type { RuleCase } from 'kubenode/rule-case'
import { logProblem } from './log-problem.ts'

export const rule = logProblem('LogProblem-scribe', 'scribe')

export const cases: readonly RuleCase[] = [
  {
    name: 'a scribe that wrote of trouble',
    conditions: [{ type: 'LogProblem-scribe', status: 'True', reason: 'LineSeen' }],
    verdict: 'fires',
  },
  {
    name: 'a scribe that has been quiet since',
    conditions: [{ type: 'LogProblem-scribe', status: 'False', reason: 'Silent' }],
    verdict: 'does not fire',
  },
  {
    name: 'a node whose log was never read',
    conditions: [{ type: 'Ready', status: 'True' }],
    verdict: 'unknown',
  },
]

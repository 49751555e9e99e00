// When the rule for silent nodes fires, and when it must not.
import type { RuleCase } from 'kubenode/rule-case'
import { silentNode } from './silent.ts'

export const rule = silentNode

const since = (minute: string, status: 'False' | 'Unknown' = 'Unknown') =>
  [{ type: 'Ready', status, lastTransitionTime: `2026-01-31T11:${minute}:00Z` }] as const
const facts = (agentReachable: string, silent: number) => ({ machine: { agentReachable }, cluster: { silent } })

export const cases: readonly RuleCase[] = [
  { name: 'kubelet and agent are silent', conditions: since('50'), facts: facts('False', 1), verdict: 'fires' },
  { name: 'a network that stuttered', conditions: since('58'), facts: facts('False', 1), verdict: 'does not fire' },
  {
    name: 'a kubelet that says itself that it is not ready',
    conditions: since('50', 'False'),
    facts: facts('False', 1),
    verdict: 'does not fire',
  },
  {
    name: 'the agent is heard: the machine runs',
    conditions: since('50'),
    facts: facts('True', 1),
    verdict: 'does not fire',
  },
  {
    name: 'many are silent at once: that is the network',
    conditions: since('50'),
    facts: facts('False', 40),
    verdict: 'does not fire',
  },
]

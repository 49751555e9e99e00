// When the ladder for nodes that are not ready starts, and when it must not.
import type { RuleCase } from 'kubenode/rule-case'
import { notReady } from './not-ready.ts'

export const rule = notReady

const since = (minute: string, status: 'True' | 'False' | 'Unknown' = 'False') =>
  [{ type: 'Ready', status, lastTransitionTime: `2026-01-31T11:${minute}:00Z` }] as const
const agentSince = (minute: string) => ({
  machine: { agentReachable: 'True', agentReachableSince: `2026-01-31T11:${minute}:00Z` },
})
const well = { cluster: { nodes: 50, ready: 49, notReady: 1, silent: 0, readyPercent: 98 }, repairs: { lastDay: 0 } }

export const cases: readonly RuleCase[] = [
  { name: 'a quarter of an hour without being ready', conditions: since('45'), facts: well, verdict: 'fires' },
  { name: 'a kubelet that is just starting', conditions: since('55'), facts: well, verdict: 'does not fire' },
  { name: 'a node that is ready', conditions: since('10', 'True'), facts: well, verdict: 'does not fire' },
  {
    name: 'a node of which nothing is heard: that is another rule',
    conditions: since('10', 'Unknown'),
    facts: { ...well, machine: { agentReachable: 'False' } },
    verdict: 'unknown',
  },
  {
    name: 'a kubelet that no longer posts, while its agent answers',
    conditions: since('45', 'Unknown'),
    facts: { ...well, ...agentSince('30') },
    verdict: 'fires',
  },
  {
    name: 'a network that healed a minute ago: the agent is back, and the kubelet posts next',
    conditions: since('45', 'Unknown'),
    facts: { ...well, ...agentSince('59') },
    verdict: 'unknown',
  },
  {
    name: 'a kubelet that has not posted for five minutes',
    conditions: since('55', 'Unknown'),
    facts: { ...well, ...agentSince('30') },
    verdict: 'does not fire',
  },
  {
    name: 'a silent kubelet, and nobody knows of the agent',
    conditions: since('10', 'Unknown'),
    facts: well,
    verdict: 'unknown',
  },
  {
    name: 'a node that a person works on',
    conditions: since('45'),
    unschedulable: true,
    facts: well,
    verdict: 'does not fire',
  },
  {
    name: 'a cluster of which a third is down',
    conditions: since('45'),
    facts: { ...well, cluster: { nodes: 60, ready: 40, notReady: 20, silent: 0, readyPercent: 66 } },
    verdict: 'does not fire',
  },
  {
    name: 'a node that was repaired again and again today',
    conditions: since('45'),
    facts: { ...well, repairs: { lastDay: 5 } },
    verdict: 'does not fire',
  },
]

// The rules of each cluster: limits on disruption, and repairs of faults.
import type { DefenderPolicyInput } from 'kubenode/kinds/defender-policy'
import { DefenderPolicy, NodeRemedier, type ClusterChart } from 'kubenode/constructs'
import { careful } from '../../rules/defender/careful.ts'
import { kernelDeadlock } from '../../rules/kernel/kernel-deadlock.ts'
import { logProblem } from '../../rules/component/log-problem.ts'
import { notReady } from '../../rules/node/not-ready.ts'
import { silentNode } from '../../rules/node/silent.ts'
import { unwellComponent } from '../../rules/component/unwell-component.ts'
import type { FleetCluster } from '../clusters/clusters.ts'
import versions from '../clusters/versions.json' with { type: 'json' }

/** A tenth of five machines is none at all: so small a fleet is allowed a larger share. */
const few: DefenderPolicyInput['spec'] = {
  ...careful,
  budgets: [{ max: '50%', of: 'unavailable' }],
  healthFloor: '50%',
}

export function declareRules(chart: ClusterChart, { stage }: FleetCluster): void {
  new DefenderPolicy(chart, 'careful', { spec: few })
  // What reboots and replaces machines shows in the last stage first what it would do.
  const mode = stage === 'prod' ? 'DryRun' : 'Enforce'
  new NodeRemedier(chart, 'kernel-deadlock', { spec: { ...kernelDeadlock, mode } })
  new NodeRemedier(chart, 'silent', { spec: { ...silentNode, mode } })
  new NodeRemedier(chart, 'not-ready', { spec: { ...notReady, mode } })
  for (const component of Object.keys(versions)) {
    new NodeRemedier(chart, `unwell-${component}`, { spec: unwellComponent(component) })
    // The condition is set by a log rule of the agents; where they have none, nothing is ever known and nothing done.
    new NodeRemedier(chart, `log-problem-${component}`, { spec: logProblem(`LogProblem-${component}`, component) })
  }
}

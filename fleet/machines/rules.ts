// Which rules each cluster has: what disruption is allowed, and which faults are repaired.
import { DefenderPolicy, NodeRemedier, type ClusterChart } from '#api/constructs/constructs.ts'
import { careful } from '../../rules/careful.ts'
import { kernelDeadlock } from '../../rules/kernel-deadlock.ts'
import type { FleetCluster } from '../clusters/clusters.ts'

export function declareRules(chart: ClusterChart, { stage }: FleetCluster): void {
  new DefenderPolicy(chart, 'careful', { spec: careful })
  new NodeRemedier(chart, 'kernel-deadlock', {
    spec: { ...kernelDeadlock, mode: stage === 'prod' ? 'DryRun' : 'Enforce' },
  })
}

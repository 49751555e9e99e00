// Limits on disruption, and repairs of faults.
import { DefenderPolicy, NodeRemedier } from 'kubenode/constructs'
import type { Chart } from 'cdk8s'
import { careful } from '../rules/defender/careful.ts'
import { notReady } from '../rules/node/not-ready.ts'
import { unwellComponent } from '../rules/component/unwell-component.ts'
import versions from './versions.json' with { type: 'json' }

export function declareRules(chart: Chart): void {
  new DefenderPolicy(chart, 'careful', { spec: careful })
  // Shows what it would do. Enforce it when you agree: { ...notReady, mode: 'Enforce' }.
  new NodeRemedier(chart, 'not-ready', { spec: { ...notReady, mode: 'DryRun' } })
  for (const component of Object.keys(versions))
    new NodeRemedier(chart, `unwell-${component}`, { spec: unwellComponent(component) })
}

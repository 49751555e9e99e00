// The component versions that a cluster may install: signed statements, as `kubenode artifact sign` writes them.
import { MachineComponent } from 'kubenode/constructs'
import type { MachineComponentInput } from 'kubenode/kinds/machine-component'
import type { Chart } from 'cdk8s'
import hello100 from './components/hello-1.0.0.json' with { type: 'json' }

// JSON has wider types than the kind; the construct checks every field.
const statements = [hello100] as readonly unknown[] as readonly MachineComponentInput[]

export function declareComponents(chart: Chart): void {
  for (const { spec } of statements) new MachineComponent(chart, `${spec.component}-${spec.version}`, { spec })
}

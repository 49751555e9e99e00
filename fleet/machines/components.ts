// The component versions that a cluster may install: signed statements, as `kubenode artifact sign` wrote them.
import { MachineComponent, type ClusterChart } from 'kubenode/constructs'
import type { MachineComponentInput } from 'kubenode/kinds/machine-component'
import beacon100 from '../components/beacon-1.0.0.json' with { type: 'json' }
import beacon110 from '../components/beacon-1.1.0.json' with { type: 'json' }
import beacon120 from '../components/beacon-1.2.0.json' with { type: 'json' }
import scribe100 from '../components/scribe-1.0.0.json' with { type: 'json' }

// JSON has wider types than the kind; the construct checks every field where it is made.
const statements = [
  beacon100,
  beacon110,
  beacon120,
  scribe100,
] as readonly unknown[] as readonly MachineComponentInput[]

export function declareComponents(chart: ClusterChart): void {
  for (const { spec } of statements) new MachineComponent(chart, `${spec.component}-${spec.version}`, { spec })
}

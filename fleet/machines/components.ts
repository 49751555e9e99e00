// The component versions that a cluster may install: signed statements, as `kubenode artifact sign` wrote them.
import { MachineComponent, type ClusterChart } from 'kubenode/constructs'
import type { MachineComponentInput } from 'kubenode/kinds/machine-component'
import beacon100 from '../components/beacon-1.0.0.json' with { type: 'json' }
import beacon110 from '../components/beacon-1.1.0.json' with { type: 'json' }
import beacon120 from '../components/beacon-1.2.0.json' with { type: 'json' }
import scribe100 from '../components/scribe-1.0.0.json' with { type: 'json' }
import chrony43 from '../components/chrony-4.3+2-deb12u3.json' with { type: 'json' }
import cni111 from '../components/cni-plugins-1.1.1+ds1-3-b5.json' with { type: 'json' }
import containerd1620u2 from '../components/containerd-1.6.20+ds1-1-deb12u2.json' with { type: 'json' }
import containerd1620u3 from '../components/containerd-1.6.20+ds1-1-deb12u3.json' with { type: 'json' }
import nodeExporter150 from '../components/node-exporter-1.5.0+1-b6.json' with { type: 'json' }
import runc115 from '../components/runc-1.1.5+ds1-1-deb12u1.json' with { type: 'json' }

/** Made for the demo on one machine: their archives are packed from the folders beside them. */
const demo = [beacon100, beacon110, beacon120, scribe100]

/**
 * Of Debian 12 for amd64. Their archives are not in git: `apt-get download containerd=1.6.20~ds1-1+deb12u2`, then `kubenode artifact from-deb FILE --recipe
 * containerd` makes the one with the digest that is signed here, for the folder that agents download from (docs/tasks/own-component.md).
 */
const ofDebian = [runc115, cni111, containerd1620u2, containerd1620u3, nodeExporter150, chrony43]

// JSON has wider types than the kind; the construct checks every field where it is made.
const statements = [...demo, ...ofDebian] as readonly unknown[] as readonly MachineComponentInput[]

export function declareComponents(chart: ClusterChart): void {
  for (const { spec } of statements) new MachineComponent(chart, `${spec.component}-${spec.version}`, { spec })
}

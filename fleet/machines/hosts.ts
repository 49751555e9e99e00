// The pool of hosts: machines with systemd that join (kubenode machine join-command) or are imported, with the components that a node of Kubernetes has.
// Nothing is declared before the first host of a cluster: clusters/hosts.json. containerd is one version behind the newest of Debian 12: its next one is a change of host-versions.json.
import { MachineComponentSet, type ClusterChart } from 'kubenode/constructs'
import type { FleetCluster } from '../clusters/clusters.ts'
import versions from '../clusters/host-versions.json' with { type: 'json' }

/** A bad runtime shows itself when pods start, which takes a while to happen. */
const SOAK = { test: '1m', pre: '5m', prod: '15m' } as const

export function declareHosts(chart: ClusterChart, { stage, hasHosts }: FleetCluster): void {
  if (!hasHosts) return
  new MachineComponentSet(chart, 'hosts', {
    spec: {
      selector: { matchLabels: { 'kubenode.io/pool': 'hosts' } },
      components: Object.entries(versions).map(([name, version]) => ({ name, version })),
      rollout: {
        soak: SOAK[stage],
        inspections: [
          { name: 'ready', nodeReady: {} },
          { name: 'healthy', componentsHealthy: {} },
        ],
      },
    },
  })
}

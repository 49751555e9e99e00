// The pool of hosts: machines with systemd that join (kubenode machine join-command) or are imported, with the components that a node of Kubernetes has.
// Nothing is declared before the first host of a cluster: clusters/hosts.json. containerd is one version behind the newest of Debian 12: its next one is a change of host-versions.json.
import { MachineComponentSet, MachineSet, type ClusterChart } from 'kubenode/constructs'
import type { FleetCluster } from '../clusters/clusters.ts'
import versions from '../clusters/host-versions.json' with { type: 'json' }

const HOSTS = { 'kubenode.io/pool': 'hosts' }

/** A bad runtime shows itself when pods start, which takes a while to happen. */
const SOAK = { test: '1m', pre: '5m', prod: '15m' } as const

/** Machines made on one computer are for looking. */
const SHORT_SOAK = '5s'

export function declareHosts(chart: ClusterChart, { stage, hasHosts, madeHosts }: FleetCluster): void {
  if (!hasHosts) return
  if (madeHosts > 0)
    new MachineSet(chart, 'debian', {
      spec: {
        replicas: madeHosts,
        selector: { matchLabels: HOSTS },
        template: {
          metadata: { labels: HOSTS },
          // A container runtime mounts file systems and makes control groups.
          spec: { provider: { name: 'nspawn', params: { privileged: 'true' } }, pool: 'hosts' },
        },
      },
    })
  new MachineComponentSet(chart, 'hosts', {
    spec: {
      selector: { matchLabels: HOSTS },
      components: Object.entries(versions)
        // A machine that this computer makes has the clock of this computer.
        .filter(([name]) => madeHosts === 0 || name !== 'chrony')
        .map(([name, version]) => ({ name, version })),
      rollout: {
        soak: madeHosts > 0 ? SHORT_SOAK : SOAK[stage],
        inspections: [
          { name: 'ready', nodeReady: {} },
          { name: 'healthy', componentsHealthy: {} },
        ],
      },
    },
  })
}

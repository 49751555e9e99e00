// A real kube-apiserver with etcd as the server of a cluster of processes.
import { dirname } from 'node:path'
import type { ClusterServer } from '#test/e2e/rollout-replay/cluster.ts'
import { startReal } from '../apiserver/servers.ts'

export async function startRealCluster(): Promise<ClusterServer & { readonly pids: readonly number[] }> {
  const real = await startReal()
  const { host, port, ca, cert, key, pids } = real.target
  const { kubeconfig } = real
  // Beside the kubeconfig are the keys of the cluster: the flow schema that we ship counts for agents that are agents.
  const authority = dirname(kubeconfig)
  return { url: `https://${host}:${port}`, ca, cert, key, kubeconfig, authority, pids, stop: () => real.stop() }
}

// One cluster of many nodes in which nothing changes: the server, our programs, and the heartbeats of hollow agents and of kubelets.
import { mkdirSync } from 'node:fs'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { systemClock } from '#lib/system-clock.ts'
import { type ClusterServer, ProcessCluster, until } from '#test/e2e/rollout-replay/cluster.ts'
import { renewKubeletLeases } from '#test/e2e/rollout-replay/kubelet-leases.ts'
import { SET, plantFleet } from '#test/e2e/rollout-replay/planted-fleet.ts'
import type { Figures, ServerKind } from '../result.ts'
import { pidsWith } from '../rollout/process-use.ts'
import { startRealCluster } from '../rollout/real-server.ts'
import { oursOf, useAtRest } from './use.ts'

const READY_WITHIN_MS = 900_000
const OURS = ['controllers', 'defender', 'approver']

export interface NodesWish {
  readonly nodes: number
  readonly server: ServerKind
  readonly settleS: number
  readonly seconds: number
}

export async function nodesAtRest({ nodes, server, settleS, seconds }: NodesWish): Promise<Figures> {
  let real: readonly number[] = []
  const startServer = async (): Promise<ClusterServer> => {
    const started = await startRealCluster()
    real = started.pids
    return started
  }
  const cluster = new ProcessCluster(server === 'real' ? { startServer } : {})
  const stop = new AbortController()
  try {
    await cluster.start()
    const { client, hollowDir, folder } = cluster
    // The provider creates its folders; the fleet is planted into them before its first check.
    mkdirSync(`${hollowDir}/hosts`, { recursive: true })
    await plantFleet({ client, hollowDir, count: nodes, settle: '1s', maxUnavailable: nodes })
    void renewKubeletLeases(client, nodes, stop.signal)
    const [controllers, defender] = [cluster.run('controllers'), cluster.run('defender')]
    await until(
      'rest',
      async () => (await client.get(machineComponentSet, { name: SET }))?.status,
      (s) => s?.phase === 'Complete' && s.counts?.healthy === nodes,
      READY_WITHIN_MS,
    )
    await systemClock.sleep(settleS * 1_000)
    const figures = await useAtRest(
      {
        server: server === 'real' ? real : pidsWith(`apiserver\0--data\0${folder}`),
        controllers: [controllers],
        defender: [defender],
        approver: pidsWith(cluster.kubeconfig('approver')),
        agents: pidsWith(`--hosts\0${hollowDir}`),
      },
      seconds,
    )
    return { ...figures, ...oursOf(figures, OURS), nodes }
  } finally {
    stop.abort()
    await cluster.stop()
  }
}

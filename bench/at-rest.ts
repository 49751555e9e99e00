// What everything costs while nothing happens: a cluster of 10,000 nodes (`nodes=0` leaves it out), or a hub with many clusters (`clusters=300`). For each program its
// share of a core and its memory (PSS); `ours` is what we add: to the server and the kubelets of a cluster, and to nothing on a hub, whose server is ours as well.
import { clustersAtRest } from './at-rest/clusters.ts'
import { nodesAtRest } from './at-rest/nodes.ts'
import type { BenchOptions, BenchResult, Figures, ServerKind } from './result.ts'

const NODES = 10_000
const OBJECTS = 20
/** After a start its garbage is collected, and what comes once has come. */
const SETTLE_S = 60
/** Sync compares each cluster once a minute: two rounds. */
const SECONDS = 120

export const servers: readonly ServerKind[] = ['embedded', 'real']
export const smoke: Figures = { nodes: 3, clusters: 2, objects: 3, settle_s: 0, seconds: 1 }

export async function run({ numbers, server }: BenchOptions): Promise<BenchResult> {
  const { clusters = 0, objects = OBJECTS, settle_s: settleS = SETTLE_S, seconds = SECONDS } = numbers
  const nodes = numbers['nodes'] ?? (clusters > 0 ? 0 : NODES)
  const cluster = nodes > 0 ? await nodesAtRest({ nodes, server, settleS, seconds }) : {}
  const hub = clusters > 0 ? await clustersAtRest({ clusters, objects, settleS, seconds }) : {}
  // A run of both keeps them apart.
  const ofHub = nodes > 0 ? Object.fromEntries(Object.entries(hub).map(([name, value]) => [`hub_${name}`, value])) : hub
  return { figures: { ...cluster, ...ofHub }, peer: null, ratio: {} }
}

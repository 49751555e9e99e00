// The kubelets of planted machines: a server marks a Node Unknown when neither its status nor its Lease changed for 50 s by its own clock, and nothing is rolled out
// to Nodes that are not Ready. As rarely as that allows: heartbeats are no part of what a rollout costs.
import { NODE_LEASES } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { microTimestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { leaseType } from '#runtime/lease.ts'
import { machineName } from './planted-fleet.ts'

const EVERY_MS = 25_000
/** Renewals follow each other evenly, or every round would be a storm. */
const ROUND = 50

/** Until the signal ends it. A server that does not answer is the caller's to report: its own calls fail as well. */
export async function renewKubeletLeases(client: KubeClient, count: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (let first = 0; first < count && !signal.aborted; first += ROUND) {
      const due = performance.now() + (EVERY_MS * ROUND) / Math.max(count, ROUND)
      const names = Array.from({ length: Math.min(ROUND, count - first) }, (_, i) => machineName(first + i))
      await Promise.allSettled(names.map((name) => renewKubeletLease(client, name)))
      await systemClock.sleep(Math.max(0, due - performance.now()))
    }
  }
}

/** As the kubelet of one node does. */
export const renewKubeletLease = (client: KubeClient, name: string): Promise<unknown> =>
  client.patch(
    leaseType,
    { namespace: NODE_LEASES, name },
    { type: 'merge', value: { spec: { renewTime: microTimestamp(systemClock.now()) } } },
  )

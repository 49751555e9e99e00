// `kubenode why` without an object: everything that is wrong or waiting in the fleet, across all contexts of the kubeconfig, read in parallel within a time
// limit.
import { systemClock } from '#lib/system-clock.ts'
import { messageOf } from '#lib/errors.ts'
import { inParallel } from '#lib/pool.ts'
import { type AttentionReport, attentionReport } from '#explain/attention/attention-report.ts'
import type { ObservedCluster } from '#explain/attention/observed.ts'
import { notConnected, readObserved } from '#explain/attention/read.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { clientOf } from '#programs/run/connect.ts'
import { type FoundContext, foundContexts, type Wanted } from '#programs/run/all-connections.ts'
import { readPrograms } from '#explain/running-programs.ts'
import { onePerCluster } from '../../fleet/one-per-cluster.ts'

/** Clusters read at once. */
const MOST_AT_ONCE = 16

interface FleetWhy extends AttentionReport {
  /** Contexts that are not part of the fleet. */
  readonly notes: readonly string[]
}

export async function fleetWhy(wanted: Wanted): Promise<FleetWhy> {
  const found = await foundContexts(wanted)
  const { kept, notes: doubles } = onePerCluster(found)
  const read = new Map<string, ObservedCluster | undefined>()
  await inParallel(kept, MOST_AT_ONCE, async (one) => {
    read.set(one.context, await observedIn(one))
  })
  const clusters = kept.flatMap(({ context }) => read.get(context) ?? [])
  const strange = kept.filter(({ context }) => read.get(context) === undefined)
  return {
    ...attentionReport(clusters, systemClock.now()),
    notes: [...doubles, ...strange.map(({ context }) => `context ${context} is left out: it has no kind of KubeNode`)],
  }
}

async function observedIn(one: FoundContext): Promise<ObservedCluster | undefined> {
  const name = one.context === '' ? 'this cluster' : one.context
  if ('problem' in one) return notConnected(name, 'Refused', messageOf(one.problem))
  const client = clientFor(one.config)
  try {
    return await readObserved(
      name,
      client,
      (kinds) => readPrograms(client, kinds),
      () => systemClock.now(),
    )
  } finally {
    client.close()
  }
}

const clientFor = (config: ConnectionConfig): KubeClient & { close(): void } => clientOf(config, 'kubenode-cli')

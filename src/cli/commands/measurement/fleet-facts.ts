// Reads every cluster of a kubeconfig for a report on the fleet: each cluster once, the hub's releases once, and a cluster that does not answer is named.
import { HUB_TARGET } from '#api/names.ts'
import { ApiError } from '#kube/errors.ts'
import { atOnce } from '#lib/steps.ts'
import { messageOf } from '#lib/errors.ts'
import { inParallel } from '#lib/pool.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { ReportFacts } from '#explain/report/facts.ts'
import type { ClusterFacts } from '#explain/report/fleet-report.ts'
import { pastFacts } from '#explain/report/history-facts.ts'
import { readFacts } from '#explain/report/read-facts.ts'
import type { OtherCluster } from '#explain/with-hub.ts'
import { recordedName } from '#forecast/plan/recorded-name.ts'
import type { HistoryReader, Range } from '#history/ask/reader.ts'
import { type FoundContext, foundContexts } from '#programs/run/all-connections.ts'
import { clientOf } from '#programs/run/connect.ts'
import { contextsBeside } from '../../fleet/contexts-beside.ts'
import { onePerCluster } from '../../fleet/one-per-cluster.ts'

/** All pods of a cluster are read, so few at once. */
const MOST_AT_ONCE = 4

export interface FleetWish {
  readonly kubeconfig: string | undefined
  /** Empty: all. */
  readonly contexts: readonly string[]
  readonly range: Range
  readonly readerOf: (cluster: string) => HistoryReader | undefined
}

interface FleetFacts {
  readonly clusters: readonly ClusterFacts[]
  /** Contexts that are not part of the report, and why. */
  readonly notes: readonly string[]
}

export async function fleetFacts({ kubeconfig, contexts, range, readerOf }: FleetWish, io: Io): Promise<FleetFacts> {
  const { env, cwd } = io
  const { kept, notes } = onePerCluster(await foundContexts({ file: kubeconfig, contexts, env, cwd }))
  const hubs = askedOnce(await contextsBeside(kubeconfig === undefined ? {} : { kubeconfig }, io))
  const read = new Map<string, ClusterFacts | string>()
  const failures: unknown[] = []
  await inParallel(kept, MOST_AT_ONCE, async (one) => {
    const cluster = one.context === '' ? 'this cluster' : one.context
    try {
      const facts = await factsIn(one, { cluster, range, readerOf, hubs })
      if (facts !== undefined) read.set(one.context, facts)
    } catch (e) {
      if (e instanceof ApiError && e.status === 404) read.set(one.context, 'it has no kind of KubeNode')
      else {
        failures.push(e)
        read.set(one.context, { cluster, problem: messageOf(e) })
      }
    }
  })
  const clusters = kept.flatMap(({ context }) => {
    const found = read.get(context)
    return found === undefined || typeof found === 'string' ? [] : [found]
  })
  if (clusters.length > 0 && clusters.length === failures.length) throw failures[0]
  return { clusters, notes: [...notes, ...leftOut(kept, read)] }
}

const leftOut = (kept: readonly FoundContext[], read: ReadonlyMap<string, unknown>): readonly string[] =>
  kept.flatMap(({ context }) => {
    const why = read.get(context)
    return typeof why === 'string' ? [`context ${context} is left out: ${why}`] : []
  })

interface Asked extends Pick<FleetWish, 'range' | 'readerOf'> {
  readonly cluster: string
  readonly hubs: readonly OtherCluster[]
}

/** Undefined for a hub that is no member of its fleet: its releases are counted with the clusters. */
async function factsIn(one: FoundContext, { cluster, range, readerOf, hubs }: Asked): Promise<ReportFacts | undefined> {
  if ('problem' in one) throw one.problem
  const client = clientOf(one.config, 'kubenode-cli')
  try {
    // Histories have the fleet's names for clusters; those of contexts are the user's.
    const recorded = await recordedName(client).catch(() => cluster)
    const reader = readerOf(recorded)
    const facts = await readFacts({
      client,
      cluster,
      ...range,
      past: reader && atOnce(pastFacts(reader, range)),
      beside: () => Promise.resolve(hubs.filter(({ context }) => context !== one.context)),
    })
    return recorded === HUB_TARGET && facts.machines.length + facts.nodes.length === 0 ? undefined : facts
  } finally {
    client.close()
  }
}

/** Every cluster asks the others for the releases: each answers a question once. */
const askedOnce = (others: readonly OtherCluster[]): readonly OtherCluster[] =>
  others.map(({ context, read }) => {
    const known = new Map<unknown, Promise<unknown>>()
    return {
      context,
      read: <T>(question: Parameters<typeof read<T>>[0]): Promise<T> => {
        const answer = (known.get(question) as Promise<T> | undefined) ?? read(question)
        known.set(question, answer)
        return answer
      },
    }
  })

// Deploys controllers, approver and Defender into a cluster, with an Inventory there, so that what a release no longer has, or a move back, removes them.
// Decides nothing.
import { memberName } from '#api/cluster-programs.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import { IN_CLUSTER } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { desiredOf } from '#delivery/desired.ts'
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { printableLine } from '#lib/printable.ts'
import { deliverInside, type InsideTools } from '../control-planes/deliver-inside.ts'

/** What the API server of the cluster refused, or another writer holds. */
export async function deployPrograms(
  tools: InsideTools,
  cluster: Cluster,
  templates: readonly KubeObject[],
): Promise<readonly string[]> {
  const objects = templates.map((object) => desiredOf(filledIn(object, valuesOf(cluster)) as KubeObject))
  const { problems } = await deliverInside(tools, { cluster, name: memberName(cluster), track: 'programs', objects })
  return problems.map(([object, message]) => `${object}: ${message}`)
}

/** Webhooks of the cluster are asked about each object: one that hangs must not hold the worker that other Clusters need. */
const WITHIN_MS = 15_000

/** The first problem. A cluster that refuses, hangs or does not answer is tried again in the next pass, whose status is written all the same. */
export interface Deployed {
  readonly problem: string | undefined
}

export async function bounded(
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<readonly string[]>,
): Promise<Deployed> {
  try {
    return { problem: (await work(AbortSignal.any([signal, AbortSignal.timeout(WITHIN_MS)])))[0] }
  } catch (error) {
    if (signal.aborted) throw error
    return { problem: printableLine(messageOf(error)) }
  }
}

const valuesOf = (cluster: Cluster): ReadonlyMap<string, string> =>
  new Map([
    [IN_CLUSTER.name, memberName(cluster)],
    [IN_CLUSTER.server, cluster.status?.endpoint ?? ''],
  ])

/** Whole strings alone: a name of a Cluster never becomes a part of something else. */
export function filledIn(value: unknown, values: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return values.get(value) ?? value
  if (Array.isArray(value)) return value.map((v) => filledIn(v, values))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, filledIn(v, values)]))
}

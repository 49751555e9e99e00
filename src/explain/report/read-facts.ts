// Reads what a report is made of: the objects of a cluster, its service levels, requests and use, and a recorded history where there is one. What cannot be read is
// named, and never counted as none.
import { release, type Release } from '#api/kinds/release.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { messageOf } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { ApiError } from '#kube/errors.ts'
import { listAll } from '#kube/list-all.ts'
import { placesOfNodes, type ResourceSum, sumsByPlace } from '#measure/capacity.ts'
import { dayOf, keptIn, type KeptDays, SERVICE_LEVELS_KEY, SERVICE_LEVELS_MAP } from '#measure/kept-days.ts'
import { readRequests, readUse } from '#measure/read-use.ts'
import { nodeType } from '#nodes/objects.ts'
import type { OtherCluster } from '../with-hub.ts'
import type { ReportFacts } from './facts.ts'
import { presentFaults } from './faults.ts'
import type { PastFacts } from './history-facts.ts'

export interface FactsWish {
  readonly client: KubeClient
  readonly cluster: string
  readonly from: number
  readonly to: number
  /** From a recorded history; undefined if there is none. */
  readonly past: PastFacts | undefined
  /** Clusters that may be the hub, where this one has no releases. */
  readonly beside: () => Promise<readonly OtherCluster[]>
}

export async function readFacts({ client, cluster, from, to, past, beside }: FactsWish): Promise<ReportFacts> {
  const unknown: string[] = []
  /** Undefined with the reason noted. */
  const known = async <T>(what: string, read: () => Promise<T | undefined>, why: string): Promise<T | undefined> => {
    try {
      const value = await read()
      if (value === undefined) unknown.push(`${what}: ${why}`)
      return value
    } catch (e) {
      unknown.push(`${what}: ${messageOf(e)}`)
      return undefined
    }
  }
  const [machines, nodes, sets, liveJobs, livePermits] = await Promise.all([
    listAll(client, machine),
    listAll(client, nodeType),
    listAll(client, machineComponentSet),
    listAll(client, remedyOperationJob),
    listAll(client, operationPermit),
  ])
  const places = placesOfNodes(machines, nodes)
  const levels = await known('service levels', () => readLevels(client), 'the controllers have not written any yet')
  if (levels !== undefined) unknown.push(...missingDays(levels, from))
  const requested = await known<readonly ResourceSum[]>(
    'requests',
    async () => (await readRequests(client))?.sums(places),
    'there are more than 150,000 pods',
  )
  const used = await known<readonly ResourceSum[]>(
    'use of nodes',
    async () => {
      const use = await readUse(client)
      return use === undefined ? undefined : sumsByPlace(use, places)
    },
    'the cluster does not serve metrics.k8s.io',
  )
  const liveRules = await known(
    'how long faults were there before their repair',
    () => listAll(client, nodeRemedier),
    'there are no rules',
  )
  const liveReleases = await known(
    'releases',
    async () => (await readReleases(client)) ?? (await releasesBeside(await beside())),
    'they are objects of the hub, and no context of this kubeconfig is one',
  )
  if (past === undefined)
    unknown.push(
      `faults that are over, repairs that were deleted since, and how long faults were there before their repair: no history is recorded of ${cluster}`,
    )
  unknown.push(...(past?.unknown ?? []))
  return {
    cluster,
    from,
    to,
    machines,
    nodes,
    sets,
    jobs: together(liveJobs, past?.jobs),
    rules: together(liveRules ?? [], past?.rules),
    permits: together(livePermits, past?.permits),
    faults: past?.faults ?? presentFaults(nodes, from),
    hasHistory: past?.faults !== undefined,
    releases: liveReleases && together(liveReleases, past?.releases),
    levels,
    requested,
    used,
    unknown,
  }
}

/** Current objects, and recorded ones that were deleted. */
function together<T extends KubeObject>(live: readonly T[], past: readonly T[] = []): readonly T[] {
  const known = new Set(live.map((o) => o.metadata.uid))
  return [...live, ...past.filter((o) => !known.has(o.metadata.uid))]
}

async function readLevels(client: Pick<KubeClient, 'get'>): Promise<KeptDays | undefined> {
  const map = await client.get<KubeObject & { readonly data?: Readonly<Record<string, string>> }>(
    coreKind('ConfigMap'),
    SERVICE_LEVELS_MAP,
  )
  const text = map?.data?.[SERVICE_LEVELS_KEY]
  return text === undefined ? undefined : keptIn(text)
}

function missingDays({ days }: KeptDays, from: number): readonly string[] {
  const [first] = days
  return first !== undefined && first.day > dayOf(from)
    ? [`good node time before ${first.day}: it was not measured`]
    : []
}

/** Of the first context that has any; one that does not answer is not the hub that is looked for. */
async function releasesBeside(others: readonly OtherCluster[]): Promise<readonly Release[] | undefined> {
  for (const other of others) {
    const found = await other.read(readReleases).catch(() => undefined)
    if (found !== undefined) return found
  }
  return undefined
}

/** Undefined: this cluster has no releases at all, as members of a fleet. */
async function readReleases(client: Pick<KubeClient, 'list'>): Promise<readonly Release[] | undefined> {
  try {
    const all = await listAll(client, release)
    return all.length === 0 ? undefined : all
  } catch (e) {
    if (e instanceof ApiError && e.status === 404) return undefined
    throw e
  }
}

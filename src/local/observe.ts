// Reads what the summary shows. A cluster that does not answer is a finding, not an error.
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { release } from '#api/kinds/release.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { agentLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { type Lease, leaseType } from '#runtime/lease.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ResourceType } from '#schema/resource.ts'
import type { ClusterSeen, FleetSeen, HubSeen } from './summary.ts'

const READ_TIMEOUT_MS = 3_000

const all = async <T extends KubeObject>(client: KubeClient, type: ResourceType<T>): Promise<readonly T[]> =>
  (await client.list(type, { timeoutMs: READ_TIMEOUT_MS })).items

function heardOf(machines: readonly Machine[], leases: readonly Lease[]): ReadonlyMap<string, number> {
  const renewed = new Map(leases.map((l) => [l.metadata.name, Date.parse(l.spec?.renewTime ?? '') || 0]))
  return new Map(machines.map(({ metadata: { name = '' } }) => [name, renewed.get(agentLeaseName(name)) ?? 0]))
}

async function seenOf(name: string, client: KubeClient): Promise<ClusterSeen> {
  try {
    const [machines, machineSets, sets, jobs, remediers, leases] = await Promise.all([
      all(client, machine),
      all(client, machineSet),
      all(client, machineComponentSet),
      all(client, remedyOperationJob),
      all(client, nodeRemedier),
      client.list(leaseType, { namespace: SYSTEM_NAMESPACE, timeoutMs: READ_TIMEOUT_MS }),
    ])
    return {
      name,
      isReachable: true,
      machines,
      machineSets,
      sets,
      jobs,
      remediers,
      heard: heardOf(machines, leases.items),
    }
  } catch {
    return { name, isReachable: false, machines: [], machineSets: [], sets: [], jobs: [], heard: new Map() }
  }
}

async function hubSeen(client: KubeClient): Promise<HubSeen> {
  try {
    const [sources, releases] = await Promise.all([all(client, fleetSource), all(client, release)])
    return { isReachable: true, sources, releases }
  } catch {
    return { isReachable: false, sources: [], releases: [] }
  }
}

export async function observeFleet(hub: KubeClient, clusters: ReadonlyMap<string, KubeClient>): Promise<FleetSeen> {
  const [hubState, ...rest] = await Promise.all([
    hubSeen(hub),
    ...[...clusters].map(([name, client]) => seenOf(name, client)),
  ])
  return { hub: hubState, clusters: rest }
}

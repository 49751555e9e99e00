// Reads a cluster for an inventory, page by page, without what a forecast does not need.
import { approval } from '#api/kinds/approval.ts'
import { cluster as clusterKind } from '#api/kinds/cluster.ts'
import { componentCanary } from '#api/kinds/component-canary.ts'
import { LEDGER_NAME, defenderLedger } from '#api/kinds/defender-ledger.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { type FleetSource, fleetSource } from '#api/kinds/fleet-source.ts'
import { inventory as appliedShard } from '#api/kinds/inventory.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { type MaintenanceEvent, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { release } from '#api/kinds/release.ts'
import { programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { isForbidden, isNotFound } from '#kube/errors.ts'
import { listAll } from '#kube/list-all.ts'
import { matchesLabels } from '#kube/selector.ts'
import { controllerRevisionType } from '#controllers/componentset/revisions/revisions.ts'
import { isOpen } from '#defender/permit-phase.ts'
import { isOver } from '#nodes/faults/maintenance.ts'
import {
  type FullBudget,
  INVENTORY_FORM,
  type Inventory,
  type SourceRules,
  appliedOf,
  rulesOf,
  trimmed,
  trimmedNode,
} from '../inventory.ts'
import { newestContents } from '../newest-content.ts'
import { planeNow, type PlaneNow } from '../plane-changes.ts'
import { type Pod, nodeType, podType } from '#nodes/objects.ts'
import { ServerVersion } from '#nodes/placement/server-version.ts'
import { leaseType } from '#runtime/lease.ts'
import { providersOn } from '#runtime/served-providers.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { defined } from '#lib/defined.ts'

const disruptionBudgetType = coreKind('PodDisruptionBudget')

export async function takeInventory(
  client: KubeClient,
  { cluster, takenAt }: Pick<Inventory, 'cluster' | 'takenAt'>,
): Promise<Inventory> {
  const all = async <T extends KubeObject>(
    type: Parameters<typeof listAll<T>>[1],
    options = {},
  ): Promise<readonly T[]> => (await listAll(client, type, options)).map(trimmed)
  const [machines, machineSets, sets, components, permits, holds, approvals, policies] = await Promise.all([
    all(machine),
    all(machineSet),
    all(machineComponentSet),
    all(machineComponent),
    all(operationPermit),
    all(operationalHold),
    all(approval),
    all(defenderPolicy),
  ])
  const [nodes, revisions, ledger, fullBudgets, apiServer] = await Promise.all([
    listAll(client, nodeType),
    // Their annotations record what failed and what completed.
    listAll(client, controllerRevisionType, { namespace: SYSTEM_NAMESPACE }),
    client.get(defenderLedger, { name: LEDGER_NAME }),
    fullBudgetsIn(client),
    new ServerVersion(client, () => Date.parse(takenAt)).read(),
  ])
  const [shards, canaries, sources, planes, work] = await Promise.all([
    listAll(client, appliedShard),
    all(componentCanary),
    listAll(client, fleetSource),
    planesOn(client),
    workIn(client),
  ])
  const providers = await providersIn(client)
  const owners = new Set(sets.map((s) => s.metadata.uid))
  return {
    form: INVENTORY_FORM,
    cluster,
    takenAt,
    ...defined({ apiServer }),
    machines,
    nodes: nodes.map(trimmedNode),
    machineSets,
    sets,
    components,
    revisions: revisions.filter((r) => r.metadata.ownerReferences?.some((o) => owners.has(o.uid))),
    permits: permits.filter(isOpen),
    holds,
    approvals,
    policies,
    ...(ledger !== undefined && { ledger: ledger.spec }),
    fullBudgets,
    applied: appliedOf(shards),
    canaries,
    // A member has none.
    ...(sources.length > 0 && { sources: await rulesOn(client, sources) }),
    ...(planes !== undefined && planes.length > 0 && { planes }),
    ...defined({ providers }),
    ...(work !== undefined && work.length > 0 && { maintenance: work }),
  }
}

async function rulesOn(client: KubeClient, sources: readonly FleetSource[]): Promise<readonly SourceRules[]> {
  const releases = await listAll(client, release)
  return sources.map((source) => ({ ...rulesOf(source), newest: newestContents(source, releases) }))
}

/** A member has no Clusters, and its users may not list them. */
async function planesOn(client: KubeClient): Promise<readonly PlaneNow[] | undefined> {
  try {
    const all = await listAll(client, clusterKind)
    return all.filter(({ spec }) => spec.controlPlane !== undefined).map(planeNow)
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return undefined
    throw error
  }
}

/** Some users may read machines but not the Lease. */
async function providersIn(client: KubeClient): Promise<readonly string[] | undefined> {
  try {
    return providersOn(
      await client.get(leaseType, { namespace: SYSTEM_NAMESPACE, name: programLeaseName('controllers') }),
    )
  } catch (error) {
    if (isForbidden(error)) return undefined
    throw error
  }
}

/** Older servers lack this kind, and some users may not list it. */
async function workIn(client: KubeClient): Promise<readonly MaintenanceEvent[] | undefined> {
  try {
    return (await listAll(client, maintenanceEvent)).filter((e) => !isOver(e)).map(trimmed)
  } catch (error) {
    if (isForbidden(error) || isNotFound(error)) return undefined
    throw error
  }
}

/** Pods are read only in namespaces with an exhausted budget. */
async function fullBudgetsIn(client: KubeClient): Promise<readonly FullBudget[]> {
  const budgets = await listAll(client, disruptionBudgetType)
  const full = budgets.filter(({ status }) => status?.disruptionsAllowed === 0 && (status.expectedPods ?? 0) > 0)
  const pods = new Map<string, readonly Pod[]>()
  for (const { metadata } of full) {
    const { namespace = '' } = metadata
    if (!pods.has(namespace)) pods.set(namespace, await listAll(client, podType, { namespace }))
  }
  return full.map(({ metadata: { name = '', namespace = '' }, spec }) => {
    const mine = (pods.get(namespace) ?? []).filter((p) => matchesLabels(spec?.selector ?? {}, p.metadata.labels))
    const nodes = [...new Set(mine.flatMap((p) => p.spec?.nodeName ?? []))].toSorted()
    return { namespace, name, nodes }
  })
}

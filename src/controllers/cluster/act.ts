// Carries out one action on a Cluster and decides nothing. Irreversible actions run only if the object has not changed since the decision.
import type { Disruption } from '#api/kinds/operation-permit.ts'
import { cluster as clusterKind, type Cluster } from '#api/kinds/cluster.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { ANNOTATIONS, CLUSTER_LEAVES, FIELD_MANAGERS, FINALIZERS, programUser } from '#api/names.ts'
import { type Addons, applyAddons, GIVEN_WITHIN_MS, givenWithin } from './addons/built-in.ts'
import { type ControlPlaneHost, NotYet } from '#controlplanes/port.ts'
import type { KubeClient } from '#kube/client.ts'
import { applyObject } from '#kube/apply.ts'
import { outcomeOf, type WriteOutcome } from '#kube/outcome.ts'
import { type Clock, timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { assertNever, messageOf } from '#lib/errors.ts'
import { actOnPermit } from '#permits/permit-actions.ts'
import { type Authority, type Clearance, readingPermits, underPermit } from '#permits/under-permit.ts'
import { withFinalizer, withoutFinalizer } from '#runtime/finalizers.ts'
import { deleteExactly, recheck, updateExactly } from '#runtime/preconditions.ts'
import { type ActionOutcome, outdated } from '#runtime/reconcile-with.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { isBeingDeleted } from '#api/schema/object-meta.ts'
import type { ClusterAction } from './actions.ts'
import {
  KUBECONFIG_LIFE_MS,
  kubeconfigSeen,
  programSecretKey,
  SECRET,
  secretKey,
  secretOf,
} from './control-planes/kubeconfig.ts'
import type { ObjectKey } from '#api/schema/resource.ts'
import { ADDONS_WITHIN_MS, addonsWithin, deliverAddons } from './addons/named.ts'
import { NO_RECIPES } from './addons/recipes.ts'
import { bounded, deployPrograms } from './programs/deploy.ts'
import type { PlaneClients } from './control-planes/clients.ts'
import { idOf, type Seen } from './seen.ts'

const fieldManager = FIELD_MANAGERS.cluster

export interface ActTools {
  readonly client: KubeClient
  readonly host: ControlPlaneHost
  readonly clients: PlaneClients
  readonly clock: Clock
  readonly addons: () => Promise<Addons>
  /** Objects of programs that run in a cluster; empty if this hub has none. */
  readonly inClusters: () => Promise<readonly KubeObject[]>
}

/** A pod that cannot be scheduled must not block other control planes. The next pass continues the work. */
const SCHEDULED_WITHIN_MS = 1_000

const applied = (object?: unknown): ActionOutcome => ({ kind: 'Applied', object })

export async function act(
  tools: ActTools,
  action: ClusterAction,
  seen: Seen,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  try {
    return await carryOut(tools, action, seen, signal)
  } catch (error) {
    if (error instanceof NotYet) return { kind: 'Unfinished', reason: error.message }
    // The status has the final snapshot's error, and what a person can do about it.
    if (action.kind === 'Snapshot' && isBeingDeleted(seen.cluster) && !signal.aborted)
      return { kind: 'Unfinished', reason: messageOf(error) }
    throw error
  }
}

async function carryOut(
  tools: ActTools,
  action: ClusterAction,
  seen: Seen,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const { client, host } = tools
  const { cluster } = seen
  const id = idOf(cluster)
  switch (action.kind) {
    case 'RequestPermit':
    case 'RenewPermit':
    case 'ReportResult':
      return actOnPermit({ client, fieldManager, signal }, action, tools.clock.now())
    case 'AddFinalizer':
    case 'RemoveFinalizer':
      return deletedIsDone(
        await updateExactly(
          client,
          clusterKind,
          (action.kind === 'AddFinalizer' ? withFinalizer : withoutFinalizer)(cluster, FINALIZERS.cluster),
          { fieldManager, signal },
        ),
      )
    case 'DeleteCluster':
      // Delete the observed version: if someone committed a longer lifetime since then, this conflicts, and the next pass decides again.
      return deletedIsDone(await deleteExactly(client, clusterKind, cluster, { signal }))
    case 'WriteKubeconfig':
      return writeKubeconfig(tools, cluster, { key: secretKey(cluster), program: 'sync' }, signal)
    case 'DeleteKubeconfig':
      return deleteKubeconfig(client, cluster, secretKey(cluster), signal)
    case 'WriteProgramKubeconfig': {
      const { program } = action
      return writeKubeconfig(tools, cluster, { key: programSecretKey(cluster, program), program }, signal)
    }
    case 'DeleteProgramKubeconfig':
      return deleteKubeconfig(client, cluster, programSecretKey(cluster, action.program), signal)
    case 'ApplyAddons':
      return giveAddons(tools, id, signal)
    case 'DeliverAddons':
      return applied(
        await addonsWithin(cluster, { signal, ms: ADDONS_WITHIN_MS }, (within) =>
          tools.clients.using(id, (c) =>
            deliverAddons({ client: c, clock: tools.clock, signal: within }, cluster, seen.recipes ?? NO_RECIPES),
          ),
        ),
      )
    case 'DeployPrograms':
    case 'RemovePrograms':
      return place(tools, action.kind, cluster, signal)
    case 'Put':
    case 'Stop':
    case 'Restore':
    case 'Defragment':
    case 'ReplaceMember':
    case 'RemoveMachines':
    case 'Delete':
      return underPermit(
        readingPermits(client),
        { by: action.by, operations: OPERATIONS[action.kind], target: cluster.metadata.uid ?? '', signal },
        (clearance) => unlessStale(tools, seen, signal, () => disrupt(clearance, tools, action, seen, signal)),
      )
    case 'Snapshot':
      return applied(await host.snapshot(id, action.name, signal))
    case 'ScheduledSnapshot':
      return applied({ problem: await problemOf(host.snapshot(id, action.name, signal, SCHEDULED_WITHIN_MS), signal) })
    case 'DropSnapshots':
      await host.drop(id, action.names, signal)
      return applied()
    default:
      return assertNever(action)
  }
}

/** The error is in the status of the schedule. It does not stop anything else. */
const problemOf = async (work: Promise<unknown>, signal: AbortSignal): Promise<string | undefined> => {
  try {
    await work
    return undefined
  } catch (error) {
    if (signal.aborted) throw error
    return messageOf(error)
  }
}

async function place(
  { clients, clock, inClusters }: ActTools,
  kind: 'DeployPrograms' | 'RemovePrograms',
  cluster: Cluster,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const deployed = await bounded(signal, async (within) => {
    const objects = kind === 'DeployPrograms' ? await inClusters() : []
    return clients.using(idOf(cluster), (client) => deployPrograms({ client, clock, signal: within }, cluster, objects))
  })
  // What is left of them stays recorded.
  return kind === 'RemovePrograms' && deployed.problem !== undefined
    ? { kind: 'Unfinished', reason: deployed.problem }
    : applied(deployed)
}

type Disruptive = Extract<ClusterAction, { readonly by: Authority }>

const CHANGE: readonly Disruption[] = ['ChangeControlPlane']
const DELETE: readonly Disruption[] = ['DeleteControlPlane']

const OPERATIONS: Readonly<Record<Disruptive['kind'], readonly Disruption[]>> = {
  Put: CHANGE,
  Stop: CHANGE,
  Restore: CHANGE,
  Defragment: CHANGE,
  ReplaceMember: CHANGE,
  RemoveMachines: DELETE,
  Delete: DELETE,
}

async function disrupt(
  clearance: Clearance,
  tools: ActTools,
  action: Disruptive,
  { cluster }: Seen,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const { host } = tools
  const id = idOf(cluster)
  switch (action.kind) {
    case 'Put':
      return applied(await host.put(action.request, signal))
    case 'Stop':
      await host.stop(id, signal)
      return applied()
    case 'Restore': {
      const result = await host.restore(id, { snapshot: action.snapshot, token: action.token }, signal)
      return result === 'Restored' ? applied() : outdated(`the restore of ${action.snapshot} answered ${result}`)
    }
    case 'Defragment':
      await host.defragment?.(id, action.number, signal)
      return applied()
    case 'ReplaceMember':
      return applied(await host.replaceMember?.(id, action.number, signal))
    case 'RemoveMachines':
      return removeMachines(clearance, tools, id, signal)
    case 'Delete':
      // Owned: if another Cluster has the name by now, it keeps its control plane.
      await host.delete(id, { owner: cluster.metadata.uid ?? '', ...defined({ keep: action.keep }) }, signal)
      return applied()
    default:
      return assertNever(action)
  }
}

/** Another leader or a person may have changed the Cluster since the decision. */
async function unlessStale(
  { client }: ActTools,
  { cluster }: Seen,
  signal: AbortSignal,
  work: () => Promise<ActionOutcome>,
): Promise<ActionOutcome> {
  const fresh = await recheck(client, clusterKind, cluster, signal)
  if (fresh.kind === 'Stale') return outdated(fresh.seen)
  return work()
}

interface KubeconfigOf {
  readonly key: ReturnType<typeof secretKey>
  readonly program: string
}

async function writeKubeconfig(
  { client, host }: ActTools,
  cluster: Cluster,
  { key, program }: KubeconfigOf,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const found = await client.get(SECRET, key, { signal })
  if (found !== undefined && kubeconfigSeen(found).owner === undefined)
    return outdated('the Secret belongs to a person')
  const identity = { user: programUser(program), groups: [], lifeMs: KUBECONFIG_LIFE_MS }
  const text = await host.kubeconfig(idOf(cluster), identity, signal)
  if (text === undefined) return outdated('the control plane does not exist')
  return applyObject(client, SECRET, secretOf(cluster, key, text), { fieldManager, force: true, signal })
}

/** Only the kubeconfig created for this Cluster. */
async function deleteKubeconfig(
  client: KubeClient,
  cluster: Cluster,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const found = await client.get(SECRET, key, { signal })
  if (found === undefined || kubeconfigSeen(found).owner !== cluster.metadata.uid) return applied()
  return deletedIsDone(await deleteExactly(client, SECRET, found, { signal }))
}

/** Errors are in the status. If the server does not answer, retry as with any lost call. */
async function giveAddons(
  { addons, clients, clock }: ActTools,
  id: string,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const wanted = await addons()
  return applied(
    await givenWithin(wanted, { signal, ms: GIVEN_WITHIN_MS }, (within) =>
      clients.using(id, (client) => applyAddons({ client, clock, signal: within }, wanted)),
    ),
  )
}

/**
 * The hub's Defender permits the deletion of the whole cluster. So a hold lifts the deletion limit in that cluster while the deletion waits for
 * machines. Drains still need permits from the cluster's own Defender. An annotation makes the sets remove their machines and create no new ones.
 */
async function removeMachines(
  _clearance: Clearance,
  { clients, clock }: ActTools,
  id: string,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const outcomes: WriteOutcome<unknown>[] = []
  const attempt = async (work: () => Promise<unknown>): Promise<void> => void outcomes.push(await outcomeOf(work))
  const isHere = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp === undefined
  await clients.using(id, async (client) => {
    await attempt(() => client.apply(operationalHold, leaving(clock.now()), { fieldManager, force: true, signal }))
    const sets = (await client.list(machineSet, { signal })).items
    for (const set of sets.filter((s) => isHere(s) || s.metadata.annotations?.[LEAVES] !== 'true')) {
      const key = { name: set.metadata.name ?? '' }
      const value = { metadata: { annotations: { [LEAVES]: 'true' } } }
      await attempt(() => client.patch(machineSet, key, { type: 'merge', value }, { signal }))
      if (isHere(set)) await attempt(() => client.delete(machineSet, key, { signal }))
    }
    const machines = (await client.list(machine, { signal })).items.filter((m) => m.spec.channel !== 'Observe')
    for (const { metadata } of machines.filter(isHere))
      await attempt(() => client.delete(machine, { name: metadata.name ?? '' }, { signal }))
  })
  // Stale: already deleted.
  const refused = outcomes.find((o) => o.kind !== 'Applied' && o.kind !== 'Stale')
  return refused === undefined ? applied() : outdated(refused.error.message)
}

const LEAVES = ANNOTATIONS.clusterLeaves
/** Renewed while the deletion waits for machines. */
const LIFTED_MS = 10 * 60_000

const leaving = (now: number): OperationalHold => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'OperationalHold',
  metadata: { name: CLUSTER_LEAVES },
  spec: {
    target: { kind: 'Cluster', selector: {} },
    effect: 'Unprotect',
    reason: 'the cluster is being deleted, with a permit of the hub',
    author: programUser('cluster'),
    until: timestamp(now + LIFTED_MS),
  },
})

const deletedIsDone = (outcome: WriteOutcome<unknown>): ActionOutcome =>
  outcome.kind === 'Stale' ? applied() : outcome

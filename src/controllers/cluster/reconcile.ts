// The cluster controller on a hub: creates the control plane of each Cluster that declares one, keeps it as declared, and removes it.
import { cluster as clusterKind, type Cluster } from '#api/kinds/cluster.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { keyFrom, namespacedName } from '#api/schema/object-meta.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Addons } from './addons/built-in.ts'
import type { ControlPlaneHost } from '#controlplanes/port.ts'
import type { EventRecorder } from '#kube/events.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { EndedPermits } from '#permits/ended-for.ts'
import { controllerIn, type Module, type ModuleContext, type RunningModule } from '#runtime/module.ts'
import { reconcileWith } from '#runtime/reconcile-with.ts'
import { writeStatus } from '#runtime/write-status.ts'
import { act } from './act.ts'
import type { ClusterAction, ClusterPlan } from './actions.ts'
import { clusterFigures } from './metrics.ts'
import { Hosts } from './control-planes/hosts.ts'
import { cachesOf, observe } from './observe.ts'
import type { ClosableClient } from './control-planes/clients.ts'
import { CREATION_LIMIT } from './plan-creation.ts'
import { plan } from './plan.ts'
import { LeaderWatch } from './programs/leader-watch.ts'
import type { Seen } from './seen.ts'
import { statusOf } from './status.ts'

export interface ClusterContext extends ModuleContext {
  readonly events: EventRecorder
  /** One per flavor. */
  readonly hosts: readonly [ControlPlaneHost, ...ControlPlaneHost[]]
  readonly connect: (config: ConnectionConfig) => ClosableClient
  /** This hub runs controllers, approver and Defender of its Clusters. */
  readonly hostsPrograms?: boolean
  /** Objects of programs that run in a cluster, as `kubenode install` wrote them; none if left out. */
  readonly inClusters?: () => Promise<readonly KubeObject[]>
  /** Read once, when the first control plane needs them. */
  readonly addons: () => Promise<Addons>
}

/** A snapshot of a large control plane can take this long. */
const TIMEOUT_MS = 180_000
/** Concurrent changes to control planes. The rest wait, so that a commit with a hundred Clusters does not starve those that serve. */
const WORKERS = 4

const NONE = async (): Promise<readonly KubeObject[]> => []

export const clusterModule: Module<ClusterContext> = {
  name: 'cluster',
  setup(context): RunningModule {
    const { addons, client, clock, events, informers, hostsPrograms = false, inClusters = NONE } = context
    const caches = cachesOf(informers)
    const hosts = new Hosts(context.hosts, context.connect)
    const ended = new EndedPermits(clock)
    const leaders = new LeaderWatch(clock)
    const controller = controllerIn(context, {
      name: 'cluster',
      workers: WORKERS,
      timeoutMs: TIMEOUT_MS,
      allKeys: () => caches.clusters.list().map(namespacedName),
      reconcile: reconcileWith<Seen, ClusterAction, ReturnType<typeof statusOf>, ClusterPlan>({
        clock,
        observe: (key, { signal }) =>
          observe(
            { addons, client, caches, hosts, hostsPrograms, inClusters, ended, leaders, now: () => clock.now() },
            key,
            signal,
          ),
        plan,
        act: async (action, seen, { signal }) => {
          const outcome = await act(
            { addons, client, clock, inClusters, ...hosts.of(seen.cluster) },
            action,
            seen,
            signal,
          )
          // The next pass must not add it again.
          if (action.kind === 'AddFinalizer' && outcome.kind === 'Applied')
            caches.clusters.assume(outcome.object as Cluster)
          return outcome
        },
        status: (seen, planned, results) => {
          const isOver = results.some((r) => r.action.kind === 'RemoveFinalizer' && r.outcome.kind === 'Applied')
          // The action made the object newer than the observed one. The next pass writes the status.
          const isNewer = results.some((r) => r.action.kind === 'AddFinalizer' || r.action.kind === 'DeleteCluster')
          return isOver || isNewer ? undefined : statusOf(seen, planned, results, clock.now())
        },
        writeStatus: (status, { cluster }, { signal }) =>
          writeStatus({
            client,
            type: clusterKind,
            cache: caches.clusters,
            object: cluster,
            status,
            fieldManager: FIELD_MANAGERS.cluster,
            signal,
          }),
        onPlan: ({ notices }, key) => {
          const cluster = caches.clusters.get(keyFrom(key))
          for (const { reason, message, severity = 'Normal' } of cluster === undefined ? [] : notices)
            if (cluster !== undefined)
              events.record(cluster, { type: severity, reason, action: 'ChangeControlPlane', note: message })
        },
      }),
    })
    // When a Cluster has been created, the next one in line starts.
    const onTurn = (): void => {
      for (const cluster of caches.clusters.list())
        if (cluster.status?.waitingFor?.predicate === CREATION_LIMIT) controller.enqueue(namespacedName(cluster))
    }
    caches.clusters.onChange((before, now) => {
      const changed = now ?? before
      if (changed !== undefined && (before === undefined || now === undefined || isNews(before, now)))
        controller.enqueue(namespacedName(changed))
      if (now === undefined || before?.status?.phase !== now.status?.phase) onTurn()
    })
    caches.permits.onChange((before, now) => {
      const { requester } = (now ?? before)?.spec ?? {}
      if (requester?.manager === FIELD_MANAGERS.cluster && requester.name !== undefined)
        controller.enqueue(`${requester.namespace ?? ''}/${requester.name}`)
    })
    caches.approvals.onChange((_, now) => {
      if (now?.spec.of?.kind !== 'OperationPermit') return
      for (const cluster of caches.clusters.list())
        if (cluster.status?.waitingFor?.predicate === 'ApprovalMissing') controller.enqueue(namespacedName(cluster))
    })
    const onLimits = (): void => {
      for (const cluster of caches.clusters.list())
        if (cluster.spec.ttl !== undefined || cluster.status?.waitingFor?.predicate === CREATION_LIMIT)
          controller.enqueue(namespacedName(cluster))
    }
    // A deletion starts once git no longer declares the Cluster, or a hold lifts its protection.
    const onDeclared = (): void => {
      for (const cluster of caches.clusters.list())
        if (cluster.status?.waitingFor?.predicate === 'StillDeclared') controller.enqueue(namespacedName(cluster))
    }
    caches.inventories.onChange(onDeclared)
    caches.holds.onChange((before, now) => {
      const effect = (now ?? before)?.spec.effect
      if (effect === 'Unprotect') onDeclared()
      if (effect === 'Extend') onLimits()
    })
    caches.policies.onChange((before, now) => {
      if (before?.spec.clusters !== undefined || now?.spec.clusters !== undefined) onLimits()
    })
    const figures = clusterFigures(context.metrics.registry, () => caches.clusters.list())
    return { controllers: [controller], parts: [figures] }
  },
}

/** Ignores changes of its own status. */
const isNews = (before: Cluster, now: Cluster): boolean =>
  before.metadata.generation !== now.metadata.generation ||
  before.metadata.deletionTimestamp !== now.metadata.deletionTimestamp ||
  (before.metadata.finalizers ?? []).length !== (now.metadata.finalizers ?? []).length

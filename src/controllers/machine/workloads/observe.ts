// Reads the DaemonSets behind a machine's components, their newest template and their pods on its node. Only while one of them is changing.
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { KubeClient } from '#kube/client.ts'
import { podsOn } from '#nodes/drain.ts'
import type { Pod } from '#nodes/objects.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { type ControllerRevision, controllerRevisionType } from '../components/claims.ts'
import { type WorkloadSeen, isSettled } from './state.ts'

const daemonSetType = coreKind('DaemonSet')

/** A DaemonSet keeps ten revisions by default, and a namespace has a few dozen workloads. */
const MOST_REVISIONS = 500

const isOwnedBy = ({ metadata }: KubeObject, uid: string | undefined): boolean =>
  metadata.ownerReferences?.some((o) => o.controller === true && o.uid === uid) === true

/** The hash of the highest revision: what new pods get. */
export function newestHash(daemonSet: KubeObject, revisions: readonly ControllerRevision[]): string | undefined {
  const own = revisions.filter((r) => isOwnedBy(r, daemonSet.metadata.uid))
  const [newest] = own.toSorted((a, b) => b.revision - a.revision)
  return newest?.metadata.labels?.['controller-revision-hash']
}

/** Undefined entries were not read or could not be read. Nothing is concluded from them. */
export async function observeWorkloads(
  client: KubeClient,
  machine: Machine,
  node: string | undefined,
  definitions: readonly MachineComponent[],
  signal: AbortSignal,
): Promise<readonly WorkloadSeen[]> {
  const moving = (machine.spec.components ?? []).filter(
    (entry) =>
      entry.workload === true &&
      !isSettled(
        entry,
        machine.status?.components?.find((r) => r.name === entry.name),
      ),
  )
  if (moving.length === 0 || node === undefined) return []
  const read = async (): Promise<readonly WorkloadSeen[]> => {
    const pods = await podsOn(client, node, signal)
    const reads = moving.map(async ({ name, version }): Promise<WorkloadSeen[]> => {
      const named = definitions.find(({ spec }) => spec.component === name && spec.version === version)?.spec.daemonSet
      return named === undefined ? [] : [await workloadOf(client, name, named, pods, signal)]
    })
    return (await Promise.all(reads)).flat()
  }
  // One unreadable workload must not block everything else that the machine needs.
  return read().catch(() => [])
}

async function workloadOf(
  client: KubeClient,
  component: string,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  pods: readonly Pod[],
  signal: AbortSignal,
): Promise<WorkloadSeen> {
  const daemonSet = await client.get(daemonSetType, { namespace, name }, { signal })
  if (daemonSet === undefined) return { component, daemonSet, newestHash: undefined, pods: [] }
  const revisions = await client.list(controllerRevisionType, { namespace, limit: MOST_REVISIONS, signal })
  return {
    component,
    daemonSet,
    // The newest revision may be on a later page.
    newestHash: revisions.continue === undefined ? newestHash(daemonSet, revisions.items) : undefined,
    pods: pods.filter((p) => p.metadata.namespace === namespace && isOwnedBy(p, daemonSet.metadata.uid)),
  }
}

// Gathers what a rollout is decided from, out of caches that are complete and fresh; what a slice names and no cache knows is asked for at the server.
import { componentConfig } from '#api/kinds/component-config.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { nodeType } from '#nodeops/objects.ts'
import { type Informers, requireFresh } from '#runtime/informers.ts'
import { configNames } from './configs.ts'
import type { ReadingMemo } from './members.ts'
import { isAtWork } from './context.ts'
import { type ControllerRevision, controllerRevisionType } from './revisions.ts'
import type { Seen } from './seen.ts'

const BY_REQUESTER = 'componentset-requester'
const BY_OWNER = 'componentset-owner'

export type Caches = ReturnType<typeof cachesOf>

export function cachesOf(informers: Informers) {
  return {
    sets: informers.of(machineComponentSet),
    machines: informers.of(machine),
    nodes: informers.of(nodeType),
    permits: informers.of(operationPermit, { indexes: { [BY_REQUESTER]: (p) => [requesterUid(p) ?? ''] } }),
    holds: informers.of(operationalHold),
    components: informers.of(machineComponent),
    configs: informers.of(componentConfig),
    revisions: informers.of(controllerRevisionType, {
      selection: { namespace: SYSTEM_NAMESPACE },
      indexes: { [BY_OWNER]: (r: ControllerRevision) => (r.metadata.ownerReferences ?? []).map((o) => o.uid) },
    }),
  }
}

const requesterUid = ({ spec: { requester } }: OperationPermit): string | undefined =>
  requester.manager === FIELD_MANAGERS.componentSet ? requester.uid : undefined

export const requestingSet = ({ spec: { requester } }: OperationPermit): string | undefined =>
  requester.manager === FIELD_MANAGERS.componentSet ? requester.name : undefined

export async function observe(
  caches: Caches,
  client: KubeClient,
  name: string,
  memo: ReadingMemo,
  signal?: AbortSignal,
): Promise<Seen | undefined> {
  requireFresh(Object.values(caches))
  const set = caches.sets.get(name)
  if (set === undefined || set.metadata.deletionTimestamp !== undefined) return undefined
  const uid = set.metadata.uid ?? ''
  const permits = new Map(caches.permits.byIndex(BY_REQUESTER, uid).map((p) => [p.metadata.name ?? '', p]))
  for (const permit of await missing(set, permits, client, signal)) permits.set(permit.metadata.name ?? '', permit)
  return {
    set,
    revisions: caches.revisions.byIndex(BY_OWNER, uid),
    machines: caches.machines.list(),
    nodes: caches.nodes,
    permits,
    holds: caches.holds.list(),
    sets: caches.sets.list(),
    components: caches.components,
    memo,
    configs: new Set(configNames(set).filter((c) => caches.configs.get(c) !== undefined)),
  }
}

/** A slice at work whose permit a cache does not know: it is either younger than the cache, or it was deleted. */
async function missing(
  set: MachineComponentSet,
  known: ReadonlyMap<string, OperationPermit>,
  client: KubeClient,
  signal: AbortSignal | undefined,
): Promise<readonly OperationPermit[]> {
  const names = (set.status?.waves ?? []).flatMap(({ permit, ...w }) =>
    permit !== undefined && isAtWork({ ...w, permit }) && !known.has(permit) ? [permit] : [],
  )
  const found = await Promise.all(names.map((name) => client.get(operationPermit, { name }, signal && { signal })))
  return found.filter((p) => p !== undefined).filter((p) => requesterUid(p) === set.metadata.uid)
}

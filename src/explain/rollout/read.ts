// What rollout commands read from a cluster: sets with their revisions, canaries, and the holds on them.
import { type ComponentCanary, componentCanary } from '#api/kinds/component-canary.ts'
import { machine } from '#api/kinds/machine.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import { matchesLabels } from '#kube/selector.ts'
import { systemClock } from '#lib/system-clock.ts'
import { isInForce, readable } from '#permits/holds/in-force.ts'
import { findObject } from '../objects/find-object.ts'
import { revisionType, revisionsOf } from './revisions.ts'

export async function setAndRevisions(client: KubeClient, name: string) {
  const set = await findObject(client, machineComponentSet, name, 'set')
  return { set, revisions: revisionsOf(set, await listAll(client, revisionType, { namespace: SYSTEM_NAMESPACE })) }
}

export async function canaryNamed(client: KubeClient, name: string): Promise<ComponentCanary> {
  return findObject(client, componentCanary, name, 'canary')
}

export async function holdsOver(client: KubeClient, kind: string, name: string): Promise<readonly OperationalHold[]> {
  const now = systemClock.now()
  return (await listAll(client, operationalHold)).map(readable).filter((h) => {
    const { target } = h.spec
    return target.kind === kind && (target.name === undefined || target.name === name) && isInForce(h, now)
  })
}

/** Sets whose selector matches a machine of the canary. */
export async function setsOfMachines(
  client: KubeClient,
  { status }: ComponentCanary,
  sets: readonly MachineComponentSet[],
): Promise<readonly MachineComponentSet[]> {
  const found = await Promise.all((status?.machines ?? []).map((name) => client.get(machine, { name })))
  return sets.filter((s) => found.some((m) => m !== undefined && matchesLabels(s.spec.selector, m.metadata.labels)))
}

// What the commands of rollouts read of a cluster: sets with their revisions, canaries, and the holds over them.
import type { ComponentCanary } from '#api/kinds/component-canary.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'

export async function setAndRevisions(client: KubeClient, name: string) {
  const [{ machineComponentSet }, { revisionType, revisionsOf }, { SYSTEM_NAMESPACE }, { findObject }] =
    await Promise.all([
      import('#api/kinds/machine-component-set.ts'),
      import('#explain/rollout/revisions.ts'),
      import('#api/names.ts'),
      import('#explain/objects/find-object.ts'),
    ])
  const set = await findObject(client, machineComponentSet, name, 'set')
  return { set, revisions: revisionsOf(set, await listAll(client, revisionType, { namespace: SYSTEM_NAMESPACE })) }
}

export async function canaryNamed(client: KubeClient, name: string): Promise<ComponentCanary> {
  const [{ componentCanary }, { findObject }] = await Promise.all([
    import('#api/kinds/component-canary.ts'),
    import('#explain/objects/find-object.ts'),
  ])
  return findObject(client, componentCanary, name, 'canary')
}

export async function holdsOver(client: KubeClient, kind: string, name: string): Promise<readonly OperationalHold[]> {
  const [{ operationalHold }, { isInForce, readable }] = await Promise.all([
    import('#api/kinds/operational-hold.ts'),
    import('#permits/holds/in-force.ts'),
  ])
  const now = systemClock.now()
  return (await listAll(client, operationalHold)).map(readable).filter((h) => {
    const { target } = h.spec
    return target.kind === kind && (target.name === undefined || target.name === name) && isInForce(h, now)
  })
}

/** Those whose selector matches a machine of the canary. */
export async function setsOfMachines(
  client: KubeClient,
  { status }: ComponentCanary,
  sets: readonly MachineComponentSet[],
): Promise<readonly MachineComponentSet[]> {
  const [{ machine }, { matchesLabels }] = await Promise.all([
    import('#api/kinds/machine.ts'),
    import('#kube/selector.ts'),
  ])
  const found = await Promise.all((status?.machines ?? []).map((name) => client.get(machine, { name })))
  return sets.filter((s) => found.some((m) => m !== undefined && matchesLabels(s.spec.selector, m.metadata.labels)))
}

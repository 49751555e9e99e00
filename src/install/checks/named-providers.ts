// Finds sets and Machines with a provider that the controllers do not serve: they never get a host.
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import { providersNamedBy } from '#declared/providers.ts'
import { listPages } from '#kube/list-all.ts'
import { leaseType } from '#runtime/lease.ts'
import { providersOn } from '#runtime/served-providers.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { ifServed, type InstallContext } from '../context.ts'

export interface NamedProviders {
  readonly served: readonly string[]
  /** What names another provider, such as `machineset workers: proces`. */
  readonly others: readonly string[]
}

/** Undefined if no controllers that publish it have led here yet. */
export async function namedProviders(context: InstallContext): Promise<NamedProviders | undefined> {
  const { client } = context
  const key = { namespace: SYSTEM_NAMESPACE, name: programLeaseName('controllers') }
  const served = providersOn(await client.get(leaseType, key))
  if (served === undefined) return undefined
  const all = [...(await namedIn(context, machineSet)), ...(await namedIn(context, machine))]
  return { served, others: all.flatMap(({ name, by }) => (served.includes(name) ? [] : [`${by}: ${name}`])) }
}

async function namedIn<T extends KubeObject>(context: InstallContext, type: ResourceType<T>) {
  const found: { by: string; name: string }[] = []
  await ifServed(async () => {
    for await (const page of listPages(context.client, type))
      for (const object of page)
        for (const { name } of providersNamedBy({ ...object, kind: type.kind }))
          if (name !== undefined) found.push({ by: `${type.kind.toLowerCase()} ${object.metadata.name}`, name })
  })
  return found
}

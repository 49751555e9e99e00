// One cluster as sync reaches it: its client, and what was learnt about its kinds.
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ListOptions } from '#kube/client.ts'
import type { ResourceType } from '#schema/resource.ts'
import { ResourceTypes } from './resource-types.ts'

export interface ClusterConnection {
  readonly name: string
  /** For the objects of a source: acts as that source where it has an identity of its own. */
  readonly client: KubeClient
  /** Sync itself: for Inventories and for readings that keep others safe, whatever the source may read. */
  readonly program: KubeClient
  readonly types: ResourceTypes
}

export const connectTo = (
  name: string,
  program: KubeClient,
  now: () => number,
  client: KubeClient = program,
): ClusterConnection => ({ name, client, program, types: new ResourceTypes(client, now) })

/** Answers of a hundred kilobytes or so. */
const PAGE = 500

export async function listAll<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  options: ListOptions = {},
): Promise<readonly T[]> {
  const items: T[] = []
  let next: string | undefined
  do {
    const page = await client.list<T>(type, {
      ...options,
      limit: PAGE,
      ...(next === undefined ? {} : { continue: next }),
    })
    items.push(...page.items)
    next = page.continue
  } while (next !== undefined && next !== '')
  return items
}

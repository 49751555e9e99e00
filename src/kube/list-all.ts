// Lists all objects of a kind from the server page by page, so that no single response is unbounded.
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { KubeClient, ListOptions } from './client.ts'
import { defined } from '#lib/defined.ts'

/** Like kubectl: a page of large objects stays within some megabytes. */
const PAGE = 500

type Options = Omit<ListOptions, 'limit' | 'continue'>

/** Some servers end a list with an empty token, others with none. */
export async function* listPages<T extends KubeObject>(
  client: Pick<KubeClient, 'list'>,
  type: ResourceType<T>,
  options: Options = {},
): AsyncGenerator<readonly T[]> {
  let token: string | undefined
  do {
    const more: ListOptions = { ...options, limit: PAGE, ...defined({ continue: token }) }
    const page = await client.list<T>(type, more)
    yield page.items
    token = page.continue
  } while (token !== undefined && token !== '')
}

export async function listAll<T extends KubeObject>(
  client: Pick<KubeClient, 'list'>,
  type: ResourceType<T>,
  options: Options = {},
): Promise<readonly T[]> {
  const items: T[] = []
  for await (const page of listPages(client, type, options)) items.push(...page)
  return items
}

// Lists all objects of a kind from the server page by page, so that no single response is unbounded.
import type { KubeObject } from '#api/schema/object.ts'
import { qualifiedPlural, type ResourceType } from '#api/schema/resource.ts'
import type { KubeClient, ListOptions, ListPage } from './client.ts'
import { ConnectionError } from './errors.ts'
import { kubeErrors } from './kube-errors.ts'
import { emptyPages, smallerPage } from './page-size.ts'
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
  for await (const { items } of pages(client, type, options)) yield items
}

async function* pages<T extends KubeObject>(
  client: Pick<KubeClient, 'list'>,
  type: ResourceType<T>,
  options: Options,
): AsyncGenerator<ListPage<T>> {
  let limit = PAGE
  let token: string | undefined
  let empty = 0
  for (;;) {
    const more: ListOptions = { ...options, limit, ...defined({ continue: token }) }
    const page = await client.list<T>(type, more).catch((error: unknown) => {
      limit = smallerPage(limit, error)
    })
    if (page === undefined) continue
    yield page
    token = page.continue
    if (token === undefined || token === '') return
    empty = emptyPages(empty, page.items, type)
  }
}

/** Keeps whole objects, as far as the client says how many. */
export async function listAll<T extends KubeObject>(
  client: Pick<KubeClient, 'list' | 'mostListed'>,
  type: ResourceType<T>,
  options: Options = {},
): Promise<readonly T[]> {
  const { mostListed: most = Number.POSITIVE_INFINITY } = client
  const found: T[] = []
  let size = 0
  for await (const page of pages(client, type, options)) {
    size += page.size ?? 0
    if (size > most)
      throw new ConnectionError(kubeErrors.KN2005_list({ plural: qualifiedPlural(type), maxLength: most }), 'no')
    found.push(...page.items)
  }
  return found
}

/** Keeps what is wanted of each object: whole ones of a large cluster, or of a hostile one, do not fit into memory. */
export async function listWanted<T extends KubeObject, U>(
  client: Pick<KubeClient, 'list'>,
  type: ResourceType<T>,
  options: Options,
  wanted: (object: T) => readonly U[],
): Promise<readonly U[]> {
  const found: U[] = []
  for await (const page of listPages(client, type, options)) for (const object of page) found.push(...wanted(object))
  return found
}

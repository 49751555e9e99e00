// Lists all objects of a kind from the server page by page, so that no single response is unbounded.
import type { KubeObject } from '#api/schema/object.ts'
import { qualifiedPlural, type ResourceType } from '#api/schema/resource.ts'
import type { KubeClient, ListOptions, ListPage } from './client.ts'
import { ConnectionError } from './errors.ts'
import { kubeErrors } from './kube-errors.ts'
import { NOTHING_READ, readFurther, smallerPage } from './page-size.ts'
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
  let read = NOTHING_READ
  for (;;) {
    const more: ListOptions = { ...options, limit, ...defined({ continue: token }) }
    const page = await client.list<T>(type, more).catch((error: unknown) => {
      limit = smallerPage(limit, error)
    })
    if (page === undefined) continue
    yield page
    token = page.continue
    if (token === undefined || token === '') return
    read = readFurther(read, page.items, type)
  }
}

/** Keeps whole objects, as far as the client says how many. */
export async function listAll<T extends KubeObject>(
  client: Pick<KubeClient, 'list' | 'mostListed'>,
  type: ResourceType<T>,
  options: Options = {},
): Promise<readonly T[]> {
  const found: T[] = []
  let size = 0
  for await (const page of pages(client, type, options)) {
    size += page.size ?? 0
    checkSize(size, client, type)
    found.push(...page.items)
  }
  return found
}

/**
 * Keeps what is wanted of each object, as far as the client says how much: whole ones of a large cluster, or of a hostile one, do not fit into memory. A hostile one
 * may also have the same object in every page.
 */
export async function listWanted<T extends KubeObject, U extends object | string | true>(
  client: Pick<KubeClient, 'list' | 'mostListed'>,
  type: ResourceType<T>,
  options: Options,
  wanted: (object: T) => readonly U[],
): Promise<readonly U[]> {
  const found: U[] = []
  let size = 0
  for await (const page of listPages(client, type, options))
    for (const part of page.flatMap(wanted)) {
      if (client.mostListed !== undefined) size += JSON.stringify(part).length
      checkSize(size, client, type)
      found.push(part)
    }
  return found
}

function checkSize(
  size: number,
  { mostListed: most = Number.POSITIVE_INFINITY }: Pick<KubeClient, 'mostListed'>,
  type: ResourceType,
): void {
  if (size > most)
    throw new ConnectionError(kubeErrors.KN2005_list({ plural: qualifiedPlural(type), maxLength: most }), 'no')
}

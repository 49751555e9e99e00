// How many objects to request for the next list page, so that a page stays small in memory whatever the object size; and whether to request one at all. Pure.
import type { KubeObject } from '#api/schema/object.ts'
import { qualifiedPlural, type ResourceType } from '#api/schema/resource.ts'
import { ConnectionError, isTooLong } from './errors.ts'
import { kubeErrors } from './kube-errors.ts'

/** client-go's default, and the number in this project's spec, for objects of a few kilobytes. */
const MAX_PAGE = 500
/** The first page is small, because object sizes are not known yet. */
export const FIRST_PAGE = 100
/** Where a page has more than the client reads, each is asked for with fewer objects. */
const FEWER = 4
const MIN_PAGE = 20
/** JSON bytes per page; parsing briefly holds about three times this. */
const PAGE_BYTES = 700_000
const SAMPLES = 8
/** Pages without an object, one after the other, after which more must follow. An API server has none; one that was taken over may have them without end. */
export const MOST_EMPTY_PAGES = 100
/** Of one list. Clusters have a hundredth of it of each kind; a server that was taken over may have the same object in page after page. */
export const MOST_OBJECTS = 1_000_000

export function nextPageSize(page: readonly KubeObject[]): number {
  const bytes = typicalBytes(page)
  if (bytes === 0) return MAX_PAGE
  return Math.max(MIN_PAGE, Math.min(MAX_PAGE, Math.floor(PAGE_BYTES / bytes)))
}

/** The next page where one of this size was too long to read; throws the error if no smaller one helps. */
export function smallerPage(size: number, error: unknown): number {
  if (size === 1 || !isTooLong(error)) throw error
  return Math.ceil(size / FEWER)
}

/** How far a list was read. */
export interface ListRead {
  readonly objects: number
  /** The last pages, as far as they had none. */
  readonly emptyPages: number
}

export const NOTHING_READ: ListRead = { objects: 0, emptyPages: 0 }

/** With this page; throws if the list does not end. */
export function readFurther(
  before: ListRead,
  page: readonly unknown[],
  type: Pick<ResourceType, 'plural' | 'group'>,
): ListRead {
  const objects = before.objects + page.length
  const emptyPages = page.length > 0 ? 0 : before.emptyPages + 1
  const plural = qualifiedPlural(type)
  if (emptyPages > MOST_EMPTY_PAGES)
    throw new ConnectionError(kubeErrors.KN2005_empty({ plural, most: MOST_EMPTY_PAGES }), 'no')
  if (objects > MOST_OBJECTS) throw new ConnectionError(kubeErrors.KN2005_endless({ plural, most: MOST_OBJECTS }), 'no')
  return { objects, emptyPages }
}

/** The mean of a few samples spread over the page. */
function typicalBytes(page: readonly KubeObject[]): number {
  const step = Math.max(1, Math.floor(page.length / SAMPLES))
  let bytes = 0
  let count = 0
  for (let i = 0; i < page.length; i += step) {
    bytes += JSON.stringify(page[i]).length
    count++
  }
  return count === 0 ? 0 : bytes / count
}

// Reads all pages of a list or fails: an incomplete list is useless.
import { KubeNodeError } from '#lib/errors.ts'
import { providersErrors } from '../providers-errors.ts'

/** A hundred hosts each. */
const MOST_PAGES = 1_000

export interface Page<T> {
  readonly items: readonly T[]
  /** Empty or missing on the last page. */
  readonly next?: string | undefined
}

export async function allPages<T>(
  what: string,
  page: (next: string | undefined) => Promise<Page<T>>,
): Promise<readonly T[]> {
  const items: T[] = []
  const asked = new Set<string | undefined>()
  let next: string | undefined
  do {
    const isEndless = asked.has(next) || asked.size >= MOST_PAGES
    if (isEndless) throw new KubeNodeError(providersErrors.KN11045({ what, pages: asked.size }), { retry: 'later' })
    asked.add(next)
    const found = await page(next)
    for (const item of found.items) items.push(item)
    next = found.next === '' ? undefined : found.next
  } while (next !== undefined)
  return items
}

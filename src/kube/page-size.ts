// How many objects the next page of a list asks for, so that a page stays small in memory whatever an object weighs. Pure.
import type { KubeObject } from '#api/schema/object.ts'

/** client-go's and our spec's number for objects of a few kilobytes. */
const MAX_PAGE = 500
/** The first page is small: nothing is known yet about the objects. */
export const FIRST_PAGE = 100
const MIN_PAGE = 20
/** Bytes of JSON a page; parsing holds about three times this for a moment. */
const PAGE_BYTES = 700_000
const SAMPLES = 8

export function nextPageSize(page: readonly KubeObject[]): number {
  const bytes = typicalBytes(page)
  if (bytes === 0) return MAX_PAGE
  return Math.max(MIN_PAGE, Math.min(MAX_PAGE, Math.floor(PAGE_BYTES / bytes)))
}

/** The mean of a few, spread over the page. */
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

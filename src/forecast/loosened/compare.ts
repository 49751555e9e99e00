// Whether a limit lets more through than before. Limits that cannot be compared count as looser, so that a reviewer reads them. Pure.
import { durationMs } from '#lib/duration.ts'
import { jsonEqual } from '#lib/json.ts'

/** Sentences about one object. */
export type Found = readonly string[]

type Limit = number | string

/** A number and a percentage cannot be compared. */
function isMore(before: Limit, after: Limit): boolean {
  if (typeof before !== typeof after) return true
  return Number.parseFloat(String(after)) > Number.parseFloat(String(before))
}

/** No limit before is stricter than any; `absent` tells when it is the opposite. */
export const raised = (what: string, before: Limit | undefined, after: Limit | undefined): Found =>
  jsonEqual(before, after) || (before !== undefined && after !== undefined && !isMore(before, after))
    ? []
    : [changed(what, before, after)]

export const lowered = (what: string, before: Limit | undefined, after: Limit | undefined): Found =>
  jsonEqual(before, after) ||
  before === undefined ||
  (after !== undefined && typeof before === typeof after && isMore(before, after))
    ? []
    : [changed(what, before, after)]

export const shortened = (what: string, before: string, after: string): Found =>
  (durationMs(after) ?? 0) < (durationMs(before) ?? 0) ? [changed(what, before, after)] : []

const changed = (what: string, before: Limit | undefined, after: Limit | undefined): string =>
  `${what} ${before ?? 'not set'} → ${after ?? 'not set'}`

/** New entries, as text. */
export const added = (before: readonly string[] = [], after: readonly string[] = []): readonly string[] =>
  after.filter((one) => !before.includes(one))

/** Windows in which a change may happen: fewer are never looser; different ones are for a reviewer to read. */
export const windowsFound = (before: readonly unknown[] = [], after: readonly unknown[] = []): Found => {
  if (before.length === 0) return []
  if (after.length === 0) return ['its windows are removed']
  return after.every((w) => before.some((old) => jsonEqual(old, w))) ? [] : ['its maintenance windows change']
}

export interface Approvers {
  readonly from: readonly string[]
  readonly count: number
}

export const approversFound = (what: string, before: Approvers, after: Approvers): Found => {
  const more = added(before.from, after.from)
  return [
    ...(after.count < before.count ? [`${what} needs ${after.count} in place of ${before.count} approvals`] : []),
    ...(more.length > 0 ? [`${what} can be approved by ${more.join(', ')} too`] : []),
  ]
}

// The order of resource versions: decimal numbers of any length, compared without losing digits.

const NUMBER = /^(0|[1-9][0-9]*)$/

/** Below, at or above 0 as for a sort; undefined if either is not a number, so the order is unknown. */
export function compareResourceVersions(a: string | undefined, b: string | undefined): number | undefined {
  if (a === undefined || b === undefined || !NUMBER.test(a) || !NUMBER.test(b)) return undefined
  if (a === b) return 0
  if (a.length !== b.length) return a.length < b.length ? -1 : 1
  return a < b ? -1 : 1
}

/** True only if `a` is known to be older than `b`. */
export const isOlder = (a: string | undefined, b: string | undefined): boolean => {
  const order = compareResourceVersions(a, b)
  return order !== undefined && order < 0
}

/** The newer of the two, or `b` if their order is unknown. */
export const newerOf = (a: string | undefined, b: string): string => (a !== undefined && isOlder(b, a) ? a : b)

/** Of a kube-apiserver they have some ten digits. Caches keep the newest ones. */
const LONGEST = 1_024

export const isLongVersion = (version: unknown): boolean => typeof version === 'string' && version.length > LONGEST

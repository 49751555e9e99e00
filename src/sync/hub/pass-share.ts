// How many clusters one pass over a Release processes at once, and how many requests each of them gets. Pure. Opening a connection costs as much as four
// writes. So many clusters get few connections each, and a single cluster gets as many as its server handles well.

/** Over all clusters: enough to keep a pass busy while distant servers answer. */
const MAX_REQUESTS = 128
const MIN_REQUESTS_EACH = 4
const MAX_REQUESTS_EACH = 16
const MAX_CLUSTERS = 32
const MIN_CLUSTERS = 8
/** Objects that a pass reads and keeps in memory at once, at 3 KB each. */
const MAX_OBJECTS = 40_000

export interface PassShare {
  readonly clusters: number
  readonly requestsEach: number
}

/** `largest`: number of objects in the largest cluster. */
export function passShare(clusters: number, largest: number): PassShare {
  const fitting = Math.floor(MAX_OBJECTS / Math.max(1, largest))
  const atOnce = Math.max(1, Math.min(clusters, MAX_CLUSTERS, Math.max(MIN_CLUSTERS, fitting)))
  const each = Math.floor(MAX_REQUESTS / atOnce)
  return { clusters: atOnce, requestsEach: Math.max(MIN_REQUESTS_EACH, Math.min(MAX_REQUESTS_EACH, each)) }
}

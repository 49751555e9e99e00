// How much counters of the kernel grew within a sliding window. Pure: earlier readings are passed in and returned.

export type Counts = ReadonlyMap<string, number>

interface Seen {
  readonly atMs: number
  readonly counts: Counts
}

/** Oldest first. */
export type Watched = readonly Seen[]

/** Looks to keep. With more in a window, the oldest go, and the window is shorter than asked. */
const MOST_KEPT = 128

export function watchCounts(before: Watched, counts: Counts, nowMs: number, windowMs: number): Watched {
  return [...before.filter((s) => nowMs - s.atMs <= windowMs), { atMs: nowMs, counts }].slice(-MOST_KEPT)
}

/** By name: growth since the oldest look that is kept. A counter that went back was started again, by a driver that was loaded again. */
export function grown(watched: Watched): Counts {
  const [oldest, newest] = [watched[0], watched.at(-1)]
  if (oldest === undefined || newest === undefined) return new Map()
  return new Map(
    [...newest.counts].map(([name, count]) => {
      const then = oldest.counts.get(name) ?? count
      return [name, count < then ? count : count - then]
    }),
  )
}

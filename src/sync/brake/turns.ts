// Decides which clusters may change now. A turn is a lease: it is on the hub before the cluster learns of it, and is given to another cluster only once the first
// one knows that it ended, or its time is over. Pure.
import type { Turn } from '#api/kinds/fleet-brake.ts'
import { timestamp } from '#lib/clock.ts'
import { byCodeUnit } from '#lib/go-text.ts'

/** A hub that is away for longer lets nothing new begin. */
export const TURN_MS = 10 * 60_000
/** Clocks of clusters may be behind that of the hub by this much. */
const MARGIN_MS = 2 * 60_000
/** Not rewritten with every pass. */
const RENEW_BEFORE_MS = TURN_MS / 2

/** Why a cluster needs a turn: it changes already, or would begin. In this order they get one. */
export type Need = 'Changes' | 'Begins'

export interface TurnsSeen {
  readonly before: readonly Turn[]
  /** By namespace and name, in the order in which they asked. */
  readonly needs: ReadonlyMap<string, Need>
  /** Clusters whose copy has no turn: nothing begins there. */
  readonly isReturned: (cluster: string) => boolean
  /** Whether the hub still has this Cluster. */
  readonly isThere: (cluster: string) => boolean
  readonly max: number
}

export function planTurns({ before, needs, isReturned, isThere, max }: TurnsSeen, now: number): readonly Turn[] {
  const kept = before.flatMap((turn): readonly Turn[] => {
    const end = Date.parse(turn.until)
    // A Cluster that left the fleet frees its place at once: nothing is delivered there any more.
    if (!isThere(turn.cluster)) return []
    if (needs.has(turn.cluster))
      return [end - now < RENEW_BEFORE_MS ? { ...turn, until: timestamp(now + TURN_MS) } : turn]
    return isReturned(turn.cluster) || now > end + MARGIN_MS ? [] : [turn]
  })
  const has = new Set(kept.map(({ cluster }) => cluster))
  const asking = [...needs].filter(([cluster]) => !has.has(cluster) && isThere(cluster))
  const inOrder = [...asking.filter(([, n]) => n === 'Changes'), ...asking.filter(([, n]) => n === 'Begins')]
  const given = inOrder
    .slice(0, Math.max(0, max - kept.length))
    .map(([cluster]) => ({ cluster, since: timestamp(now), until: timestamp(now + TURN_MS) }))
  return [...kept, ...given].toSorted((a, b) => byCodeUnit(a.cluster, b.cluster))
}

/** What the copy of a cluster says: its own turn, while it is needed there. */
export const turnFor = (turns: readonly Turn[], cluster: string, isNeeded: boolean): readonly Turn[] =>
  isNeeded ? turns.filter((turn) => turn.cluster === cluster) : []

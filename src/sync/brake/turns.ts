// Decides which clusters may change now. A turn is a lease: it is written on the hub before the cluster sees it, and passes to another cluster only after the first
// one has acknowledged its end or the lease has expired. Pure.
import type { Turn } from '#api/kinds/fleet-brake.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { byCodeUnit } from '#lib/go-text.ts'

/** If the hub is unreachable for longer, clusters start nothing new. */
export const TURN_MS = 10 * 60_000
/** How far the clock of a cluster may be behind the hub's. */
const MARGIN_MS = 2 * 60_000
/** Renewed once this much of the lease has passed, not on every pass. */
const RENEW_BEFORE_MS = TURN_MS / 2

/** Why a cluster needs a turn, in the order of priority: it is changing, or it wants to start. */
export type Need = 'Changes' | 'Begins'

export interface TurnsSeen {
  readonly before: readonly Turn[]
  /** By namespace and name, in the order in which they asked. */
  readonly needs: ReadonlyMap<string, Need>
  /** Clusters whose copy has no turn: they start nothing. */
  readonly isReturned: (cluster: string) => boolean
  /** Whether the hub still has this Cluster. */
  readonly isThere: (cluster: string) => boolean
  readonly max: number
}

export function planTurns({ before, needs, isReturned, isThere, max }: TurnsSeen, now: number): readonly Turn[] {
  const kept = before.flatMap((turn): readonly Turn[] => {
    const end = Date.parse(turn.until)
    // A Cluster that left the fleet frees its place at once: sync no longer delivers there.
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

/** The content of a cluster's copy: its own turn, for as long as it needs one. */
export const turnFor = (turns: readonly Turn[], cluster: string, isNeeded: boolean): readonly Turn[] =>
  isNeeded ? turns.filter((turn) => turn.cluster === cluster) : []

/** Why a cluster without a turn waits. With a place free, its turn only has to be recorded. */
export const turnWait = (changing: number, max: number): { readonly seen: string; readonly unblock: string } =>
  changing < max
    ? { seen: 'its turn among the changing clusters is not recorded yet', unblock: 'the turn is recorded on the hub' }
    : {
        seen: `${counted(changing, 'cluster')} of the fleet ${changing === 1 ? 'is' : 'are'} changing (limit ${max})`,
        unblock: 'one of them has finished, or a DefenderPolicy of the hub allows more in fleet.maxChanging',
      }

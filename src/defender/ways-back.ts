// Which set went back with which component within the last hour. The first way back is a recovery. A second one is an ordinary rollout, and so is one
// that starts after machines went elsewhere in between. Kept in the ledger by set name, so that deleting permits or recreating the set resets
// nothing.
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import { MAX_WAYS_BACK } from '#api/kinds/defender-ledger.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { WAY_BACK_EVERY_MS } from '#api/protocol/healthy-before.ts'
import { timestamp } from '#lib/clock.ts'
import { sha256Hex } from '#lib/sha256.ts'

export type WayBack = NonNullable<LedgerSpec['waysBack']>[number]

/** A switch requested by a set. */
export interface Way {
  readonly set: string
  readonly component: string
  /** Identifies version and configuration. */
  readonly to: string
}

const HASH_CHARS = 12

export function wayOf({ spec: { requester, component, operations } }: OperationPermit): Way | undefined {
  if (requester.kind !== 'MachineComponentSet' || requester.name === undefined || component === undefined)
    return undefined
  if (!operations.includes('SwitchComponent')) return undefined
  const text = JSON.stringify([component.version ?? null, component.config ?? null])
  const to = sha256Hex(text).slice(0, HASH_CHARS)
  return { set: requester.name, component: component.name, to }
}

const isOf = (way: Way) => (entry: WayBack) => entry.set === way.set && entry.component === way.component

/** A time in the future counts as just now: clocks get set. */
export const liveWaysBack = (entries: readonly WayBack[], now: number): readonly WayBack[] =>
  entries.filter(({ since }) => now - Date.parse(since) < WAY_BACK_EVERY_MS)

/** If there is no room to record it, it is not a recovery. */
export function mayGoBack(entries: readonly WayBack[], way: Way): boolean {
  const known = entries.find(isOf(way))
  return known === undefined ? entries.length < MAX_WAYS_BACK : known.to === way.to && known.isOver !== true
}

export const afterGoingBack = (entries: readonly WayBack[], way: Way, now: number): readonly WayBack[] =>
  entries.some(isOf(way)) ? entries : [...entries, { ...way, since: timestamp(now) }]

/** A machine goes elsewhere, so the way back is over. */
export const afterGoingElsewhere = (entries: readonly WayBack[], way: Way): readonly WayBack[] =>
  entries.some((e) => isOf(way)(e) && e.to !== way.to && e.isOver !== true)
    ? entries.map((e) => (isOf(way)(e) ? { ...e, isOver: true } : e))
    : entries

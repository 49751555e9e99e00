// Decides the next maintenance step of one control plane's store: measure it, compact it, defragment one member at a time with the leader last, and disarm its
// alarm. Pure. Defragmenting needs a request, under a controller's permit.

/** For a store with room. */
import { without } from '#lib/without.ts'
import { defined } from '#lib/defined.ts'
const ASK_MS = 3_600_000
/** For a store that may soon be full. */
const ASK_NEAR_MS = 120_000
/** For a store that refuses writes. */
const ASK_FULL_MS = 60_000
const NEAR = 0.8
/** Below this share of the quota a store takes writes again; above it the next writes would fill it again. */
const ROOMY = 0.9
/** This share of the file is free pages, and the file is this share of the quota, before a rewrite is worth its pause. */
const WASTE = 0.45
const WORTH = 0.25
const AGAIN_MS = 120_000

interface MemberStore {
  readonly member: number
  /** File size, which never shrinks on its own. */
  readonly bytes: number
  readonly inUse: number
  readonly isLeader: boolean
}

export interface StoreReport {
  readonly at: number
  readonly revision: number
  readonly members: readonly MemberStore[]
  /** Since when the NOSPACE alarm has been active: no member takes a write. */
  readonly fullSince?: number
  /** It is full and nothing was written since its compaction. etcd counts pages as free only at the next write, so the usage is unknown. */
  readonly isUncertain?: true
}

export type StoreStep =
  | { readonly do: 'ask' }
  | { readonly do: 'compact'; readonly revision: number }
  | { readonly do: 'defragment'; readonly member: number }
  | { readonly do: 'disarm' }
  | { readonly do: 'finish' }

/** Kept in the control plane's record, so that another controller continues it. */
export interface StoreCare {
  readonly report?: StoreReport
  /** Something changed since the report. */
  readonly isStale?: boolean
  /** The revision of the last attempted compaction: the same one cannot be compacted twice. */
  readonly compacted?: number
  /** The revision when all members were last rewritten. */
  readonly rewritten?: number
  /** How often all members were defragmented. */
  readonly defragmented: number
  /** Members already done in the current round. */
  readonly defragmenting?: readonly number[]
  /** The started Job. */
  readonly doing?: Exclude<StoreStep, { do: 'finish' }> & { readonly token: string }
  readonly failed?: { readonly at: number; readonly why: string }
}

export const NO_CARE: StoreCare = { defragmented: 0 }

export interface StoreSeen {
  readonly now: number
  readonly members: number
  /** Members with ready pods. */
  readonly serving: readonly number[]
  /** All members run the desired version and serve. */
  readonly isWhole: boolean
  readonly quota: number
  /** As reported by its API server, if it does. */
  readonly bytes: number | undefined
  /** When the control plane was created. */
  readonly bornAt: number
}

export function nextStep(care: StoreCare, seen: StoreSeen): StoreStep | undefined {
  const { doing, failed, report } = care
  const { now, serving, members, isWhole, quota } = seen
  if (doing !== undefined) return doing
  if (failed !== undefined && failed.at <= now && now < failed.at + AGAIN_MS) return undefined
  if (serving.length <= members / 2) return undefined
  if (report === undefined) return isNear(seen) || now - seen.bornAt >= ASK_MS ? { do: 'ask' } : undefined
  if (care.isStale === true) return { do: 'ask' }
  const isFull = report.fullSince !== undefined
  if (isFull && report.revision > (care.compacted ?? 0)) return { do: 'compact', revision: report.revision }
  if (care.defragmenting !== undefined) {
    const next = orderOf(report, members).find((member) => care.defragmenting?.includes(member) !== true)
    // Another unavailable member could cost the quorum.
    if (next !== undefined) return isWhole ? { do: 'defragment', member: next } : dueAgain(care, seen)
  }
  if (isFull && isWhole && hasRoom(report, members, quota)) return { do: 'disarm' }
  return care.defragmenting === undefined ? dueAgain(care, seen) : { do: 'finish' }
}

/** The state after a completed step. */
export function afterStep(care: StoreCare, step: Exclude<StoreStep, { do: 'ask' }>): StoreCare {
  const rest = without(care, 'doing', 'failed')
  switch (step.do) {
    case 'compact':
      return { ...rest, isStale: true, compacted: step.revision }
    case 'defragment':
      return { ...rest, isStale: true, defragmenting: [...(care.defragmenting ?? []), step.member] }
    case 'disarm':
      return { ...rest, isStale: true }
    case 'finish': {
      const { report } = care
      return {
        ...without(rest, 'defragmenting'),
        defragmented: care.defragmented + 1,
        ...(report !== undefined && { rewritten: report.revision }),
      }
    }
    default:
      return step satisfies never
  }
}

export function afterAsking(care: StoreCare, found: Omit<StoreReport, 'fullSince'>, isFull: boolean): StoreCare {
  const rest = without(care, 'doing', 'failed', 'isStale')
  const fullSince = care.report?.fullSince ?? found.at
  const isUncertain = isFull && care.isStale !== true && isSilent(care, found) && care.rewritten !== found.revision
  return {
    ...rest,
    report: { ...found, ...(isFull && { fullSince }), ...(isUncertain && { isUncertain: true as const }) },
  }
}

const isSilent = ({ report, compacted }: StoreCare, { revision }: Pick<StoreReport, 'revision'>): boolean =>
  report?.revision === revision && compacted === revision

/** A failed compaction may have been done by someone else: the sizes show it. Everything else is retried. */
export function afterFailure(care: StoreCare, step: StoreStep, now: number, why: string): StoreCare {
  if (step.do === 'compact') return afterStep(care, step)
  const { doing: _, ...rest } = care
  return { ...rest, failed: { at: now, why } }
}

/** A restore creates a new store. */
export const afterRestore = ({ defragmented, doing }: StoreCare = NO_CARE): StoreCare => ({
  defragmented,
  ...defined({ doing }),
})

const isNear = ({ bytes, quota }: StoreSeen): boolean => bytes !== undefined && bytes >= NEAR * quota

function dueAgain({ report }: StoreCare, seen: StoreSeen): StoreStep | undefined {
  const every = report?.fullSince !== undefined ? ASK_FULL_MS : isNear(seen) ? ASK_NEAR_MS : ASK_MS
  return seen.now - (report?.at ?? 0) >= every ? { do: 'ask' } : undefined
}

/** A leader that pauses causes an election. */
function orderOf({ members: known }: StoreReport, members: number): readonly number[] {
  const leader = known.find(({ isLeader }) => isLeader)?.member
  const others = Array.from({ length: members }, (_, n) => n).filter((n) => n !== leader)
  return leader === undefined ? others : [...others, leader]
}

const hasRoom = ({ members: known }: StoreReport, members: number, quota: number): boolean =>
  known.length === members && known.every(({ bytes }) => bytes < ROOMY * quota)

/** Whether a rewrite restores writes, or frees enough of a mostly empty file. */
export function isWorthDefragmenting({ members, fullSince, isUncertain }: StoreReport, quota: number): boolean {
  if (fullSince !== undefined)
    return (
      (isUncertain === true || members.every(({ inUse }) => inUse < ROOMY * quota)) &&
      members.some(({ bytes }) => bytes >= ROOMY * quota)
    )
  return members.some(({ bytes, inUse }) => bytes >= WORTH * quota && bytes - inUse > WASTE * bytes)
}

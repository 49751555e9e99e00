// Decides what is done next for the store of one control plane: asked how full it is, compacted, defragmented one member at a time with the leader last, and its alarm
// disarmed. Pure. Members are defragmented only once that was asked for, with the permit of a controller.

/** Of a store that has room. */
import { defined } from '#lib/defined.ts'
const ASK_MS = 3_600_000
/** Of one that may soon be full. */
const ASK_NEAR_MS = 120_000
/** Of one that takes no writes. */
const ASK_FULL_MS = 60_000
const NEAR = 0.8
/** Below it a store that was full takes writes again; above it the next ones would fill it once more. */
const ROOMY = 0.9
/** So much of the file is free pages, and the file is so much of the quota, before a rewrite is worth its pause. */
const WASTE = 0.45
const WORTH = 0.25
const AGAIN_MS = 120_000

interface MemberStore {
  readonly member: number
  /** Of the file, which never shrinks by itself. */
  readonly bytes: number
  readonly inUse: number
  readonly isLeader: boolean
}

export interface StoreReport {
  readonly at: number
  readonly revision: number
  readonly members: readonly MemberStore[]
  /** Since when the alarm NOSPACE was seen: no member takes a write. */
  readonly fullSince?: number
  /** It is full, and nothing was written since it was compacted: etcd counts pages as free only at the next write, so how much is in use is not known. */
  readonly isUncertain?: true
}

export type StoreStep =
  | { readonly do: 'ask' }
  | { readonly do: 'compact'; readonly revision: number }
  | { readonly do: 'defragment'; readonly member: number }
  | { readonly do: 'disarm' }
  | { readonly do: 'finish' }

/** Kept in the record of the control plane: another controller continues it. */
export interface StoreCare {
  readonly report?: StoreReport
  /** Something was changed since the report. */
  readonly isStale?: boolean
  /** The revision of the last compaction that was tried: the same cannot be compacted twice. */
  readonly compacted?: number
  /** The revision at which all members were rewritten last. */
  readonly rewritten?: number
  /** How often all members were defragmented. */
  readonly defragmented: number
  /** The members that are done, of the next time. */
  readonly defragmenting?: readonly number[]
  /** The Job that was begun. */
  readonly doing?: Exclude<StoreStep, { do: 'finish' }> & { readonly token: string }
  readonly failed?: { readonly at: number; readonly why: string }
}

export const NO_CARE: StoreCare = { defragmented: 0 }

export interface StoreSeen {
  readonly now: number
  readonly members: number
  /** The members whose pods are ready. */
  readonly serving: readonly number[]
  /** All members run what is wanted, and serve. */
  readonly isWhole: boolean
  readonly quota: number
  /** As its API server tells it, where it does. */
  readonly bytes: number | undefined
  /** When the control plane was made. */
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
    // One more that is away could cost the quorum.
    if (next !== undefined) return isWhole ? { do: 'defragment', member: next } : dueAgain(care, seen)
  }
  if (isFull && isWhole && hasRoom(report, members, quota)) return { do: 'disarm' }
  return care.defragmenting === undefined ? dueAgain(care, seen) : { do: 'finish' }
}

/** What is known after a step is done. */
export function afterStep(care: StoreCare, step: Exclude<StoreStep, { do: 'ask' }>): StoreCare {
  const { doing: _, failed: __, ...rest } = care
  switch (step.do) {
    case 'compact':
      return { ...rest, isStale: true, compacted: step.revision }
    case 'defragment':
      return { ...rest, isStale: true, defragmenting: [...(care.defragmenting ?? []), step.member] }
    case 'disarm':
      return { ...rest, isStale: true }
    case 'finish': {
      const { defragmenting: ___, ...others } = rest
      const { report } = care
      return {
        ...others,
        defragmented: care.defragmented + 1,
        ...(report !== undefined && { rewritten: report.revision }),
      }
    }
    default:
      return step satisfies never
  }
}

export function afterAsking(care: StoreCare, found: Omit<StoreReport, 'fullSince'>, isFull: boolean): StoreCare {
  const { doing: _, failed: __, isStale: ___, ...rest } = care
  const fullSince = care.report?.fullSince ?? found.at
  const isUncertain = isFull && care.isStale !== true && isSilent(care, found) && care.rewritten !== found.revision
  return {
    ...rest,
    report: { ...found, ...(isFull && { fullSince }), ...(isUncertain && { isUncertain: true as const }) },
  }
}

const isSilent = ({ report, compacted }: StoreCare, { revision }: Pick<StoreReport, 'revision'>): boolean =>
  report?.revision === revision && compacted === revision

/** A compaction that failed was perhaps done by another: the sizes tell. Everything else is tried again. */
export function afterFailure(care: StoreCare, step: StoreStep, now: number, why: string): StoreCare {
  if (step.do === 'compact') return afterStep(care, step)
  const { doing: _, ...rest } = care
  return { ...rest, failed: { at: now, why } }
}

/** A restore makes another store. */
export const afterRestore = ({ defragmented, doing }: StoreCare = NO_CARE): StoreCare => ({
  defragmented,
  ...defined({ doing }),
})

const isNear = ({ bytes, quota }: StoreSeen): boolean => bytes !== undefined && bytes >= NEAR * quota

function dueAgain({ report }: StoreCare, seen: StoreSeen): StoreStep | undefined {
  const every = report?.fullSince !== undefined ? ASK_FULL_MS : isNear(seen) ? ASK_NEAR_MS : ASK_MS
  return seen.now - (report?.at ?? 0) >= every ? { do: 'ask' } : undefined
}

/** A leader that pauses costs an election. */
function orderOf({ members: known }: StoreReport, members: number): readonly number[] {
  const leader = known.find(({ isLeader }) => isLeader)?.member
  const others = Array.from({ length: members }, (_, n) => n).filter((n) => n !== leader)
  return leader === undefined ? others : [...others, leader]
}

const hasRoom = ({ members: known }: StoreReport, members: number, quota: number): boolean =>
  known.length === members && known.every(({ bytes }) => bytes < ROOMY * quota)

/** Whether a rewrite lets it take writes again, or frees enough of a file that is mostly empty. */
export function isWorthDefragmenting({ members, fullSince, isUncertain }: StoreReport, quota: number): boolean {
  if (fullSince !== undefined)
    return (
      (isUncertain === true || members.every(({ inUse }) => inUse < ROOMY * quota)) &&
      members.some(({ bytes }) => bytes >= ROOMY * quota)
    )
  return members.some(({ bytes, inUse }) => bytes >= WORTH * quota && bytes - inUse > WASTE * bytes)
}

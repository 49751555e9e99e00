// Decides which etcd member is lost for good, and the next step to replace it. Pure. A member is removed from the others before its volume is emptied: with an
// empty volume it would vote again under its old id, and writes that a majority acknowledged could be lost.

import { defined } from '#lib/defined.ts'
export interface MemberSeen {
  readonly isServing: boolean
  /** Undefined if there is no pod. */
  readonly pod: { readonly uid: string; readonly isOnNode: boolean; readonly endsAt?: number } | undefined
  /** Undefined if there is no claim. */
  readonly claim: { readonly uid: string; readonly isEnding: boolean } | undefined
  /** Evidence that it cannot return with its data. */
  readonly sign: string | undefined
}

export interface LostMember {
  readonly member: number
  readonly since: number
  readonly why: string
}

/** Recorded before each step, so that another controller can continue it. */
export interface Replacing {
  readonly member: number
  /** The lost claim's uid; undefined if there was none. */
  readonly claim?: string
  /** The lost pod's uid. */
  readonly pod?: string
  readonly token: string
  readonly step: 'list' | 'remove' | 'add' | 'volume' | 'join'
  /** Its member id in hex: to be removed, or removed. */
  readonly id?: string
  readonly failed?: { readonly at: number; readonly why: string }
}

export interface MemberCare {
  readonly lost?: LostMember
  readonly replacing?: Replacing
  /** How many members were replaced, or came back on their own meanwhile. */
  readonly replaced: number
}

export const NO_MEMBER_CARE: MemberCare = { replaced: 0 }
/** etcd's last words if its data does not match its id. */
const SIGNS = [
  'member count is unequal',
  'Was the raft log corrupted, truncated, or lost?',
  'cannot fetch cluster info from peer urls',
  'the member has been permanently removed from the cluster',
] as const
const AGAIN_MS = 30_000
/** After the grace period: an unreachable node never ends a pod. */
const FORCED_MS = 60_000

export const signIn = (log: string): string | undefined => SIGNS.find((sign) => log.includes(sign))

/** One member that is unavailable with evidence of a loss, while all others serve. A single member, or two of three, have no majority to copy the data from. */
export function lostAmong(members: readonly MemberSeen[], before: LostMember | undefined, now: number) {
  const away = members.flatMap((seen, member) => (seen.isServing ? [] : [{ ...seen, member }]))
  const [only] = away
  if (only === undefined || away.length > 1 || members.length < MOST_AWAY_OF) return undefined
  const known = before?.member === only.member ? before : undefined
  const why = only.sign ?? known?.why
  return why === undefined ? undefined : { member: only.member, since: known?.since ?? now, why }
}
/** With fewer than three members the others have no majority without it. */
const MOST_AWAY_OF = 3

export type MemberStep =
  | { readonly do: 'wait'; readonly why: string }
  /** A Job that lists or changes the members. */
  | { readonly do: 'list' }
  | { readonly do: 'remove'; readonly id: string }
  | { readonly do: 'add' }
  | { readonly do: 'delete-claim' | 'make-claim' }
  | { readonly do: 'delete-pod'; readonly uid: string; readonly isForced: boolean }
  /** Its volume is new: it may start empty. */
  | { readonly do: 'join' }
  /** It serves, with data from the others or its own after all. */
  | { readonly do: 'finish' }

export function nextMemberStep(replacing: Replacing, members: readonly MemberSeen[], now: number): MemberStep {
  const { member, step, id, failed } = replacing
  const own = members[member]
  if (own === undefined) return { do: 'finish' }
  // Until it is removed it may come back with its volume, and then nothing needs to be done.
  if (own.isServing && (step === 'list' || step === 'remove')) return { do: 'finish' }
  if (failed !== undefined && failed.at <= now && now < failed.at + AGAIN_MS)
    return { do: 'wait', why: `${failed.why}; tried again in a moment` }
  if (step !== 'volume' && step !== 'join') {
    const others = members.filter((_, n) => n !== member)
    // Removing a member from an incomplete majority may cost the majority.
    if (!others.every(({ isServing }) => isServing)) return { do: 'wait', why: 'not all other members serve' }
    if (step === 'list') return { do: 'list' }
    if (step === 'add') return { do: 'add' }
    return id === undefined ? { do: 'list' } : { do: 'remove', id }
  }
  const { claim, pod } = own
  const isOld = claim !== undefined && claim.uid === replacing.claim
  // It holds the volume; removed from the others, it cannot serve next to the new one.
  if (isOld && !claim.isEnding) return { do: 'delete-claim' }
  if (pod !== undefined && (pod.uid === replacing.pod || (isOld && pod.isOnNode))) {
    const isForced = pod.endsAt !== undefined && now >= pod.endsAt + FORCED_MS
    return pod.endsAt === undefined || isForced
      ? { do: 'delete-pod', uid: pod.uid, isForced }
      : { do: 'wait', why: 'its pod ends' }
  }
  if (claim?.isEnding === true) return { do: 'wait', why: 'its volume claim ends' }
  if (claim === undefined) return { do: 'make-claim' }
  if (own.isServing) return { do: 'finish' }
  return step === 'volume' ? { do: 'join' } : { do: 'wait', why: 'it takes its data from the others' }
}

interface Listed {
  readonly id: string
  readonly isStarted: boolean
  readonly name: string
}

/** `8e9e05c52164694d, started, etcd-0, https://…`: the ids exceed JSON's numbers. */
export const listedIn = (log: string): readonly Listed[] =>
  log.split('\n').flatMap((line) => {
    const [, id, state, name = ''] = /^([0-9a-f]{1,16}), (started|unstarted), ([^,]*),/.exec(line.trim()) ?? []
    return id === undefined ? [] : [{ id, isStarted: state === 'started', name }]
  })

/** The others' view of it. All of them serve, so one that never started can only be its replacement. */
export function afterListing(
  replacing: Replacing,
  name: string,
  listed: readonly Listed[],
): Pick<Replacing, 'step' | 'id'> {
  const named = listed.find((one) => one.name === name && (replacing.id === undefined || one.id === replacing.id))
  if (named !== undefined) return { step: 'remove', id: named.id }
  const isThere = listed.some((one) => one.name === name || !one.isStarted)
  return { step: isThere ? 'volume' : 'add', ...defined({ id: replacing.id }) }
}

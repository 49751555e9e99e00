// Decides which member of an etcd is lost for good, and what is done next to replace it. Pure. A member is removed from the others before its volume is emptied:
// one with an empty volume would vote once more under its old number, and what a majority had acknowledged could be lost.

import { defined } from '#lib/defined.ts'
export interface MemberSeen {
  readonly isServing: boolean
  /** Undefined: there is no pod. */
  readonly pod: { readonly uid: string; readonly isOnNode: boolean; readonly endsAt?: number } | undefined
  /** Undefined: there is no claim. */
  readonly claim: { readonly uid: string; readonly isEnding: boolean } | undefined
  /** A sign that it cannot come back with what it had. */
  readonly sign: string | undefined
}

export interface LostMember {
  readonly member: number
  readonly since: number
  readonly why: string
}

/** Kept in the record before each step: another controller continues it. */
export interface Replacing {
  readonly member: number
  /** Of the claim that is lost; undefined when there was none. */
  readonly claim?: string
  /** Of the pod that is lost. */
  readonly pod?: string
  readonly token: string
  readonly step: 'list' | 'remove' | 'add' | 'volume' | 'join'
  /** Number of it among the members, in hex: to be removed, or removed. */
  readonly id?: string
  readonly failed?: { readonly at: number; readonly why: string }
}

export interface MemberCare {
  readonly lost?: LostMember
  readonly replacing?: Replacing
  /** How many members were replaced, or came back by themselves meanwhile. */
  readonly replaced: number
}

export const NO_MEMBER_CARE: MemberCare = { replaced: 0 }
/** What etcd itself ends with where its data is not that of its number. */
const SIGNS = [
  'member count is unequal',
  'Was the raft log corrupted, truncated, or lost?',
  'cannot fetch cluster info from peer urls',
  'the member has been permanently removed from the cluster',
] as const
const AGAIN_MS = 30_000
/** After its time to end: a node that is away ends nothing. */
const FORCED_MS = 60_000

export const signIn = (log: string): string | undefined => SIGNS.find((sign) => log.includes(sign))

/** One member that is away, and shows a sign, while all others serve. A single member, and two of three, have no one to take the data from. */
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
  /** A Job that asks or changes the members. */
  | { readonly do: 'list' }
  | { readonly do: 'remove'; readonly id: string }
  | { readonly do: 'add' }
  | { readonly do: 'delete-claim' | 'make-claim' }
  | { readonly do: 'delete-pod'; readonly uid: string; readonly isForced: boolean }
  /** Its volume is new: it may start with nothing in it. */
  | { readonly do: 'join' }
  /** It serves: with what the others gave it, or with what it had after all. */
  | { readonly do: 'finish' }

export function nextMemberStep(replacing: Replacing, members: readonly MemberSeen[], now: number): MemberStep {
  const { member, step, id, failed } = replacing
  const own = members[member]
  if (own === undefined) return { do: 'finish' }
  // Until it is removed it may come back with its volume, and then nothing is to be done.
  if (own.isServing && (step === 'list' || step === 'remove')) return { do: 'finish' }
  if (failed !== undefined && failed.at <= now && now < failed.at + AGAIN_MS)
    return { do: 'wait', why: `${failed.why}; tried again in a moment` }
  if (step !== 'volume' && step !== 'join') {
    const others = members.filter((_, n) => n !== member)
    // What is removed from a majority that is not whole may take the majority with it.
    if (!others.every(({ isServing }) => isServing)) return { do: 'wait', why: 'not all other members serve' }
    if (step === 'list') return { do: 'list' }
    if (step === 'add') return { do: 'add' }
    return id === undefined ? { do: 'list' } : { do: 'remove', id }
  }
  const { claim, pod } = own
  const isOld = claim !== undefined && claim.uid === replacing.claim
  // It holds the volume; removed from the others, it cannot serve beside the new one.
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

/** `8e9e05c52164694d, started, etcd-0, https://…`: the numbers are larger than those of JSON. */
export const listedIn = (log: string): readonly Listed[] =>
  log.split('\n').flatMap((line) => {
    const [, id, state, name = ''] = /^([0-9a-f]{1,16}), (started|unstarted), ([^,]*),/.exec(line.trim()) ?? []
    return id === undefined ? [] : [{ id, isStarted: state === 'started', name }]
  })

/** What the others say of it. All of them serve: one that never started can only be the one that was added for it. */
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

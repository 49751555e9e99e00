// Who gets one of a limited number of places, and who gives one up: a user with many places never keeps one from a user with fewer. Pure.

export interface Bounds {
  readonly all: number
  readonly ofPerson: number
}

interface Taken<T> {
  readonly item: T
  readonly person: string
}

const ACCOUNT = /^system:serviceaccount:[^:]+:/

/** Users who share one user's places: someone who may create accounts in a namespace could be any number of users there. */
export const groupOf = (person: string): string => ACCOUNT.exec(person)?.[0] ?? person

/** PersonIsFull, AllAreTaken: `from` gives its place to the newcomer. Refused: every user, or namespace of accounts, has one place, and all are taken. */
export type Place<T> =
  | { readonly kind: 'Free' }
  | { readonly kind: 'PersonIsFull' | 'AllAreTaken'; readonly from: T }
  | { readonly kind: 'Refused' }

/** `taken`: oldest first. A user works in the newest page, so the oldest one gives way. */
export function placeFor<T>(taken: Iterable<Taken<T>>, person: string, { all, ofPerson }: Bounds): Place<T> {
  const open = [...taken]
  const ofSame = open.filter((t) => t.person === person)
  const [oldestOfPerson] = ofSame
  if (oldestOfPerson !== undefined && ofSame.length >= ofPerson)
    return { kind: 'PersonIsFull', from: oldestOfPerson.item }
  if (open.length < all) return { kind: 'Free' }
  const byGroup = Map.groupBy(open, (t) => groupOf(t.person))
  const own = byGroup.get(groupOf(person)) ?? []
  const [oldestOwn] = own
  const most = [...byGroup.values()].reduce((a, b) => (b.length > a.length ? b : a), own)
  const [oldestOfMost] = most
  // Stops at equal shares: two users must not take places from each other in turn.
  if (oldestOfMost !== undefined && most.length > own.length + 1)
    return { kind: 'AllAreTaken', from: oldestOfMost.item }
  return oldestOwn === undefined ? { kind: 'Refused' } : { kind: 'AllAreTaken', from: oldestOwn.item }
}

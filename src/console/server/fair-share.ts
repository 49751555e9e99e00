// Who gets one of a bounded number of places, and who gives way: a person who takes many never keeps one from a person who has fewer. Pure.

export interface Bounds {
  readonly all: number
  readonly ofPerson: number
}

interface Taken<T> {
  readonly item: T
  readonly person: string
}

const ACCOUNT = /^system:serviceaccount:[^:]+:/

/** People who share the places of one: a user who may create accounts in a namespace could be any number of people there. */
export const groupOf = (person: string): string => ACCOUNT.exec(person)?.[0] ?? person

/** PersonIsFull, AllAreTaken: `from` gives its place to the newcomer. Refused: every person, or namespace of accounts, has one place, and all are taken. */
export type Place<T> =
  | { readonly kind: 'Free' }
  | { readonly kind: 'PersonIsFull' | 'AllAreTaken'; readonly from: T }
  | { readonly kind: 'Refused' }

/** `taken`: oldest first. A person's newest page is the one they use, so it is their oldest that gives way. */
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
  // Equal shares after the exchange are the end of it: two people do not take places from each other in turn.
  if (oldestOfMost !== undefined && most.length > own.length + 1)
    return { kind: 'AllAreTaken', from: oldestOfMost.item }
  return oldestOwn === undefined ? { kind: 'Refused' } : { kind: 'AllAreTaken', from: oldestOwn.item }
}

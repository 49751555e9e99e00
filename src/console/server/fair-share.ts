// Who gets one of a bounded number of places, and who gives way: a person who takes many never keeps one from a person who has fewer. Pure.

export interface Bounds {
  readonly all: number
  readonly ofPerson: number
}

interface Taken<T> {
  readonly item: T
  readonly person: string
}

/** PersonIsFull, AllAreTaken: `from` gives its place to the newcomer. Refused: everyone has one place, and all are taken. */
export type Place<T> =
  | { readonly kind: 'Free' }
  | { readonly kind: 'PersonIsFull' | 'AllAreTaken'; readonly from: T }
  | { readonly kind: 'Refused' }

/** `taken`: oldest first. A person's newest page is the one they use, so it is their oldest that gives way. */
export function placeFor<T>(taken: Iterable<Taken<T>>, person: string, { all, ofPerson }: Bounds): Place<T> {
  const byPerson = new Map<string, T[]>()
  let total = 0
  for (const { item, person: owner } of taken) {
    total++
    const items = byPerson.get(owner)
    if (items === undefined) byPerson.set(owner, [item])
    else items.push(item)
  }
  const own = byPerson.get(person) ?? []
  const [oldestOwn] = own
  if (oldestOwn !== undefined && own.length >= ofPerson) return { kind: 'PersonIsFull', from: oldestOwn }
  if (total < all) return { kind: 'Free' }
  const most = [...byPerson.values()].reduce((a, b) => (b.length > a.length ? b : a), own)
  const [oldestOfMost] = most
  // Equal shares after the exchange are the end of it: two people do not take places from each other in turn.
  if (oldestOfMost !== undefined && most.length > own.length + 1) return { kind: 'AllAreTaken', from: oldestOfMost }
  return oldestOwn === undefined ? { kind: 'Refused' } : { kind: 'AllAreTaken', from: oldestOwn }
}

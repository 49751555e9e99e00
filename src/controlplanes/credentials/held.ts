// What exists of the credentials of a cluster: one item for each Secret, so that each change is one write and a kill between two writes loses nothing.

/** An authority, or a pair of keys that signs tokens. */
export interface Generation {
  readonly number: number
  /** What was declared when it was made: a higher number asks for the next one. */
  readonly declared: number
  readonly since: number
  /** PEM: the certificate, or the public key. */
  readonly open: string
  /** PEM; absent once it signs no longer. */
  readonly key?: string
}

/** What others verify with. Everything but the newest generations is on its way out. */
export interface HeldRoot {
  readonly kind: 'Root'
  /** At most two, oldest first. */
  readonly generations: readonly Generation[]
  /** Number of the generation that signs. */
  readonly signs: number
  readonly signsSince: number
}

export interface HeldLeaf {
  readonly kind: 'Leaf'
  /** Digest of everything that it was made from. */
  readonly madeOf: string
  /** PEM. */
  readonly key: string
  readonly certificate: string
}

interface HeldKubeconfig {
  readonly kind: 'Kubeconfig'
  readonly madeOf: string
  readonly text: string
}

interface SealingKey {
  readonly number: number
  /** As of a generation. */
  readonly declared: number
  readonly since: number
  /** In base64. */
  readonly key: string
}

/** What servers seal their store with. An older key opens what it sealed. */
export interface HeldSealingKeys {
  readonly kind: 'SealingKeys'
  /** At most two, oldest first. */
  readonly generations: readonly SealingKey[]
  /** Number of the one that seals. */
  readonly signs: number
  readonly signsSince: number
}

export type HeldItem = HeldRoot | HeldLeaf | HeldKubeconfig | HeldSealingKeys

/** By the name of the item. */
export type Held = Readonly<Record<string, HeldItem>>

export const rootIn = (held: Held, name: string): HeldRoot | undefined => {
  const item = held[name]
  return item?.kind === 'Root' ? item : undefined
}

export const leafIn = (held: Held, name: string): HeldLeaf | undefined => {
  const item = held[name]
  return item?.kind === 'Leaf' ? item : undefined
}

export const signerOf = ({ generations, signs }: HeldRoot): Generation | undefined =>
  generations.find(({ number }) => number === signs)

/** Everything that is trusted now, oldest first: the order of a bundle changes only with its content. */
export const bundleOf = ({ generations }: HeldRoot): string => generations.map(({ open }) => open).join('')

export const sealingKeysIn = (held: Held, name: string): HeldSealingKeys | undefined => {
  const item = held[name]
  return item?.kind === 'SealingKeys' ? item : undefined
}

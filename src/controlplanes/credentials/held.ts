// A cluster's existing credentials: one item per Secret, so each change is one write, and a kill between two writes loses nothing.

/** An authority, or a key pair that signs tokens. */
export interface Generation {
  readonly number: number
  /** The declared number at its creation: a higher one requests the next generation. */
  readonly declared: number
  readonly since: number
  /** PEM: the certificate, or the public key. */
  readonly open: string
  /** PEM; removed once it no longer signs. */
  readonly key?: string
}

/** What others verify with. All but the newest generation are being phased out. */
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
  /** Digest of all its inputs. */
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
  /** Same as for a generation. */
  readonly declared: number
  readonly since: number
  /** In base64. */
  readonly key: string
}

/** The keys that servers seal their store with. An older key opens what it sealed. */
export interface HeldSealingKeys {
  readonly kind: 'SealingKeys'
  /** At most two, oldest first. */
  readonly generations: readonly SealingKey[]
  /** Number of the key that seals. */
  readonly signs: number
  readonly signsSince: number
}

export type HeldItem = HeldRoot | HeldLeaf | HeldKubeconfig | HeldSealingKeys

/** By item name. */
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

/** Everything trusted now, oldest first: a bundle's order changes only with its content. */
export const bundleOf = ({ generations }: HeldRoot): string => generations.map(({ open }) => open).join('')

export const sealingKeysIn = (held: Held, name: string): HeldSealingKeys | undefined => {
  const item = held[name]
  return item?.kind === 'SealingKeys' ? item : undefined
}

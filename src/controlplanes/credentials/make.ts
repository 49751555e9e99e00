// Carries out one order: creates keys and certificates. Each order changes one item, and repeating it after a lost reply does no harm.
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { kubeconfigText } from '#lib/kubeconfig-text.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import type { Order } from './graph.ts'
import type { AuthorityRecipe } from './recipe.ts'
import {
  bundleOf,
  leafIn,
  rootIn,
  sealingKeysIn,
  signerOf,
  type Generation,
  type Held,
  type HeldItem,
  type HeldRoot,
  type HeldSealingKeys,
} from './held.ts'

/** The item after the order; undefined if it is removed. Throws if the order does not match these items. */
export function carryOut(order: Order, now: number, held: Held): HeldItem | undefined {
  switch (order.kind) {
    case 'NewGeneration':
      return order.sealingBytes === undefined
        ? withGeneration(order, now, rootIn(held, order.name))
        : withSealingKey(order, now, sealingKeysIn(held, order.name))
    case 'Sign': {
      const keys = sealingKeysIn(held, order.name)
      if (keys !== undefined) return { ...keys, signs: order.number, signsSince: now }
      const root = existing(rootIn(held, order.name), order)
      return {
        ...root,
        generations: root.generations.map((g) => keyOnlyOf(g, order.number)),
        signs: order.number,
        signsSince: now,
      }
    }
    case 'Retire': {
      const keys = sealingKeysIn(held, order.name)
      if (keys !== undefined)
        return { ...keys, generations: keys.generations.filter(({ number }) => number === order.number) }
      const root = existing(rootIn(held, order.name), order)
      return { ...root, generations: root.generations.filter(({ number }) => number === order.number) }
    }
    case 'Leaf': {
      const { commonName, organizations = [], usage, days, authority } = order.of
      const signer = existing(rootIn(held, authority), order)
      const { open, key } = existing(signerOf(signer), order)
      const issued = issueCertificate(
        { certificate: open, key: existing(key, order) },
        { subject: { commonName, organizations }, validity: { now, days }, usage, hosts: order.hosts },
      )
      return { kind: 'Leaf', madeOf: order.madeOf, ...issued }
    }
    case 'Kubeconfig': {
      const root = existing(rootIn(held, order.of.authority), order)
      const client = existing(leafIn(held, order.of.leaf), order)
      const text = kubeconfigText({ url: order.endpoint, authority: bundleOf(root), client, user: order.of.leaf })
      return { kind: 'Kubeconfig', madeOf: order.madeOf, text }
    }
    case 'Drop':
      return undefined
    default:
      return order satisfies never
  }
}

function withGeneration(
  order: Extract<Order, { readonly kind: 'NewGeneration' }>,
  now: number,
  root: HeldRoot | undefined,
): HeldRoot {
  const { number, declared, authority } = order
  const pair = authority === undefined ? newTokenKeys() : newCertificate(authority, number, now)
  const generation: Generation = { number, declared, since: now, ...pair }
  if (root === undefined) return { kind: 'Root', generations: [generation], signs: number, signsSince: now }
  return { ...root, generations: [...root.generations.filter((g) => g.number < number), generation] }
}

function withSealingKey(
  { number, declared, sealingBytes = 0 }: Extract<Order, { readonly kind: 'NewGeneration' }>,
  now: number,
  keys: HeldSealingKeys | undefined,
): HeldSealingKeys {
  const generation = { number, declared, since: now, key: randomBytes(sealingBytes).toString('base64') }
  if (keys === undefined) return { kind: 'SealingKeys', generations: [generation], signs: number, signsSince: now }
  return { ...keys, generations: [...keys.generations.filter((g) => g.number < number), generation] }
}

/** The name includes the number: with two authorities of the same name, verifiers try the wrong one first. */
function newCertificate(
  { commonName, days }: AuthorityRecipe,
  number: number,
  now: number,
): Pick<Generation, 'open' | 'key'> {
  const { certificate, key } = newAuthority(`${commonName}-${number}`, { now, days })
  return { open: certificate, key }
}

function newTokenKeys(): Pick<Generation, 'open' | 'key'> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    open: publicKey.export({ type: 'spki', format: 'pem' }),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  }
}

/** A generation that no longer signs needs no key that could be stolen. */
function keyOnlyOf(generation: Generation, signs: number): Generation {
  if (generation.number === signs) return generation
  const { key: _key, ...rest } = generation
  return rest
}

/** The order was derived from the same items: a mismatch is the caller's bug. */
function existing<T>(found: T | undefined, { kind, name }: Order): T {
  if (found === undefined) throw new Error(`order ${kind} of ${name} does not fit the items`)
  return found
}

// A cluster's credentials as one graph: which exist, which are current, and what to create next. Every item has the digest of its inputs, so nothing derived
// from a changed input stays stale. Applied to its own result it orders nothing. Pure: it creates no keys.
import { SERVER_NAMES } from '#lib/x509/server-names.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import { leafIn, rootIn, sealingKeysIn, signerOf, type Held, type HeldRoot } from './held.ts'
import { certificatePrint, isCurrent, renewAt } from './prints.ts'
import type { KubeconfigRecipe, LeafRecipe, Recipe } from './recipe.ts'
import {
  authorityStep,
  keySetStep,
  sealingStep,
  type AgentTrust,
  type Count,
  type RootOrder,
  type Rotation,
  type Sealed,
  type ServerReports,
} from './rotation.ts'

export interface CredentialInputs {
  readonly recipe: Recipe
  /** URL of the API server, fixed before anything is created. */
  readonly endpoint: string
  /** More names and addresses for its certificate. */
  readonly hosts: readonly string[]
  /** By item: a higher number recreates the item. One if left out. */
  readonly declared: Readonly<Record<string, number>>
  /** Undefined if they cannot be asked: then a rotation stops once the new one is trusted too. */
  readonly servers: ServerReports | undefined
  /** Undefined if they could not be asked: then no phase that needs them ends. */
  readonly agents: readonly AgentTrust[] | undefined
  /** The keys the store is sealed with; undefined if no key seals it. */
  readonly sealed?: Sealed
}

export type Order =
  | RootOrder
  | {
      readonly kind: 'Leaf'
      readonly name: string
      readonly of: LeafRecipe
      readonly hosts: readonly string[]
      readonly madeOf: string
    }
  | {
      readonly kind: 'Kubeconfig'
      readonly name: string
      readonly of: KubeconfigRecipe
      readonly endpoint: string
      readonly madeOf: string
    }
  /** No longer part of the recipe. */
  | { readonly kind: 'Drop'; readonly name: string }

export interface CredentialGraph {
  /** In order, each one write. An item whose input is not yet current is ordered later. */
  readonly orders: readonly Order[]
  readonly rotations: readonly Rotation[]
  /** Digest of the servers' credentials; undefined while a part is missing or stale. */
  readonly serverDigest: string | undefined
  /** When the next item is due if nothing changes. */
  readonly renewAt: number | undefined
}

export function credentials(inputs: CredentialInputs, now: number, held: Held): CredentialGraph {
  const leaves = inputs.recipe.leaves.map((of) => leafOf(of, inputs, now, held))
  const configs = inputs.recipe.kubeconfigs.map((of) => kubeconfigOf(of, inputs, now, held))
  const made = [...missingRoots(inputs, held), ...missingKeys(inputs, held), ...leaves, ...configs].flatMap(
    ({ order }) => order ?? [],
  )
  const drops = surplus(inputs.recipe, held)
  const serverDigest = digestForServers(inputs.recipe, held, made)
  const steps = rotationSteps(inputs, now, held, serverDigest)
  const rotations = steps.flatMap(({ rotation }) => rotation ?? [])
  // One step at a time: a phase starts only when everything that exists is current.
  const advances = made.length > 0 ? [] : steps.flatMap(({ order }) => order ?? [])
  return {
    orders: [...made, ...advances, ...drops],
    rotations,
    serverDigest,
    renewAt: nextTime(inputs.recipe, now, held, rotations),
  }
}

const declaredFor = ({ declared }: CredentialInputs, name: string): number => declared[name] ?? 1

function missingRoots(inputs: CredentialInputs, held: Held): readonly { readonly order?: Order }[] {
  const { authorities, keySets } = inputs.recipe
  const first = (name: string) =>
    ({ kind: 'NewGeneration', name, number: 1, declared: declaredFor(inputs, name) }) as const
  return [
    ...authorities
      .filter(({ name }) => rootIn(held, name) === undefined)
      .map((authority) => ({ order: { ...first(authority.name), authority } })),
    ...keySets.filter(({ name }) => rootIn(held, name) === undefined).map(({ name }) => ({ order: first(name) })),
  ]
}

const missingKeys = (inputs: CredentialInputs, held: Held): readonly { readonly order?: Order }[] =>
  (inputs.recipe.sealingKeys ?? [])
    .filter(({ name }) => sealingKeysIn(held, name) === undefined)
    .map(({ name, bytes }) => ({
      order: { kind: 'NewGeneration', name, number: 1, declared: declaredFor(inputs, name), sealingBytes: bytes },
    }))

function leafOf(of: LeafRecipe, inputs: CredentialInputs, now: number, held: Held): { readonly order?: Order } {
  const root = rootIn(held, of.authority)
  const signer = root && signerOf(root)
  if (signer === undefined) return {}
  const hosts = of.isEndpoint === true ? hostsOf(inputs) : (of.hosts ?? [])
  const wanted = sha256OfJson({
    of,
    hosts,
    signer: certificatePrint(signer.open),
    declared: declaredFor(inputs, of.name),
  })
  const found = leafIn(held, of.name)
  if (found !== undefined && found.madeOf === wanted && isCurrent(found.certificate, now)) return {}
  return { order: { kind: 'Leaf', name: of.name, of, hosts, madeOf: wanted } }
}

function hostsOf({ endpoint, hosts }: CredentialInputs): readonly string[] {
  const own = new URL(endpoint).hostname.replace(/^\[|\]$/g, '')
  return [...new Set([...SERVER_NAMES, own, ...hosts])].toSorted()
}

function kubeconfigOf(
  of: KubeconfigRecipe,
  inputs: CredentialInputs,
  now: number,
  held: Held,
): { readonly order?: Order } {
  const recipe = inputs.recipe.leaves.find(({ name }) => name === of.leaf)
  const [root, leaf] = [rootIn(held, of.authority), leafIn(held, of.leaf)]
  // Not from a certificate that is about to be replaced.
  if (recipe === undefined || root === undefined || leaf === undefined) return {}
  if (leafOf(recipe, inputs, now, held).order !== undefined) return {}
  const { endpoint } = inputs
  const wanted = sha256OfJson({ of, endpoint, trusted: printsOf(root), leaf: certificatePrint(leaf.certificate) })
  const found = held[of.name]
  if (found?.kind === 'Kubeconfig' && found.madeOf === wanted) return {}
  return { order: { kind: 'Kubeconfig', name: of.name, of, endpoint, madeOf: wanted } }
}

const printsOf = ({ generations }: HeldRoot): readonly string[] => generations.map(({ open }) => certificatePrint(open))

function surplus(
  { authorities, keySets, sealingKeys = [], leaves, kubeconfigs }: Recipe,
  held: Held,
): readonly Order[] {
  const wanted = new Set(
    [...authorities, ...keySets, ...sealingKeys, ...leaves, ...kubeconfigs].map(({ name }) => name),
  )
  return Object.keys(held)
    .filter((name) => !wanted.has(name))
    .toSorted()
    .map((name) => ({ kind: 'Drop', name }))
}

/** Servers get everything except kubeconfigs: all roots with their trust and signing state, and all certificates. */
function digestForServers(recipe: Recipe, held: Held, made: readonly Order[]): string | undefined {
  if (made.some(({ kind }) => kind !== 'Kubeconfig')) return undefined
  const roots = [...recipe.authorities, ...recipe.keySets].map(({ name }) => {
    const root = rootIn(held, name)
    return root && { name, signs: root.signs, open: root.generations.map(({ open }) => open) }
  })
  // Otherwise a brand-new key would count as known to all servers.
  const sealing = (recipe.sealingKeys ?? []).map(({ name }) => {
    const keys = sealingKeysIn(held, name)
    return keys && { name, signs: keys.signs, keys: keys.generations.map(({ number, key }) => ({ number, key })) }
  })
  const leaves = recipe.leaves.map(({ name }) => leafIn(held, name)?.certificate)
  return sha256OfJson({ roots, leaves, ...(sealing.length > 0 && { sealing }) })
}

function rotationSteps(inputs: CredentialInputs, now: number, held: Held, serverDigest: string | undefined) {
  const { recipe, agents } = inputs
  const servers = serversWith(inputs.servers, serverDigest)
  const facts = (name: string) => ({
    now,
    declared: declaredFor(inputs, name),
    joinMs: recipe.joinMs,
    servers,
    agents,
  })
  const authorities = recipe.authorities.flatMap((of) => {
    const root = rootIn(held, of.name)
    return root === undefined ? [] : [authorityStep(of, root, facts(of.name))]
  })
  const keySets = recipe.keySets.flatMap((of) => {
    const root = rootIn(held, of.name)
    return root === undefined ? [] : [keySetStep(of, root, facts(of.name))]
  })
  const sealingKeys = (recipe.sealingKeys ?? []).flatMap((of) => {
    const keys = sealingKeysIn(held, of.name)
    return keys === undefined ? [] : [sealingStep(of, keys, facts(of.name), inputs.sealed)]
  })
  return [...authorities, ...keySets, ...sealingKeys]
}

function serversWith(reports: ServerReports | undefined, digest: string | undefined): Count {
  if (reports === undefined) return { what: 'servers', seen: 0, of: 0, missing: [], isUnknown: true }
  const { total, running } = reports
  const seen = digest === undefined ? 0 : running.filter((one) => one === digest).length
  return { what: 'servers', seen, of: total, missing: [] }
}

/** For timers; changed inputs arrive as events. */
function nextTime(recipe: Recipe, now: number, held: Held, rotations: readonly Rotation[]): number | undefined {
  const certificates = [
    ...recipe.leaves.flatMap(({ name }) => leafIn(held, name)?.certificate ?? []),
    ...recipe.authorities.flatMap(({ name }) => rootIn(held, name)?.generations.at(-1)?.open ?? []),
  ]
  const times = [...certificates.map(renewAt), ...rotations.flatMap(({ until }) => until ?? [])]
  const ahead = times.filter((time) => time > now)
  return ahead.length === 0 ? undefined : Math.min(...ahead)
}

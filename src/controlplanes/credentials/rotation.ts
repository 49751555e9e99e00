// The phases of replacing an authority or key set: the new one is trusted next to the old one, then signs, then the old one is removed. Each phase waits for a
// visible count and never goes back, even if a host joins in between. Pure.
import type { HeldRoot, HeldSealingKeys } from './held.ts'
import { certificatePrint, isCurrent } from './prints.ts'
import type { AuthorityRecipe, KeySetRecipe, SealingKeyRecipe } from './recipe.ts'
import { defined } from '#lib/defined.ts'

/** How many of those that must follow have done so. */
export interface Count {
  readonly what: 'servers' | 'agents' | 'sealed objects' | 'snapshots'
  readonly seen: number
  readonly of: number
  /** The first few that are missing. */
  readonly missing: readonly string[]
  /** How many of the missing only follow after a manual step. */
  readonly kubelets?: number
  /** They could not be asked, which never counts as enough. */
  readonly isUnknown?: true
  /** The reason of the first missing one. */
  readonly why?: string
}

export interface Rotation {
  /** The authority or key set. */
  readonly name: string
  readonly phase: 'Distributing' | 'Reissuing'
  readonly since: number
  readonly waitsFor?: Count
  /** It waits until this time. */
  readonly until?: number
}

export type RootOrder =
  | {
      readonly kind: 'NewGeneration'
      readonly name: string
      readonly number: number
      readonly declared: number
      /** Left out for keys that sign tokens, or seal. */
      readonly authority?: AuthorityRecipe
      /** The length of a sealing key. */
      readonly sealingBytes?: number
    }
  /** From now on the newest generation signs; the old key is deleted. */
  | { readonly kind: 'Sign'; readonly name: string; readonly number: number }
  /** From now on only the newest generation is trusted. */
  | { readonly kind: 'Retire'; readonly name: string; readonly number: number }

/** An agent's report of the authorities it trusts and of its certificate's signer. */
export interface AgentTrust extends Trust {
  readonly machine: string
  /** For the kubelet on its host, if any. */
  readonly kubelet?: Trust
}

interface Trust {
  /** Fingerprints of authorities; missing for agents that do not report them. */
  readonly authorities?: readonly string[]
  /** Fingerprint of its certificate's authority; 'None' for a client with a token instead. */
  readonly signedBy?: string
}

export interface ServerReports {
  /** Number of API servers. */
  readonly total: number
  /** For each that answers: the digest of the credentials it runs with. */
  readonly running: readonly string[]
}

/** What is sealed with which key. By number, not by time: a clock may be set back. */
export interface Sealed {
  /** Number of the key that seals every object of the store; undefined while unknown. */
  readonly all?: { readonly with: number }
  /** What the last attempt to reseal everything left over. */
  readonly left?: { readonly objects: readonly string[]; readonly why: string }
  /** Including one in progress. A restore brings back nothing sealed with an older key than this; undefined while unknown. */
  readonly snapshots: readonly { readonly name: string; readonly with?: number }[]
}

export interface RotationFacts {
  readonly now: number
  /** The declared number of this item. */
  readonly declared: number
  readonly joinMs: number
  /** Servers that run with exactly the current credentials. */
  readonly servers: Count
  /** Undefined if they could not be asked. */
  readonly agents: readonly AgentTrust[] | undefined
}

interface Step {
  readonly order?: RootOrder
  readonly rotation?: Rotation
}

const MAX_MISSING = 3

const isDone = ({ seen, of, isUnknown }: Count): boolean => isUnknown !== true && seen >= of

function agentsThat(agents: readonly AgentTrust[] | undefined, follows: (client: Trust) => boolean): Count {
  if (agents === undefined) return { what: 'agents', seen: 0, of: 0, missing: [], isUnknown: true }
  const behind = agents.filter((agent) => !follows(agent)).map(({ machine }) => machine)
  // If a host's agent has followed, only its kubelet is listed: nothing else is left to do there.
  const kubelets = agents
    .filter((agent) => follows(agent) && agent.kubelet !== undefined && !follows(agent.kubelet))
    .map(({ machine }) => `the kubelet of ${machine}`)
  return {
    what: 'agents',
    seen: agents.length - behind.length - kubelets.length,
    of: agents.length,
    missing: [...behind.toSorted(), ...kubelets.toSorted()].slice(0, MAX_MISSING),
    ...(kubelets.length > 0 && { kubelets: kubelets.length }),
  }
}

const waits = (held: Pick<Rotation, 'name' | 'phase' | 'since'>, counts: readonly Count[], until?: number): Step => {
  const waitsFor = counts.find((count) => !isDone(count))
  return { rotation: { ...held, ...defined({ waitsFor, until }) } }
}

/** The next step of an authority; none while it is settled. Called only if everything it signed is current. */
export function authorityStep(recipe: AuthorityRecipe, held: HeldRoot, facts: RotationFacts): Step {
  const { name } = recipe
  const { now, servers, agents, joinMs } = facts
  const [older, newest] = held.generations
  if (older === undefined) return {}
  if (newest === undefined) {
    const isDue = facts.declared > older.declared || !isCurrent(older.open, now)
    return isDue ? { order: { ...nextGeneration(name, older, facts), authority: recipe } } : {}
  }
  const isOfAgents = recipe.trustedBy === 'Agents'
  const print = certificatePrint(newest.open)
  if (held.signs !== newest.number) {
    const phase = { name, phase: 'Distributing', since: newest.since } as const
    const trusting = agentsThat(agents, (a) => a.authorities?.includes(print) === true)
    const counts = isOfAgents ? [servers, trusting] : [servers]
    const until = isOfAgents ? newest.since + joinMs : now
    if (!counts.every(isDone) || now < until) return waits(phase, counts, now < until ? until : undefined)
    return { order: { kind: 'Sign', name, number: newest.number }, ...waits(phase, counts) }
  }
  const phase = { name, phase: 'Reissuing', since: held.signsSince } as const
  const signed = agentsThat(
    agents,
    (a) => a.authorities?.includes(print) === true && (a.signedBy === print || a.signedBy === 'None'),
  )
  const counts = isOfAgents ? [servers, signed] : [servers]
  // Gives clients that report nothing time to get their next certificate.
  const until = isOfAgents ? held.signsSince + joinMs : now
  if (!counts.every(isDone) || now < until) return waits(phase, counts, now < until ? until : undefined)
  return { order: { kind: 'Retire', name, number: newest.number }, ...waits(phase, counts) }
}

/** The next step of a key set: only servers verify with it, and the old key's tokens expire. */
export function keySetStep({ name, signedForMs }: KeySetRecipe, held: HeldRoot, facts: RotationFacts): Step {
  const { now, servers } = facts
  const [older, newest] = held.generations
  if (older === undefined) return {}
  if (newest === undefined) return facts.declared > older.declared ? { order: nextGeneration(name, older, facts) } : {}
  if (held.signs !== newest.number) {
    const phase = { name, phase: 'Distributing', since: newest.since } as const
    if (!isDone(servers)) return waits(phase, [servers])
    return { order: { kind: 'Sign', name, number: newest.number }, ...waits(phase, [servers]) }
  }
  const phase = { name, phase: 'Reissuing', since: held.signsSince } as const
  const until = held.signsSince + signedForMs
  if (!isDone(servers) || now < until) return waits(phase, [servers], until)
  return { order: { kind: 'Retire', name, number: newest.number }, ...waits(phase, [servers]) }
}

/** The next step of a sealing key: an old one is removed once nothing in the store or a snapshot is sealed with it. */
export function sealingStep(
  { name, bytes }: SealingKeyRecipe,
  held: HeldSealingKeys,
  facts: RotationFacts,
  sealed: Sealed | undefined,
): Step {
  const { servers } = facts
  const [older, newest] = held.generations
  if (older === undefined) return {}
  if (newest === undefined)
    return facts.declared > older.declared
      ? { order: { ...nextGeneration(name, older, facts), sealingBytes: bytes } }
      : {}
  if (held.signs !== newest.number) {
    const phase = { name, phase: 'Distributing', since: newest.since } as const
    if (!isDone(servers)) return waits(phase, [servers])
    return { order: { kind: 'Sign', name, number: newest.number }, ...waits(phase, [servers]) }
  }
  const phase = { name, phase: 'Reissuing', since: held.signsSince } as const
  const counts = [servers, sealedObjects(newest.number, sealed), snapshotsWith(newest.number, sealed)]
  if (!counts.every(isDone)) return waits(phase, counts)
  return { order: { kind: 'Retire', name, number: newest.number }, ...waits(phase, counts) }
}

function sealedObjects(number: number, sealed: Sealed | undefined): Count {
  const { all, left } = sealed ?? {}
  return {
    what: 'sealed objects',
    seen: all?.with === number ? 1 : 0,
    of: 1,
    missing: left?.objects.slice(0, MAX_MISSING) ?? [],
    ...(left !== undefined && { why: left.why }),
  }
}

function snapshotsWith(number: number, sealed: Sealed | undefined): Count {
  const { snapshots = [] } = sealed ?? {}
  const older = snapshots.filter((snapshot) => snapshot.with !== number)
  return {
    what: 'snapshots',
    seen: snapshots.length - older.length,
    of: snapshots.length,
    missing: older.map(({ name }) => name).slice(0, MAX_MISSING),
  }
}

/** Requested only while there is one: a running rotation finishes first, so there are at most two generations. */
const nextGeneration = (
  name: string,
  newest: { readonly number: number; readonly declared: number },
  { declared }: RotationFacts,
) => ({
  kind: 'NewGeneration' as const,
  name,
  number: newest.number + 1,
  declared: Math.max(declared, newest.declared),
})

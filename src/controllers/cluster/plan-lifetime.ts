// Decides when a Cluster with a TTL expires. Pure. Unreadable input keeps the cluster: an extension without a readable end counts, and an unreadable
// policy limits nothing.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { durationMs, formatDuration } from '#lib/duration.ts'
import { holdsOver, holdTarget } from '#permits/holds/reach.ts'
import { matchesSelector, selectorOf } from '#kube/selector.ts'

/** Expiry is announced when this share of the TTL has passed. */
const EXPIRING_AT = 0.8

export interface ClusterCaps {
  /** Longest TTL, and longest single extension. */
  readonly maxTtlMs?: number
  /** Concurrently running clusters with a TTL. */
  readonly maxEphemeral?: number
  /** Concurrent creations. */
  readonly maxCreating?: number
}

export type Lifetime =
  /** No TTL is declared. */
  | { readonly state: 'Unlimited' }
  | {
      /** Held: an extension has an unreadable end. The cluster expires when a person deletes that hold. */
      readonly state: 'Alive' | 'Expiring' | 'Expired' | 'Held'
      /** Undefined while it is Held. */
      readonly expiresAt?: number
      /** The extension in effect. */
      readonly extendedBy?: string
      /** Milliseconds until the state changes on its own. */
      readonly changesInMs?: number
      /** The TTL after a policy shortened it. */
      readonly cappedTo?: string
    }

/** The lowest limits of all policies that apply to the cluster. */
export function capsOf(policies: readonly DefenderPolicy[], cluster: Cluster): ClusterCaps {
  const ttl = ttlCap(policies, cluster)
  const applying = policies.filter((p) => appliesTo(p, cluster)).flatMap(({ spec }) => spec.clusters ?? [])
  const ephemeral = applying.flatMap(({ maxEphemeral }) => maxEphemeral ?? [])
  const creating = applying.flatMap(({ maxCreating }) => maxCreating ?? [])
  return {
    ...(ttl !== undefined && { maxTtlMs: ttl.ms }),
    ...(ephemeral.length > 0 && { maxEphemeral: Math.min(...ephemeral) }),
    ...(creating.length > 0 && { maxCreating: Math.min(...creating) }),
  }
}

/** The longest TTL, and the policy that sets it. */
export function ttlCap(
  policies: readonly DefenderPolicy[],
  cluster: Cluster,
): { readonly ms: number; readonly policy: string } | undefined {
  const caps = policies
    .filter((p) => appliesTo(p, cluster))
    .flatMap(({ metadata, spec }) => {
      const ms = durationMs(spec.clusters?.maxTtl ?? '')
      return ms === undefined ? [] : [{ ms, policy: metadata.name ?? '' }]
    })
  return caps.toSorted((a, b) => a.ms - b.ms || (a.policy < b.policy ? -1 : 1))[0]
}

/** A policy in mode Audit limits nothing. */
function appliesTo({ spec }: DefenderPolicy, { metadata }: Cluster): boolean {
  if (spec.clusters === undefined || spec.mode === 'Audit') return false
  try {
    return spec.selector === undefined || matchesSelector(selectorOf(spec.selector), metadata.labels ?? {})
  } catch {
    return false
  }
}

const within = (ms: number, most: number | undefined): number => (most === undefined ? ms : Math.min(ms, most))

interface Span {
  readonly from: number
  readonly to: number
  readonly hold?: string
}

export function lifetimeOf(
  cluster: Cluster,
  holds: readonly OperationalHold[],
  { maxTtlMs }: ClusterCaps,
  now: number,
): Lifetime {
  const ttl = cluster.spec.ttl === undefined ? undefined : durationMs(cluster.spec.ttl)
  const from = Date.parse(cluster.metadata.creationTimestamp ?? '')
  if (ttl === undefined || Number.isNaN(from)) return { state: 'Unlimited' }
  const extensions = holdsOver(holds, { effects: ['Extend'], targets: [holdTarget('Cluster', cluster)], now })
  const unreadable = extensions.find(({ spec }) => Number.isNaN(Date.parse(spec.until)))
  if (unreadable !== undefined) return { state: 'Held', extendedBy: unreadable.metadata.name ?? '' }
  const spans: readonly Span[] = [
    { from, to: from + within(ttl, maxTtlMs) },
    ...extensions.map((hold) => extensionOf(hold, maxTtlMs, now)),
  ]
  const last = spans.reduce((a, b) => (b.to > a.to ? b : a))
  const capped = maxTtlMs !== undefined && ttl > maxTtlMs ? { cappedTo: formatDuration(maxTtlMs) } : {}
  return { ...stateOf(last, now), ...defined({ extendedBy: last.hold }), ...capped }
}

/** An extension counts from its creation. Extensions can be chained, each with its own reason and within the cap. */
function extensionOf({ metadata, spec }: OperationalHold, maxTtlMs: number | undefined, now: number): Span {
  const made = Date.parse(metadata.creationTimestamp ?? '')
  const from = Number.isNaN(made) ? now : made
  return { from, to: from + within(Date.parse(spec.until) - from, maxTtlMs), hold: metadata.name ?? '' }
}

function stateOf(
  { from, to }: Span,
  now: number,
): Extract<Lifetime, { readonly state: 'Alive' | 'Expiring' | 'Expired' | 'Held' }> {
  const expiring = from + (to - from) * EXPIRING_AT
  if (now >= to) return { state: 'Expired', expiresAt: to }
  if (now >= expiring) return { state: 'Expiring', expiresAt: to, changesInMs: to - now }
  return { state: 'Alive', expiresAt: to, changesInMs: expiring - now }
}

/**
 * Decides what happens to an expired Cluster. If git declares it, it stays as a tombstone, since sync would recreate it at once. Otherwise it is
 * deleted.
 */
export const isDeclared = ({ metadata }: Cluster): boolean => metadata.annotations?.[ANNOTATIONS.source] !== undefined

function isEphemeral({ spec, status }: Cluster, now: number): boolean {
  const isOver = status?.expiresAt !== undefined && Date.parse(status.expiresAt) <= now
  return spec.ttl !== undefined && !isOver
}

/** The number of older clusters with a TTL that still run. At the cap, this one waits. Older clusters never wait for younger ones. */
export function aheadOf(cluster: Cluster, all: readonly Cluster[], now: number): number {
  const order = ({ metadata: { creationTimestamp = '', namespace = '', name = '' } }: Cluster): string =>
    `${creationTimestamp} ${namespace}/${name}`
  return all.filter((other) => isEphemeral(other, now) && order(other) < order(cluster)).length
}

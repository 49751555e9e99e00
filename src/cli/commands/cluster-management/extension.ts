// Extends a Cluster's life with a hold from now until a later end. Each extension is a separate hold with a reason, so that limits count from its creation.
// Pure.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { capsOf, lifetimeOf, ttlCap } from '#controllers/cluster/plan-lifetime.ts'
import { timestamp } from '#lib/clock.ts'
import { durationMs, formatDuration } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { instantMs } from '#lib/instant.ts'
import { newHold } from '#permits/holds/new-hold.ts'
import { clusterErrors } from '../../fleet/cluster-errors.ts'
import { sha256Hex } from '#lib/sha256.ts'

/** A longer life needs a longer spec.ttl, declared in git. */
const LONGEST_MS = 30 * 86_400_000
const NAME_CHARS = 200

export interface ExtensionReason {
  readonly for?: string
  readonly until?: string
}

/** By a duration, or until a time. */
type Wanted = { readonly byMs: number } | { readonly to: number }

/** Reports a bad value before any request. */
export function wantedEnd({ for: length, until }: ExtensionReason, now: number): Wanted {
  const refuse = (given: string) => new KubeNodeError(clusterErrors.KN1002_extension({ given }))
  if (length !== undefined && until !== undefined) throw refuse('both --for and --until')
  if (length !== undefined) {
    const byMs = durationMs(length)
    if (byMs === undefined || byMs <= 0 || byMs > LONGEST_MS) throw refuse(`--for ${JSON.stringify(length)}`)
    return { byMs }
  }
  if (until === undefined) throw refuse('neither --for nor --until')
  const to = instantMs(until)
  if (to === undefined || to <= now || to > now + LONGEST_MS) throw refuse(`--until ${JSON.stringify(until)}`)
  return { to }
}

interface Known {
  readonly cluster: Cluster
  readonly holds: readonly OperationalHold[]
  readonly policies: readonly DefenderPolicy[]
}

export interface Extension {
  readonly hold: OperationalHold
  /** When it would expire without the extension. */
  readonly before: string
}

export function extension(
  { cluster, holds, policies }: Known,
  wanted: Wanted,
  given: { readonly reason: string; readonly author: string },
  now: number,
): Extension {
  const { name = '', namespace = '', deletionTimestamp } = cluster.metadata
  if (deletionTimestamp !== undefined) throw new KubeNodeError(clusterErrors.KN1690_deleted({ name }))
  const lifetime = lifetimeOf(cluster, holds, capsOf(policies, cluster), now)
  if (lifetime.state === 'Unlimited') throw new KubeNodeError(clusterErrors.KN1690({ name }))
  const { expiresAt } = lifetime
  const end = 'to' in wanted ? wanted.to : Math.max(expiresAt ?? now, now) + wanted.byMs
  const until = timestamp(end)
  if (expiresAt === undefined || end <= expiresAt) {
    const expires =
      expiresAt === undefined
        ? `is extended without an end by ${lifetime.extendedBy}`
        : `expires at ${timestamp(expiresAt)}`
    throw new KubeNodeError(clusterErrors.KN1002_earlier({ name, until, expires }))
  }
  const cap = ttlCap(policies, cluster)
  if (cap !== undefined && end > now + cap.ms)
    throw new KubeNodeError(
      clusterErrors.KN1693({
        name,
        until,
        policy: cap.policy,
        most: formatDuration(cap.ms),
        latest: timestamp(now + cap.ms),
      }),
    )
  const hold = newHold(
    {
      name: holdName(namespace, name, until),
      target: { kind: 'Cluster', namespace, name },
      effect: 'Extend',
      longestMs: LONGEST_MS,
      refuse: () => clusterErrors.KN1002_extension({ given: `an end at ${until}` }),
    },
    { ...given, for: `${end - now}ms` },
    now,
  )
  return { hold, before: timestamp(expiresAt) }
}

/** Requesting the same end twice gives the same extension. */
function holdName(namespace: string, name: string, until: string): string {
  const digest = sha256Hex(`${namespace}/${name}/${until}`).slice(0, 8)
  return `extend-${name.slice(0, NAME_CHARS)}-${digest}`
}

// Decides what the TTL does to a control plane: a warning before expiry, then a stop if git still declares the Cluster, or deletion otherwise. Pure.
import type { Reason } from '#api/catalogue.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import type { Notice } from '#runtime/reconcile-with.ts'
import { findCondition } from '#kube/conditions.ts'
import { byPermit } from '#permits/under-permit.ts'
import type { Wait } from '#runtime/waiting.ts'
import type { ClusterPlan } from './actions.ts'
import { aheadOf, isDeclared, type Lifetime, lifetimeOf } from './plan-lifetime.ts'
import { finished, permitFor } from './plan-permit.ts'
import type { Seen } from './seen.ts'

/** A longer TTL or an extension triggers a reconcile at once. This interval covers everything else. */
const REQUEUE_MS = 30_000
const SOON_MS = 2_000

export const lifetimeSeen = ({ cluster, holds, caps }: Seen, now: number): Lifetime =>
  lifetimeOf(cluster, holds, caps, now)

type Limited = Exclude<Lifetime, { readonly state: 'Unlimited' }>

/** Stopping this Cluster's control plane takes a permit, because its users lose it. A control plane of an earlier Cluster is not touched. */
export function planExpiry(seen: Seen, lifetime: Limited, now: number): ClusterPlan {
  const { cluster, plane } = seen
  const done = { notices: [], wait: undefined, requeueAfter: REQUEUE_MS }
  if (!isDeclared(cluster))
    return { ...done, actions: [{ kind: 'DeleteCluster', reason: lifetimeText(lifetime) }], phase: 'Expired' }
  if (plane === undefined || plane.state === 'Stopped' || plane.owner !== cluster.metadata.uid)
    return { ...done, actions: [], phase: 'Expired' }
  const step = permitFor(seen, 'expire', 'stop the control plane: its time to live is over', now)
  if (step.kind !== 'Granted')
    return {
      ...done,
      actions: step.actions,
      phase: plane.state === 'Running' ? 'Ready' : 'Failed',
      wait: step.wait,
      requeueAfter: step.afterMs ?? SOON_MS,
    }
  return {
    ...done,
    actions: [
      ...step.actions,
      { kind: 'Stop', reason: lifetimeText(lifetime), by: byPermit(step.permit) },
      ...finished(seen, step.permit, 'it is stopped'),
    ],
    phase: 'Expired',
    requeueAfter: 0,
  }
}

/** Applies only to a control plane that is not running: a running one is never stopped because another one came back. */
export function tooMany({ cluster, plane, caps, hosted }: Seen, now: number): Wait<Reason> | undefined {
  const { maxEphemeral } = caps
  if (cluster.spec.ttl === undefined || maxEphemeral === undefined) return undefined
  if (plane !== undefined && plane.state !== 'Stopped') return undefined
  const ahead = aheadOf(cluster, hosted, now)
  if (ahead < maxEphemeral) return undefined
  return {
    predicate: 'EphemeralLimit',
    seen: `${counted(ahead, 'older Cluster')} with a time to live; a policy allows ${maxEphemeral}`,
    unblock: 'an older one expires or is deleted, or the policy allows more',
  }
}

/** Requeues for the next state change, and reports the state once in an event. */
export function announced({ cluster }: Seen, lifetime: Lifetime, plan: ClusterPlan): ClusterPlan {
  if (lifetime.state === 'Unlimited') return plan
  const { changesInMs } = lifetime
  const before = findCondition(cluster.status?.conditions, 'Expiring')
  const notices: readonly Notice[] =
    lifetime.state === 'Expiring' && before?.reason !== 'LifetimeEnding'
      ? [{ reason: 'LifetimeEnding', message: lifetimeText(lifetime), severity: 'Warning' }]
      : lifetime.state === 'Expired' && before?.reason !== 'LifetimeOver'
        ? [{ reason: 'LifetimeOver', message: lifetimeText(lifetime) }]
        : []
  return {
    ...plan,
    notices: [...plan.notices, ...notices],
    ...(changesInMs !== undefined && { requeueAfter: Math.min(plan.requeueAfter ?? changesInMs, changesInMs) }),
  }
}

export function lifetimeText({ state, expiresAt, extendedBy, cappedTo }: Limited): string {
  const end = expiresAt === undefined ? 'does not expire' : `${VERB[state]} ${timestamp(expiresAt)}`
  const by = extendedBy === undefined ? '' : `; extended by OperationalHold ${extendedBy}`
  const cap = cappedTo === undefined ? '' : `; a policy limits the time to live to ${cappedTo}`
  return `${end}${by}${cap}`
}

const VERB: Readonly<Record<Limited['state'], string>> = {
  Alive: 'expires at',
  Expiring: 'expires at',
  Expired: 'expired at',
  Held: 'expires at',
}

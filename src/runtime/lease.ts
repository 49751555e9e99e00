// The Lease that leaders hold: its shape, what each transition writes, and when another holder's lease has expired. Pure.
import { ANNOTATIONS } from '#api/names.ts'
import type { BuiltIn } from '#kube/built-in.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { microTimestamp } from '#lib/clock.ts'
import { type ObjectKey, apiVersionOf } from '#api/schema/resource.ts'

export type Lease = BuiltIn['Lease']

export const leaseType = coreKind('Lease')

export function newLease(key: ObjectKey): Lease {
  const { name, namespace } = key
  return { apiVersion: apiVersionOf(leaseType), kind: 'Lease', metadata: { name, ...(namespace && { namespace }) } }
}

/** The holder that others regard as leader. An empty name means released. */
export const holderOf = (lease: Lease): string | undefined => lease.spec?.holderIdentity || undefined

export const transitionsOf = (lease: Lease): number => lease.spec?.leaseTransitions ?? 0

export function taken(lease: Lease, identity: string, durationMs: number, now: number): Lease {
  const isFirst = lease.metadata.uid === undefined
  const leaseTransitions = transitionsOf(lease) + (isFirst ? 0 : 1)
  const at = microTimestamp(now)
  const leaseDurationSeconds = Math.ceil(durationMs / 1_000)
  return {
    ...lease,
    spec: { holderIdentity: identity, leaseDurationSeconds, acquireTime: at, renewTime: at, leaseTransitions },
  }
}

export const renewed = (lease: Lease, now: number): Lease => ({
  ...lease,
  spec: { ...lease.spec, renewTime: microTimestamp(now) },
})

export const annotated = (lease: Lease, more: Readonly<Record<string, string>> | undefined): Lease =>
  more === undefined
    ? lease
    : { ...lease, metadata: { ...lease.metadata, annotations: { ...lease.metadata.annotations, ...more } } }

/** Keeps the transition count. Lasts one second, so that a client that polls rarely can take it soon too. */
export const givenBack = (lease: Lease, now: number): Lease => ({
  ...lease,
  spec: { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTimestamp(now) },
})

/** The last observation of another holder's lease, timed by this process's monotonic clock. Times in the Lease come from clocks that may be wrong. */
export interface Sighting {
  readonly version: string
  readonly at: number
}

export function sighted(lease: Lease, before: Sighting | undefined, monotonic: number): Sighting {
  const version = `${lease.metadata.uid ?? ''}/${lease.metadata.resourceVersion ?? ''}`
  return before?.version === version ? before : { version, at: monotonic }
}

/** Expired if released, or if the holder did not renew it for its whole duration while this process watched. */
export function isOver(lease: Lease, sighting: Sighting, monotonic: number, durationMs: number): boolean {
  if (holderOf(lease) === undefined) return true
  const promisedMs = (lease.spec?.leaseDurationSeconds ?? 0) * 1_000
  return monotonic - sighting.at >= Math.max(promisedMs, durationMs)
}

/** Candidates need a moment to notice that a lease is free. */
export const HANDOVER_MS = 5_000

/** For a reader whose clock agrees with the holder's: the last renewal, if that is too long ago or the lease was released. Undefined while it is held. */
export function lapsedAt(lease: Lease, now: number): number | undefined {
  const renewed = Date.parse(lease.spec?.renewTime ?? '')
  if (Number.isNaN(renewed)) return undefined
  const lifeMs = holderOf(lease) === undefined ? 0 : (lease.spec?.leaseDurationSeconds ?? 0) * 1_000 + HANDOVER_MS
  return now - renewed > lifeMs ? renewed : undefined
}

/** Of the list in one Lease: a thousand names. */
const MOST_HOSTS_CHARS = 64 * 1024

/** What a replica says that it runs: `namespace/name` of Clusters. */
export function hostsIn({ metadata }: Lease): ReadonlySet<string> {
  const text = metadata.annotations?.[ANNOTATIONS.hosts] ?? ''
  if (text.length > MOST_HOSTS_CHARS) return new Set()
  try {
    const found: unknown = JSON.parse(text)
    return new Set(Array.isArray(found) ? found.filter((name) => typeof name === 'string') : [])
  } catch {
    return new Set()
  }
}

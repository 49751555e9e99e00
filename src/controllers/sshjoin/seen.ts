// The inputs of one reconcile of a join over SSH. Pure.
import type { Machine, SshJoin, SshSpec } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { canonicalJson } from '#lib/json.ts'
import { sha256OfJson } from '#lib/sha256.ts'

export type Failure = NonNullable<SshJoin['reason']>

/** The joins of all machines with the same login, for the stop-loss. */
export interface Others {
  readonly tried: number
  readonly failed: ReadonlyMap<Failure, number>
}

export interface Seen {
  readonly machine: Machine
  readonly ssh: SshSpec
  readonly others: Others
}

/** Set by the machine controller once the agent has a certificate or its own token. */
export const isCertified = ({ status }: Machine): boolean =>
  // Of a machine that was managed over SSH, the controllers reported in place of an agent.
  (status?.agent !== undefined && status.agent.channel !== 'SSH') ||
  status?.conditions?.some((c) => c.type === 'Joined' && c.status === 'True') === true

/** What a join is for. A change starts it again. */
export const requestOf = (machine: Machine, ssh: SshSpec): string =>
  sha256OfJson({ ssh, again: machine.metadata.annotations?.[ANNOTATIONS.joinAgain] ?? '' })

/** Hosts with one login fail together. The wrong key of one team must not hold back the hosts of another. */
export const loginOf = ({ user, secretRef, jump }: SshSpec): string => canonicalJson([user, secretRef, jump ?? null])

/** A join that succeeded longer ago no longer counts: many old machines would hide that every new one fails. */
const COUNTED_MS = 3_600_000

/** Not tried yet. */
const isPaused = ({ step, reason, retryAt }: SshJoin): boolean =>
  step === 'Reach' && reason === undefined && retryAt !== undefined

export function othersOf(machines: readonly Machine[], now: number): Others {
  const failed = new Map<Failure, number>()
  let tried = 0
  for (const { status } of machines) {
    const join = status?.join
    if (join === undefined || isPaused(join)) continue
    const isFailed = join.finished === undefined && join.reason !== undefined
    if (!isFailed && now - Date.parse(join.finished ?? join.since) > COUNTED_MS) continue
    tried++
    if (isFailed && join.reason !== undefined) failed.set(join.reason, (failed.get(join.reason) ?? 0) + 1)
  }
  return { tried, failed }
}

// A person's approval to delete a host that belongs to no Machine: written by the CLI on the list of such hosts, read and withdrawn by the controllers. It is for one
// claim of the host and for some hours, since hosts without a Machine may come back to use. Pure.
import { objectIn } from '#lib/fields.ts'
import { timestamp } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'

/** Long enough for the grace period of a host that was listed just now, after a restart of the controllers too. */
export const ORPHAN_APPROVAL_MS = 24 * 3_600_000
/** The clock of a person may be ahead of that of the controllers. */
const SKEW_MS = 5 * 60_000

export interface OrphanApproval {
  /** The Machine that the host was made for. */
  readonly machineUid: string
  readonly at: string
}

export type OrphanApprovals = ReadonlyMap<string, OrphanApproval>

/** By the id of the host; those in force. People can write it by hand: what cannot be read approves nothing. */
export function orphanApprovalsIn(text: string | undefined, now: number): OrphanApprovals {
  const all = Object.entries(objectIn(text)).filter((pair): pair is [string, OrphanApproval] => isApproval(pair[1]))
  return new Map(all.filter(([, { at }]) => isInForce(Date.parse(at), now)))
}

export const orphanApprovalsText = (approvals: OrphanApprovals): string => JSON.stringify(Object.fromEntries(approvals))

export const orphanApproval = (machineUid: string, now: number): OrphanApproval => ({ machineUid, at: timestamp(now) })

const isInForce = (at: number, now: number): boolean => at <= now + SKEW_MS && now < at + ORPHAN_APPROVAL_MS

const isApproval = (value: unknown): boolean =>
  isObject(value) && typeof value['machineUid'] === 'string' && typeof value['at'] === 'string'

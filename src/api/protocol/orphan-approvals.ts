// A user's approval to delete a host without a Machine: written by the CLI on the list of such hosts, read and withdrawn by the controllers. It covers one
// claim of the host for some hours, because such hosts may be used again. Pure.
import { objectIn } from '#lib/fields.ts'
import { timestamp } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'

/** Covers the grace period of a host that was just listed, even after a controller restart. */
export const ORPHAN_APPROVAL_MS = 24 * 3_600_000
/** A user's clock may be ahead of the controllers'. */
const SKEW_MS = 5 * 60_000

export interface OrphanApproval {
  /** The Machine that the host was created for. */
  readonly machineUid: string
  readonly at: string
}

export type OrphanApprovals = ReadonlyMap<string, OrphanApproval>

/** The approvals in force, by host id. Users can write the text by hand: an unreadable one approves nothing. */
export function orphanApprovalsIn(text: string | undefined, now: number): OrphanApprovals {
  const all = Object.entries(objectIn(text)).filter((pair): pair is [string, OrphanApproval] => isApproval(pair[1]))
  return new Map(all.filter(([, { at }]) => isInForce(Date.parse(at), now)))
}

export const orphanApprovalsText = (approvals: OrphanApprovals): string => JSON.stringify(Object.fromEntries(approvals))

export const orphanApproval = (machineUid: string, now: number): OrphanApproval => ({ machineUid, at: timestamp(now) })

const isInForce = (at: number, now: number): boolean => at <= now + SKEW_MS && now < at + ORPHAN_APPROVAL_MS

const isApproval = (value: unknown): boolean =>
  isObject(value) && typeof value['machineUid'] === 'string' && typeof value['at'] === 'string'

// What is known about the signatures of a source's newest commit. Pure.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Reason } from '../../trust/verify-range.ts'

type Status = NonNullable<FleetSource['status']>
export type LastVerified = NonNullable<Status['verified']>
export type SeenHeads = NonNullable<Status['seen']>

/** What is known about the newest commit of the branch. */
export type Trust =
  | { readonly kind: 'Verified'; readonly head: string; readonly verified: LastVerified; readonly commits: number }
  | {
      readonly kind: 'Refused'
      readonly head: string
      readonly reason: Reason | 'InvalidPolicy' | 'Unreadable'
      /** Includes the error number. */
      readonly message: string
      readonly seen: SeenHeads
      readonly verified?: LastVerified
      /** With enough Approvals of this digest, the commit is followed. */
      readonly digest?: string
    }
  | {
      readonly kind: 'Running'
      readonly head: string
      readonly done: number
      readonly total: number
      readonly seen: SeenHeads
      readonly verified?: LastVerified
    }

/** Who signed the commit, and with which key; undefined for the anchor, and where commits are not verified. */
export const signerOf = (trust: Trust | undefined): string | undefined =>
  trust?.kind === 'Verified' && trust.verified.principal !== undefined
    ? `${trust.verified.principal} ${trust.verified.key ?? ''}`.trimEnd()
    : undefined

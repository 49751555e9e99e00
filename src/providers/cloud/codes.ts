// The meaning of a vendor's error codes. Only listed codes have one: any other leaves it open whether a host exists.
import { own } from '#lib/fields.ts'
import type { Wire } from './call.ts'

/** For a call that should create a host. `NoneForIt`: requests with other parameters may get one. */
export type Meaning = 'Refused' | 'NoneInZone' | 'NoneOfType' | 'NoneThere' | 'NoneForIt'

export interface Codes {
  readonly made: Readonly<Record<string, Meaning>>
  /** The token was already used with other parameters. */
  readonly tokenUsed: string
  /** The host does not exist. */
  readonly missing: string
  /** The keys expired or the request is too old: other keys or a new signature may help. */
  readonly stale: readonly string[]
  isThrottle(code: string): boolean
}

export const meaningOf = ({ made }: Codes, code: string): Meaning | undefined => own(made, code)

export const readBy = (codes: Codes): Pick<Wire, 'isThrottle' | 'isVerdict' | 'isStale'> => ({
  isThrottle: (code) => codes.isThrottle(code),
  isVerdict: (code) => meaningOf(codes, code) !== undefined,
  isStale: (code) => codes.stale.includes(code),
})

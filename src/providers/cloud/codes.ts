// What the codes of a vendor mean. Only codes that are listed mean anything: whatever else comes leaves it open whether there is a host.
import { own } from '#lib/fields.ts'
import type { Wire } from './call.ts'

/** Of a call that was to make a host. */
export type Meaning = 'Refused' | 'NoneInZone' | 'NoneOfType' | 'NoneThere'

export interface Codes {
  readonly made: Readonly<Record<string, Meaning>>
  /** The token was used with other parameters before. */
  readonly tokenUsed: string
  /** There is no such host. */
  readonly missing: string
  /** The keys are at their end, or the request is too old: with other keys, or signed again, it may pass. */
  readonly stale: readonly string[]
  isThrottle(code: string): boolean
}

export const meaningOf = ({ made }: Codes, code: string): Meaning | undefined => own(made, code)

export const readBy = (codes: Codes): Pick<Wire, 'isThrottle' | 'isVerdict' | 'isStale'> => ({
  isThrottle: (code) => codes.isThrottle(code),
  isVerdict: (code) => meaningOf(codes, code) !== undefined,
  isStale: (code) => codes.stale.includes(code),
})

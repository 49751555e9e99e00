// The result of a call that should create a host, from its code's meaning.
import type { Offering } from '../port.ts'
import type { CallResult } from './call.ts'
import type { MakeResult } from './hosts.ts'
import { type Codes, meaningOf } from './codes.ts'

/** Stock comes back within minutes, or not today; asking more often does not help. */
const STOCK_AGAIN_MS = 5 * 60_000

/** Every result except a success. */
export function notMade(
  result: Exclude<CallResult, { readonly kind: 'Answer' }>,
  { zone, type }: Offering,
  codes: Codes,
): MakeResult {
  if (result.kind === 'Throttled') return result
  if (result.kind === 'NoAnswer') return { kind: 'Unknown', message: result.message }
  const text = `${result.code}: ${result.message}`
  if (result.code === codes.tokenUsed) return { kind: 'TokenUsed', message: text }
  const meaning = meaningOf(codes, result.code)
  if (meaning === undefined) return { kind: 'Unknown', message: text }
  if (meaning === 'Refused') return { kind: 'Refused', reason: text }
  return {
    kind: 'Exhausted',
    ...(meaning !== 'NoneOfType' && zone !== undefined && { zone }),
    ...(meaning !== 'NoneInZone' && type !== undefined && { type }),
    reason: text,
    retryAfterMs: STOCK_AGAIN_MS,
  }
}

// Builds a gate's verdict: bounded sentences, whole seconds, and no name for the built-in policy.
import { builtinPolicy, type CompiledPolicy } from './compile-policy.ts'
import type { Gate, GateVerdict } from './gate.ts'
import type { ReasonName } from './reason-name.ts'

interface VerdictParts {
  readonly reason: ReasonName
  readonly policy?: CompiledPolicy
  readonly seen?: string
  readonly limit?: string
  /** Field of the policy with the limit. */
  readonly field?: string
  /** What `field` limits. */
  readonly count?: number
  readonly hold?: string
  readonly component?: string
  readonly retryAfterMs?: number
}

/** The kind's limit on sentences. */
const MAX_SENTENCE = 200
const cut = (text: string): string => (text.length <= MAX_SENTENCE ? text : `${text.slice(0, MAX_SENTENCE - 1)}…`)

const verdictOf =
  (verdict: GateVerdict['verdict']) =>
  (gate: Gate, { reason, policy, seen, limit, field, retryAfterMs, ...more }: VerdictParts): GateVerdict => ({
    gate,
    verdict,
    reason,
    ...(policy !== undefined && policy !== builtinPolicy && { policy: policy.name }),
    ...(seen !== undefined && { seen: cut(seen) }),
    ...(limit !== undefined && { limit: cut(limit) }),
    ...(verdict !== 'Granted' && { ...more, ...fieldOf(policy, field) }),
    ...(retryAfterMs !== undefined && { retryAfter: Math.ceil(retryAfterMs / 1_000) }),
  })
/** A pointer into a spec is meaningless without its generation. */
const fieldOf = (policy: CompiledPolicy | undefined, field: string | undefined) =>
  policy?.generation === undefined || policy === builtinPolicy || field === undefined
    ? {}
    : { field, generation: policy.generation }

export const pass = verdictOf('Granted')
export const wait = verdictOf('Waiting')
export const deny = verdictOf('Denied')

/** Why an operation passes when others are blocked. */
export const GOES_BACK = 'returns to a version that was healthy before'
export const KEEPS_SERVING = 'the machine keeps serving meanwhile'

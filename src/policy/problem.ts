// A problem in a rule: its number, its place in the rule, the observed value, and what to write instead.
import type { ErrorCode } from '#lib/errors.ts'

export const RULE_CODES = {
  shape: 'KN4001',
  tooLarge: 'KN4002',
  tooDeep: 'KN4002',
  tooManyLeaves: 'KN4002',
  unknownField: 'KN4005',
  unknownFact: 'KN4005',
  unknownPath: 'KN4005',
  notAPointer: 'KN4001',
  unknownOperator: 'KN4005',
  operatorDoesNotFit: 'KN4005',
  wrongValueType: 'KN4001',
  badValue: 'KN4001',
  noDuration: 'KN4001',
  emptyGroup: 'KN4001',
  badName: 'KN4016',
} as const satisfies Record<string, ErrorCode>

export interface RuleProblem {
  readonly code: ErrorCode
  /** JSON pointer into the rule. */
  readonly pointer: string
  readonly message: string
  readonly didYouMean?: string
  /** The actual value. */
  readonly known?: readonly string[]
}

/** One line for users: number, place, problem, suggestion, and the actual value last, because a status cuts off the end. */
export function describeProblem({ code, pointer, message, didYouMean, known }: RuleProblem): string {
  const hint = didYouMean === undefined ? '' : `; did you mean ${didYouMean}?`
  const rest = known === undefined ? '' : `${hint === '' ? '; there' : ' There'} are ${known.join(', ')}`
  return `${code}: at ${pointer === '' ? 'the top' : pointer}: ${message}${hint}${rest}`
}

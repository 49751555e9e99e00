// What is wrong with a rule: a number, where in the rule, what was seen, and what to write instead.
import type { ErrorCode } from '#lib/errors.ts'
import type { policyErrors } from './policy-errors.ts'

export const RULE_CODES = {
  shape: 'KN4001',
  tooLarge: 'KN4002',
  tooDeep: 'KN4003',
  tooManyLeaves: 'KN4004',
  unknownField: 'KN4005',
  unknownFact: 'KN4006',
  unknownPath: 'KN4007',
  notAPointer: 'KN4008',
  unknownOperator: 'KN4009',
  operatorDoesNotFit: 'KN4010',
  wrongValueType: 'KN4011',
  badValue: 'KN4012',
  noDuration: 'KN4013',
  emptyGroup: 'KN4014',
  badName: 'KN4017',
} as const satisfies Record<string, keyof typeof policyErrors>

export interface RuleProblem {
  readonly code: ErrorCode
  /** JSON pointer into the rule. */
  readonly pointer: string
  readonly message: string
  readonly didYouMean?: string
  /** The actual value. */
  readonly known?: readonly string[]
}

/** One line for users: number, place, what is wrong, what was meant, and the actual value last: a status cuts off the end. */
export function describeProblem({ code, pointer, message, didYouMean, known }: RuleProblem): string {
  const hint = didYouMean === undefined ? '' : `; did you mean ${didYouMean}?`
  const rest = known === undefined ? '' : `${hint === '' ? '; there' : ' There'} are ${known.join(', ')}`
  return `${code}: at ${pointer === '' ? 'the top' : pointer}: ${message}${hint}${rest}`
}

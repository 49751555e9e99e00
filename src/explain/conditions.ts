// Whether a condition says that its object is well, as the catalogue has it. Pure.
import { CONDITIONS } from '#api/catalogue.ts'

export interface ConditionSeen {
  readonly type: string
  readonly status: string
  readonly reason: string
}

/** Of a type that the catalogue does not know nothing is concluded. */
export function isGoodCondition(kind: string, { type, status, reason }: ConditionSeen): boolean {
  // A Node's other conditions are problems that a detector found.
  if (kind === 'Node' && type !== 'Ready') return status !== 'True'
  // A released permit is no longer granted, as intended.
  if (kind === 'OperationPermit' && reason === 'AsDeclared') return true
  const known = CONDITIONS[type as keyof typeof CONDITIONS]
  return known === undefined || status === known.good
}

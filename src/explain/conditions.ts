// Whether a condition means that its object is healthy, according to the catalog. Pure.
import { CONDITIONS } from '#api/catalogue.ts'
import { isOfLifecycle } from '#api/node-conditions.ts'

export interface ConditionSeen {
  readonly type: string
  readonly status: string
  readonly reason: string
}

/** For a type that the catalog does not list, nothing is concluded. */
export function isGoodCondition(kind: string, { type, status, reason }: ConditionSeen): boolean {
  // Other conditions of a Node are problems that a detector found.
  if (kind === 'Node' && type !== 'Ready') return status !== 'True' || isOfLifecycle(type)
  // A released permit is no longer granted, as intended.
  if (kind === 'OperationPermit' && reason === 'AsDeclared') return true
  const known = CONDITIONS[type as keyof typeof CONDITIONS]
  return known === undefined || status === known.good
}

// A permit is as risky as its riskiest operation.
import type { Disruption } from '#api/kinds/operation-permit.ts'
import { disruptionFacts, type Risk } from '#api/protocol/operations.ts'

export type { Risk }

const ORDER: readonly Risk[] = ['Low', 'Medium', 'High']

export const isAtLeast = (risk: Risk, floor: Risk): boolean => ORDER.indexOf(risk) >= ORDER.indexOf(floor)

export const riskOf = (operations: readonly Disruption[]): Risk =>
  operations.map((o) => disruptionFacts(o).risk).reduce((worst, r) => (isAtLeast(r, worst) ? r : worst), 'Low')

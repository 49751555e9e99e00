// Reads a range of commits as it is typed: BASE..HEAD.
import { KubeNodeError } from '#lib/errors.ts'
import { planErrors } from './plan-errors.ts'

export const noRange = (range: string): KubeNodeError =>
  new KubeNodeError(planErrors.KN1660({ range: JSON.stringify(range) }))

/** As git writes them; `main...HEAD` would need the merge base, which a shallow clone of CI does not have. */
export function rangeEnds(range: string): readonly [base: string, head: string] {
  const [, base, head] = /^([^.][^]*?)\.\.([^.][^]*)$/.exec(range) ?? []
  if (base === undefined || head === undefined) throw noRange(range)
  return [base, head]
}

// Whether a selector can match anything at all. Pure.
import type { Requirement, Selector } from './selector.ts'

/** Why no labels can match it; undefined if some can. */
export function neverMatches(selector: Selector): string | undefined {
  for (const [key, requirements] of Map.groupBy(selector, (r) => r.key)) {
    const of = (operator: Requirement['operator']) => requirements.filter((r) => r.operator === operator)
    const ins = of('In')
    const isRequired = ins.length > 0 || of('Exists').length > 0
    if (isRequired && of('DoesNotExist').length > 0) return `label ${key} cannot both exist and not exist`
    const [first] = ins
    if (first === undefined) continue
    const refused = new Set(of('NotIn').flatMap((r) => r.values))
    const left = first.values.filter((v) => ins.every((r) => r.values.includes(v)) && !refused.has(v))
    if (left.length === 0) return `no value of label ${key} meets all requirements`
  }
  return undefined
}

// Problems of hand-written cases, which are code that Node.js runs without type checks. Pure.
import { CASE_VERDICTS } from '#policy/rule-cases.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { isObject } from '#lib/json.ts'

const VERDICTS = Object.keys(CASE_VERDICTS)
const FIELDS = ['name', 'conditions', 'labels', 'taints', 'unschedulable', 'versions', 'facts', 'verdict']
const STATUSES: readonly unknown[] = ['True', 'False', 'Unknown']

/** Sentences; empty if every case can run. */
export function malformedCases(cases: readonly unknown[]): readonly string[] {
  return cases.flatMap((one, n) => {
    const name = isObject(one) && typeof one['name'] === 'string' ? `case ${JSON.stringify(one['name'])}` : `case ${n}`
    return problemsOf(one).map((text) => `${name}: ${text}`)
  })
}

function problemsOf(one: unknown): readonly string[] {
  if (!isObject(one)) return ['not an object']
  const { name, verdict, conditions = [] } = one
  const strange = Object.keys(one).filter((field) => !FIELDS.includes(field))
  return [
    ...(typeof name === 'string' && name !== '' ? [] : ['it has no name; describe the situation in a sentence']),
    ...(typeof verdict === 'string' && VERDICTS.includes(verdict)
      ? []
      : [`unknown verdict ${JSON.stringify(verdict)}; use one of ${VERDICTS.map((v) => `"${v}"`).join(', ')}`]),
    ...strange.map((field) => `unknown field ${field}${hint(field)}; use one of ${FIELDS.join(', ')}`),
    ...(Array.isArray(conditions) ? conditions.flatMap(conditionProblems) : ['conditions is not a list']),
  ]
}

function hint(field: string): string {
  const near = didYouMean(field, FIELDS)
  return near === undefined ? '' : `, did you mean ${near}?`
}

function conditionProblems(condition: unknown): readonly string[] {
  if (!isObject(condition) || typeof condition['type'] !== 'string') return ['a condition has no type']
  const { type, status, lastTransitionTime: at } = condition
  return [
    ...(STATUSES.includes(status)
      ? []
      : [`condition ${type} has the status ${JSON.stringify(status)}; use "True", "False" or "Unknown"`]),
    ...(at === undefined || (typeof at === 'string' && !Number.isNaN(Date.parse(at)))
      ? []
      : [`condition ${type} has an invalid lastTransitionTime ${JSON.stringify(at)}`]),
  ]
}

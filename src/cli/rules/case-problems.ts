// What is wrong with cases as somebody wrote them: they are code, which Node runs without looking at its types. Pure.
import { CASE_VERDICTS } from '#policy/rule-cases.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { isObject } from '#lib/json.ts'

const VERDICTS = Object.keys(CASE_VERDICTS)
const FIELDS = ['name', 'conditions', 'labels', 'taints', 'unschedulable', 'versions', 'facts', 'verdict']
const STATUSES: readonly unknown[] = ['True', 'False', 'Unknown']

/** In sentences; none when every case can be asked. */
export function malformedCases(cases: readonly unknown[]): readonly string[] {
  return cases.flatMap((one, n) => {
    const name = isObject(one) && typeof one['name'] === 'string' ? `case ${JSON.stringify(one['name'])}` : `case ${n}`
    return problemsOf(one).map((text) => `${name}: ${text}`)
  })
}

function problemsOf(one: unknown): readonly string[] {
  if (!isObject(one)) return ['it is no object']
  const { name, verdict, conditions = [] } = one
  const strange = Object.keys(one).filter((field) => !FIELDS.includes(field))
  return [
    ...(typeof name === 'string' && name !== '' ? [] : ['it has no name; write a sentence that says when this is so']),
    ...(typeof verdict === 'string' && VERDICTS.includes(verdict)
      ? []
      : [`its verdict is ${JSON.stringify(verdict)}; there are ${VERDICTS.map((v) => `"${v}"`).join(', ')}`]),
    ...strange.map((field) => `there is no field ${field}${hint(field)}; there are ${FIELDS.join(', ')}`),
    ...(Array.isArray(conditions) ? conditions.flatMap(conditionProblems) : ['conditions is no list']),
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
      : [`condition ${type} has the status ${JSON.stringify(status)}; there are True, False, Unknown, each as text`]),
    ...(at === undefined || (typeof at === 'string' && !Number.isNaN(Date.parse(at)))
      ? []
      : [`condition ${type} has the lastTransitionTime ${JSON.stringify(at)}, which is no time`]),
  ]
}

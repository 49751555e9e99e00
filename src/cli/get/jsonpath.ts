// Evaluates a JSONPath template on objects as kubectl does: missing fields are empty, several values are joined by blanks, objects are JSON. Pure.
import { assertNever } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { Filter, Operand, Part, Step } from './jsonpath-parse.ts'
import { TemplateProblem } from './jsonpath-parse.ts'

export const evaluate = (parts: readonly Part[], root: unknown): string =>
  parts
    .map((part) => {
      if (part.kind === 'text') return part.text
      const found = valuesAt(part.path, root)
      return part.kind === 'value' ? found.map(textOf).join(' ') : found.map((v) => evaluate(part.parts, v)).join('')
    })
    .join('')

export const valuesAt = (path: readonly Step[], root: unknown): readonly unknown[] =>
  path.reduce<readonly unknown[]>((found, step) => found.flatMap((v) => oneStep(step, v)), [root])

/** As kubectl prints a value; a column shows a missing one as `<none>`. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined ? '' : JSON.stringify(value)
}

const membersOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? (value as readonly unknown[]) : isObject(value) ? Object.values(value) : []

function oneStep(step: Step, value: unknown): readonly unknown[] {
  switch (step.kind) {
    case 'field':
      return isObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : []
    case 'every':
      return membersOf(value)
    case 'below':
      return [value, ...membersOf(value).flatMap((v) => oneStep(step, v))]
    case 'one':
      return Array.isArray(value) ? [entryAt(value as readonly unknown[], step.index)] : []
    case 'index':
      return Array.isArray(value) ? sliceOf(value as readonly unknown[], step) : []
    case 'union':
      return step.parts.flatMap((path) => valuesAt(path, value))
    case 'filter':
      return Array.isArray(value) ? (value as readonly unknown[]).filter((v) => isTrue(step.filter, v)) : []
    default:
      return assertNever(step)
  }
}

/** Unlike a missing field, an entry that is not there is an error in kubectl too. */
function entryAt(list: readonly unknown[], index: number): unknown {
  const at = index < 0 ? list.length + index : index
  if (at < 0 || at >= list.length)
    throw new TemplateProblem(`index ${index} is out of range: the list has ${list.length} entries`)
  return list[at]
}

function sliceOf(list: readonly unknown[], { from, to, by }: Extract<Step, { kind: 'index' }>): readonly unknown[] {
  return list.slice(from ?? 0, to ?? list.length).filter((_, i) => i % by === 0)
}

const operandOf = (operand: Operand, value: unknown): readonly unknown[] =>
  'path' in operand ? valuesAt(operand.path, value) : [operand.value]

function isTrue({ left, right }: Filter, value: unknown): boolean {
  const [a] = operandOf(left, value)
  if (right === undefined) return operandOf(left, value).length > 0
  const [b] = operandOf(right.to, value)
  if (a === undefined || b === undefined) return false
  if (right.is === '==') return a === b
  if (right.is === '!=') return a !== b
  if (typeof a !== typeof b || (typeof a !== 'string' && typeof a !== 'number')) return false
  const order = a < (b as typeof a) ? -1 : a > (b as typeof a) ? 1 : 0
  if (right.is === '<') return order < 0
  if (right.is === '<=') return order <= 0
  return right.is === '>' ? order > 0 : order >= 0
}

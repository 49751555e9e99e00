// Checks untrusted input against the limits before any recursion. Counts as it goes and stops at the limit, so that shared references (YAML aliases)
// cannot blow up. Refuses anything but JSON.
import { MAX_RULE_BYTES, MAX_RULE_JSON_DEPTH } from './limits.ts'
import { pointerTo } from './pointer.ts'
import { RULE_CODES } from './problem.ts'
import type { RuleProblem } from './problem.ts'

interface Place {
  readonly value: unknown
  readonly tokens: readonly (string | number)[]
}

/** The first exceeded limit; undefined when the value is JSON within limits. */
export function measureRule(rule: unknown): RuleProblem | undefined {
  const stack: Place[] = [{ value: rule, tokens: [] }]
  let bytes = 0
  for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
    const { value, tokens } = place
    const problem = (code: RuleProblem['code'], message: string) => ({ code, pointer: pointerTo(tokens), message })
    if (tokens.length > MAX_RULE_JSON_DEPTH)
      return problem(
        RULE_CODES.tooDeep,
        `the rule nests deeper than ${MAX_RULE_JSON_DEPTH} levels; split it into several rules`,
      )
    const children = childrenOf(value)
    if (children === undefined) return problem(RULE_CODES.shape, `not JSON: a ${typeof value}`)
    bytes += sizeOf(value)
    if (bytes > MAX_RULE_BYTES)
      return {
        ...problem(RULE_CODES.tooLarge, `the rule is larger than ${MAX_RULE_BYTES} bytes; split it`),
        pointer: '',
      }
    for (const [token, child] of children) stack.push({ value: child, tokens: [...tokens, token] })
  }
  return undefined
}

/** Undefined for anything that JSON does not have: functions, dates, class instances, NaN. */
function childrenOf(value: unknown): readonly (readonly [string | number, unknown])[] | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return []
  if (typeof value === 'number') return Number.isFinite(value) ? [] : undefined
  if (typeof value !== 'object') return undefined
  if (Array.isArray(value)) return value.length > MAX_RULE_BYTES ? [[0, undefined]] : [...value.entries()]
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype ? Object.entries(value) : undefined
}

/** Size as JSON, never too low, counted without building the text. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length > MAX_RULE_BYTES ? value.length : Buffer.byteLength(value) + 2
  if (typeof value !== 'object' || value === null) return String(value).length
  if (Array.isArray(value)) return value.length + 2
  let bytes = 2
  for (const key of Object.keys(value)) bytes += key.length > MAX_RULE_BYTES ? key.length : Buffer.byteLength(key) + 4
  return bytes
}

// Label selectors: the text form of queries and the object form of specs, both read into one list of requirements.
import { isOneOf, labelOf, type Labels, type LabelSelector } from '#api/schema/labels.ts'
import { labelValueProblems, qualifiedNameProblems } from '#api/schema/name-problems.ts'
import { badRequest } from '../status/refusal.ts'

interface Requirement {
  readonly key: string
  readonly operator: 'in' | 'notin' | 'exists' | '!' | '=' | '==' | '!=' | 'gt' | 'lt'
  readonly values: readonly string[]
}

/** Undefined matches everything, so that the common case costs nothing. */
export type LabelMatcher = (labels: Labels) => boolean

function matchesAll(requirements: readonly Requirement[]): LabelMatcher {
  return (labels) => requirements.every((r) => matches(r, labels))
}

function matches({ key, operator, values }: Requirement, labels: Labels): boolean {
  const value = labelOf(labels, key)
  switch (operator) {
    case 'in':
    case '=':
    case '==':
      return isOneOf(value, values)
    case 'notin':
    case '!=':
      return !isOneOf(value, values)
    case 'exists':
      return value !== undefined
    case '!':
      return value === undefined
    case 'gt':
      return compared(value, values[0], (a, b) => a > b)
    case 'lt':
      return compared(value, values[0], (a, b) => a < b)
    default:
      return false
  }
}

const compared = (a: string | undefined, b: string | undefined, test: (a: number, b: number) => boolean): boolean =>
  a !== undefined && b !== undefined && /^-?\d+$/.test(a) && /^-?\d+$/.test(b) && test(Number(a), Number(b))

const TOKEN = /\s*(==|!=|=|!|<|>|\(|\)|,|[^\s=!<>(),]+)/y

function tokens(text: string): readonly string[] {
  const out: string[] = []
  TOKEN.lastIndex = 0
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    const m = TOKEN.exec(text)
    if (m === null) break
    out.push(m[1] ?? '')
  }
  return out
}

const SPECIAL = new Set(['=', '==', '!=', '!', '<', '>', '(', ')', ','])
const isWord = (t: string | undefined): t is string => t !== undefined && !SPECIAL.has(t)

/** Wrong between requirements, not in one. */
class Unplaced extends SyntaxError {}

class SelectorParser {
  readonly #tokens: readonly string[]
  #at = 0

  constructor(text: string) {
    this.#tokens = tokens(text)
  }

  all(): readonly Requirement[] {
    const out: Requirement[] = []
    if (this.#tokens.length === 0) return out
    const [first] = this.#tokens
    if (!isWord(first) && first !== '!')
      throw new Unplaced(`found '${first}', expected: !, identifier, or 'end of string'`)
    for (;;) {
      out.push(this.#requirement())
      const next = this.#tokens[this.#at]
      if (next === undefined) return out
      if (next !== ',') throw new Unplaced(`found '${next}', expected: ',' or 'end of string'`)
      this.#at++
      const after = this.#tokens[this.#at]
      if (!isWord(after) && after !== '!') throw new Unplaced(`found '${after ?? ''}', expected: identifier after ','`)
    }
  }

  #requirement(): Requirement {
    const not = this.#tokens[this.#at] === '!'
    if (not) this.#at++
    const key = this.#tokens[this.#at++]
    if (!isWord(key)) throw new SyntaxError(`found '${key ?? ''}', expected: identifier`)
    checked(qualifiedNameProblems(key, 'a valid label key'), '<nil>', key)
    const operator = this.#tokens[this.#at]
    if (not || operator === undefined || operator === ',') return { key, operator: not ? '!' : 'exists', values: [] }
    this.#at++
    switch (operator) {
      case '=':
      case '==':
      case '!=':
        return { key, operator, values: [this.#value(key)] }
      case '<':
      case '>':
        return { key, operator: operator === '<' ? 'lt' : 'gt', values: [this.#integer(key)] }
      case 'in':
      case 'notin':
        return { key, operator, values: this.#values(key) }
      default:
        throw new SyntaxError(`found '${operator}', expected: in, notin, =, ==, !=, gt, lt`)
    }
  }

  /** An empty value is one: `a=`. */
  #value(key: string): string {
    const t = this.#tokens[this.#at]
    if (t === undefined || t === ',' || t === ')') return ''
    if (SPECIAL.has(t)) throw new SyntaxError(`found '${t}', expected: identifier`)
    this.#at++
    checked(labelValueProblems(t), `values[0][${key}]`, t)
    return t
  }

  #integer(key: string): string {
    const value = this.#value(key)
    if (!/^-?\d+$/.test(value)) checked(["for 'Gt', 'Lt' operators, the value must be an integer"], 'values[0]', value)
    return value
  }

  #values(key: string): readonly string[] {
    if (this.#tokens[this.#at] !== '(') throw new SyntaxError(`found '${this.#tokens[this.#at] ?? ''}' expected: '('`)
    this.#at++
    const out: string[] = []
    for (;;) {
      out.push(this.#value(key))
      const t = this.#tokens[this.#at++]
      if (t === ')') return out
      if (t !== ',') throw new SyntaxError(`found '${t ?? ''}', expected: ',' or ')'`)
    }
  }
}

function checked(problems: readonly string[], field: string, value: string): void {
  if (problems.length > 0)
    throw new SyntaxError(`${field}: Invalid value: ${JSON.stringify(value)}: ${problems.join('; ')}`)
}

/** Of a query; undefined when it selects everything. */
export function parseLabelSelector(text: string): LabelMatcher | undefined {
  if (text.trim() === '') return undefined
  try {
    const requirements = new SelectorParser(text).all()
    return requirements.length === 0 ? undefined : matchesAll(requirements)
  } catch (e) {
    if (e instanceof Unplaced) throw badRequest(e.message)
    if (e instanceof SyntaxError) throw badRequest(`unable to parse requirement: ${e.message}`)
    throw e
  }
}

const OPERATORS: Readonly<Record<string, Requirement['operator'] | undefined>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
}

/** Of a spec: no selector matches nothing, an empty one everything. */
export function selectorMatcher(selector: LabelSelector | undefined): LabelMatcher {
  if (selector === undefined) return () => false
  return matchesAll(requirementsOf(selector))
}

function requirementsOf(selector: LabelSelector): readonly Requirement[] {
  return [
    ...Object.entries(selector.matchLabels ?? {}).map(([key, v]): Requirement => ({ key, operator: '=', values: [v] })),
    ...(selector.matchExpressions ?? []).map((e): Requirement => ({
      key: e.key,
      operator: OPERATORS[e.operator] ?? 'in',
      values: e.values ?? [],
    })),
  ]
}

/** As `kubectl` and the scale subresource write it. */
export function selectorText(selector: LabelSelector | undefined): string {
  if (selector === undefined) return ''
  const text = ({ key, operator, values }: Requirement): string => {
    if (operator === 'exists') return key
    if (operator === '!') return `!${key}`
    if (operator === '=') return `${key}=${values[0] ?? ''}`
    return `${key} ${operator} (${[...values].sort().join(',')})`
  }
  return [...requirementsOf(selector)]
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(text)
    .join(',')
}

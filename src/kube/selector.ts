// Label and field selectors: parsed from text or from the object form, matched against labels, and formatted as text.
import { assertNever, KubeNodeError } from '#lib/errors.ts'
import { isOneOf, labelOf, type Labels, type LabelSelector } from '#api/schema/labels.ts'
import { kubeErrors } from './kube-errors.ts'

type Operator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'

export interface Requirement {
  readonly key: string
  readonly operator: Operator
  readonly values: readonly string[]
}

/** All requirements must hold; an empty list matches everything. */
export type Selector = readonly Requirement[]

const OPERATORS: readonly string[] = ['In', 'NotIn', 'Exists', 'DoesNotExist']
const NAME = /^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/
const PREFIX = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/
const MAX_PREFIX = 253

export function matchesSelector(selector: Selector, labels: Labels): boolean {
  return selector.every((r) => holds(r, labels))
}

function holds({ key, operator, values }: Requirement, labels: Labels): boolean {
  const value = labelOf(labels, key)
  switch (operator) {
    case 'In':
      return isOneOf(value, values)
    case 'NotIn':
      return !isOneOf(value, values)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    default:
      return assertNever(operator)
  }
}

/** `a=b`, `a==b`, `a!=b`, `a in (x,y)`, `a notin (x,y)`, `a`, `!a`, separated by commas. */
export function parseSelector(text: string): Selector {
  return splitOutsideParentheses(text).map((part) => parseRequirement(part, text))
}

const SET = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/
const EQUALITY = /^([^\s=!]+)\s*(==|=|!=)\s*(\S*)$/

function parseRequirement(part: string, whole: string): Requirement {
  const set = SET.exec(part)
  if (set) {
    const [, key = '', word, list = ''] = set
    return checked(
      { key, operator: word === 'in' ? 'In' : 'NotIn', values: list.split(',').map((v) => v.trim()) },
      whole,
    )
  }
  const equality = EQUALITY.exec(part)
  if (equality) {
    const [, key = '', sign, value = ''] = equality
    return checked({ key, operator: sign === '!=' ? 'NotIn' : 'In', values: [value] }, whole)
  }
  if (part.startsWith('!')) return checked({ key: part.slice(1).trim(), operator: 'DoesNotExist', values: [] }, whole)
  return checked({ key: part, operator: 'Exists', values: [] }, whole)
}

function splitOutsideParentheses(text: string): readonly string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let i = 0; i <= text.length; i++) {
    const c = text[i]
    if (c === '(') depth++
    else if (c === ')') depth--
    if (i === text.length || (c === ',' && depth === 0)) {
      parts.push(text.slice(start, i).trim())
      start = i + 1
    }
  }
  if (depth !== 0) throw bad(text, 'unbalanced parentheses')
  if (text.trim() === '') return []
  if (parts.includes('')) throw bad(text, 'it has an empty part')
  return parts
}

/** Requirements of the object form. An empty selector matches everything, as in Kubernetes; callers refuse it where that is dangerous. */
export function selectorOf(selector: LabelSelector): Selector {
  const whole = JSON.stringify(selector)
  const equal = Object.entries(selector.matchLabels ?? {}).map(([key, value]) =>
    checked({ key, operator: 'In', values: [value] }, whole),
  )
  const expressions = (selector.matchExpressions ?? []).map(({ key, operator, values = [] }) => {
    if (!isOperator(operator)) throw bad(whole, `${JSON.stringify(operator)} is none of ${OPERATORS.join(', ')}`)
    return checked({ key, operator, values }, whole)
  })
  return [...equal, ...expressions]
}

const isOperator = (text: string): text is Operator => OPERATORS.includes(text)

export const matchesLabels = (selector: LabelSelector, labels: Labels): boolean =>
  matchesSelector(selectorOf(selector), labels)

export function formatSelector(selector: Selector): string {
  return selector.map(formatRequirement).join(',')
}

function formatRequirement({ key, operator, values }: Requirement): string {
  switch (operator) {
    case 'In':
      return values.length === 1 ? `${key}=${values[0]}` : `${key} in (${values.join(',')})`
    case 'NotIn':
      return values.length === 1 ? `${key}!=${values[0]}` : `${key} notin (${values.join(',')})`
    case 'Exists':
      return key
    case 'DoesNotExist':
      return `!${key}`
    default:
      return assertNever(operator)
  }
}

function checked(r: Requirement, whole: string): Requirement {
  if (!isLabelKey(r.key)) throw bad(whole, `${JSON.stringify(r.key)} is no label key`)
  const needsValues = r.operator === 'In' || r.operator === 'NotIn'
  if (needsValues && r.values.length === 0) throw bad(whole, `${r.operator} of ${r.key} needs values`)
  if (!needsValues && r.values.length > 0) throw bad(whole, `${r.operator} of ${r.key} takes no values`)
  const wrong = r.values.find((v) => !isLabelValue(v))
  if (wrong !== undefined) throw bad(whole, `${JSON.stringify(wrong)} is no label value`)
  return r
}

function isLabelKey(key: string): boolean {
  const slash = key.indexOf('/')
  if (slash < 0) return NAME.test(key)
  const prefix = key.slice(0, slash)
  return prefix.length <= MAX_PREFIX && PREFIX.test(prefix) && NAME.test(key.slice(slash + 1))
}

const isLabelValue = (value: string): boolean => value === '' || NAME.test(value)

const bad = (text: string, why: string) => new KubeNodeError(kubeErrors.KN1348_label({ text, why }))

export interface FieldRequirement {
  /** A dotted path: `metadata.name`, `spec.nodeName`. */
  readonly path: string
  readonly equal: boolean
  readonly value: string
}

/** `metadata.name=x,status.phase!=Running`; a backslash escapes comma, equals sign and itself in values. */
export function parseFieldSelector(text: string): readonly FieldRequirement[] {
  if (text.trim() === '') return []
  return splitAtBareCommas(text).map((part) => {
    const m = /^\s*([A-Za-z0-9_.[\]-]+)\s*(==|=|!=)((?:\\.|[^\\=])*)$/.exec(part)
    if (!m) throw new KubeNodeError(kubeErrors.KN1348_field({ text, part: JSON.stringify(part) }))
    const [, path = '', sign, value = ''] = m
    return { path, equal: sign !== '!=', value: value.replaceAll(/\\(.)/g, '$1') }
  })
}

/** A backslash escapes the next character, including another backslash. */
const splitAtBareCommas = (text: string): readonly string[] => {
  const parts: string[] = []
  let start = 0
  for (let i = 0; i <= text.length; i++) {
    if (text[i] === '\\') i++
    else if (i === text.length || text[i] === ',') {
      parts.push(text.slice(start, i))
      start = i + 1
    }
  }
  return start > text.length ? parts : [...parts, text.slice(start)]
}

export const escapeFieldValue = (value: string): string => value.replaceAll(/[\\,=]/g, String.raw`\$&`)

/** A missing field counts as the empty string, as on a server. */
export function matchesFields(requirements: readonly FieldRequirement[], object: unknown): boolean {
  return requirements.every((r) => (fieldText(object, r.path) === r.value) === r.equal)
}

function fieldText(object: unknown, path: string): string {
  let at: unknown = object
  for (const step of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return ''
    at = (at as Record<string, unknown>)[step]
  }
  return typeof at === 'string' || typeof at === 'number' || typeof at === 'boolean' ? String(at) : ''
}

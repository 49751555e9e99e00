// The words that a rule may use: each fact with its shape. A rule is checked against the vocabulary when it is written, so that a typo is an error
// instead of a rule that never fires.

export type Shape =
  | {
      readonly type: 'string'
      readonly doc?: string
      /** All possible values. */
      readonly values?: readonly string[]
      /** The sibling field with the time since when the string has had its value; allows `for`. */
      readonly since?: string
      /** The value by which a reporter means that it does not know. A rule that does not mention this value cannot be judged by it. */
      readonly unknownAs?: string
    }
  | { readonly type: 'number' | 'boolean' | 'time' | 'version'; readonly doc?: string }
  /** `{ count, total, unknown }`: of `total` peers, `count` meet the test, and `unknown` more may or may not. */
  | { readonly type: 'tally'; readonly doc?: string }
  | { readonly type: 'list'; readonly items: Shape; readonly doc?: string }
  | { readonly type: 'object'; readonly fields: { readonly [field: string]: Shape }; readonly doc?: string }
  /** Free keys (condition types, labels); `keys` restricts them. */
  | { readonly type: 'map'; readonly of: Shape; readonly keys?: readonly string[]; readonly doc?: string }

type ShapeType = Shape['type']

export interface Vocabulary {
  readonly facts: { readonly [fact: string]: Shape }
}

/** The one fact in every vocabulary: the evaluation's time. */
export const NOW = 'now'
const NOW_SHAPE: Shape = { type: 'time', doc: 'When the rules are evaluated.' }

export const factShape = (vocabulary: Vocabulary, fact: string): Shape | undefined =>
  fact === NOW ? NOW_SHAPE : Object.hasOwn(vocabulary.facts, fact) ? vocabulary.facts[fact] : undefined

export const factNames = (vocabulary: Vocabulary): readonly string[] => [...Object.keys(vocabulary.facts), NOW]

export type Walk =
  | { readonly found: true; readonly shape: Shape }
  /** `token` (the n-th) does not exist; `known` are the existing names. */
  | { readonly found: false; readonly n: number; readonly known: readonly string[]; readonly type: ShapeType }

/** Follows the segments of a path through a shape. */
export function walkShape(root: Shape, tokens: readonly string[]): Walk {
  let shape = root
  for (const [n, token] of tokens.entries()) {
    const missing = (known: readonly string[]): Walk => ({ found: false, n, known, type: shape.type })
    if (shape.type === 'object') {
      const next = Object.hasOwn(shape.fields, token) ? shape.fields[token] : undefined
      if (next === undefined) return missing(Object.keys(shape.fields))
      shape = next
    } else if (shape.type === 'map') {
      if (shape.keys !== undefined && !shape.keys.includes(token)) return missing(shape.keys)
      shape = shape.of
    } else return missing([])
  }
  return { found: true, shape }
}

/** The type in words, for messages. */
export function describeShape(shape: Shape): string {
  if (shape.type === 'list') return `a list of ${describeShape(shape.items)}`
  if (shape.type === 'string' && shape.values !== undefined) return `one of ${shape.values.join(', ')}`
  return shape.type === 'object' ? 'an object' : `a ${shape.type}`
}

// Compiles one leaf `{fact, path?, operator, value, for?}` against the vocabulary. Anything that could make it silently false is reported as a problem here.
import { defined } from '#lib/defined.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import type { Json } from '#lib/json.ts'
import { own } from '#lib/fields.ts'
import { MAX_PATH_TOKENS, MAX_VALUE_CHARS } from './limits.ts'
import { findOperator, isMisfit, operatorsFor } from './operators/decorated.ts'
import { isFactReference, show } from './operators/operator.ts'
import type { Misfit, Operator } from './operators/operator.ts'
import { HELD_FOR } from './operators/time-operators.ts'
import { pointerTo, pointerTokens } from './pointer.ts'
import { RULE_CODES } from './problem.ts'
import type { Place } from './reading.ts'
import type { RuleProblem } from './problem.ts'
import type { Leaf, Term } from './rule.ts'
import { describeShape, factNames, factShape, walkShape } from './vocabulary.ts'
import type { Shape, Vocabulary } from './vocabulary.ts'

/** Receives problems; the pointer is the leaf's plus the wrong part in it. */
export type Report = (problem: RuleProblem) => void

type Written = Readonly<Record<string, unknown>>

const LEAF_FIELDS = ['fact', 'path', 'operator', 'value', 'for', 'name']

export function reportUnknownFields(written: Written, known: readonly string[], pointer: string, report: Report): void {
  for (const key of Object.keys(written)) {
    if (known.includes(key)) continue
    const near = didYouMean(key, known)
    report({
      code: RULE_CODES.unknownField,
      pointer: `${pointer}${pointerTo([key])}`,
      message: `unknown field ${show(key)}`,
      ...defined({ didYouMean: near }),
      known,
    })
  }
}

/** The leaf, or with `for` the leaf plus how long it has been true; undefined when problems were reported. */
export function compileLeaf(
  written: Written,
  pointer: string,
  vocabulary: Vocabulary,
  report: Report,
): Term | undefined {
  reportUnknownFields(written, LEAF_FIELDS, pointer, report)
  const seen = resolvePlace(written, pointer, vocabulary, report)
  const operator = resolveOperator(own(written, 'operator'), `${pointer}/operator`, report)
  if (seen === undefined || operator === undefined) return undefined
  const { fact, path, shape } = seen
  if (!operator.fits(shape)) {
    report({
      code: RULE_CODES.operatorDoesNotFit,
      pointer: `${pointer}/operator`,
      message: `${operator.name} looks at ${operator.accepts}, and ${fact}${path} is ${describeShape(shape)}; ${operatorsFor(shape)}`,
    })
    return undefined
  }
  const against = resolveValue(own(written, 'value'), operator, shape, `${pointer}/value`, vocabulary, report)
  if (against === undefined) return undefined
  const place = placeOf({ fact, path, shape }, operator, own(written, 'value'))
  const wanted = own(written, 'value') as Json | undefined
  const leaf: Leaf = { kind: 'leaf', place, operator: operator.name, wanted, against, pointer }
  return Object.hasOwn(written, 'for') ? withDuration(leaf, shape, written['for'], report) : leaf
}

/** If a rule's value or pattern contains the word for "not known", the rule tests for that word. */
function placeOf({ fact, path, shape }: SeenPlace, { readAs }: Operator, value: unknown): Place {
  const word = shape.type === 'string' ? shape.unknownAs : undefined
  const isNamed = word === undefined || (!isFactReference(value) && JSON.stringify(value ?? '').includes(word))
  return { fact, path, readAs, ...(!isNamed && { unknownAs: word }) }
}

interface SeenPlace {
  readonly fact: string
  readonly path: string
  readonly shape: Shape
}

function resolvePlace(
  written: Written,
  pointer: string,
  vocabulary: Vocabulary,
  report: Report,
): SeenPlace | undefined {
  const fact = own(written, 'fact')
  const shape = typeof fact === 'string' ? factShape(vocabulary, fact) : undefined
  if (typeof fact !== 'string' || shape === undefined) {
    const known = factNames(vocabulary)
    const near = typeof fact === 'string' ? didYouMean(fact, known) : undefined
    report({
      code: RULE_CODES.unknownFact,
      pointer: `${pointer}/fact`,
      message: `unknown fact ${show(fact)}`,
      ...defined({ didYouMean: near }),
      known,
    })
    return undefined
  }
  const path = own(written, 'path') ?? ''
  const tokens = resolveTokens(path, `${pointer}/path`, report)
  if (typeof path !== 'string' || tokens === undefined) return undefined
  const walk = walkShape(shape, tokens)
  if (walk.found) return { fact, path, shape: walk.shape }
  const token = tokens[walk.n] ?? ''
  const near = didYouMean(token, walk.known)
  const nearPath = near === undefined ? {} : { didYouMean: pointerTo(tokens.with(walk.n, near)) }
  const under = `${fact}${pointerTo(tokens.slice(0, walk.n))}`
  const rest = walk.known.length > 0 ? '' : `; it is a ${walk.type} and has no fields`
  report({
    code: RULE_CODES.unknownPath,
    pointer: `${pointer}/path`,
    message: `there is no ${show(token)} in ${under}${rest}`,
    ...nearPath,
    ...(walk.known.length > 0 && { known: walk.known }),
  })
  return undefined
}

function resolveTokens(path: unknown, pointer: string, report: Report): readonly string[] | undefined {
  const refuse = (message: string, near?: string) => {
    report({ code: RULE_CODES.notAPointer, pointer, message, ...defined({ didYouMean: near }) })
    return undefined
  }
  if (typeof path !== 'string' || path.length > MAX_VALUE_CHARS)
    return refuse(`a path is a JSON pointer such as /conditions/Ready/status, not ${show(path)}`)
  const tokens = pointerTokens(path)
  if (tokens === undefined)
    return refuse(`${show(path)} is no JSON pointer; JSONPath is not accepted`, pointerFromJsonPath(path))
  if (tokens.length > MAX_PATH_TOKENS) return refuse(`the path has more than ${MAX_PATH_TOKENS} segments`)
  return tokens
}

/** Converts `$.a.b` and `a.b` to a pointer, if they are that simple. */
function pointerFromJsonPath(path: string): string | undefined {
  const plain = path.startsWith('$.') ? path.slice(2) : path
  return /^[\w-]+(\.[\w-]+)*$/.test(plain) ? pointerTo(plain.split('.')) : undefined
}

function resolveOperator(name: unknown, pointer: string, report: Report): Operator | undefined {
  const found: Operator | Misfit =
    typeof name === 'string'
      ? findOperator(name)
      : { kind: 'misfit', code: RULE_CODES.unknownOperator, message: `an operator is a name, not ${show(name)}` }
  if (!isMisfit(found)) return found
  reportMisfit(found, pointer, report)
  return undefined
}

function reportMisfit({ code, message, didYouMean: near, known }: Misfit, pointer: string, report: Report): void {
  const more = defined({ didYouMean: near, known })
  report({ code, pointer, message, ...more })
}

function resolveValue(
  value: unknown,
  operator: Operator,
  shape: Shape,
  pointer: string,
  vocabulary: Vocabulary,
  report: Report,
): Leaf['against'] | undefined {
  if (isFactReference(value)) {
    reportUnknownFields(value, ['fact', 'path'], pointer, report)
    const other = resolvePlace(value, pointer, vocabulary, report)
    if (other === undefined) return undefined
    if (operator.compare !== undefined && other.shape.type === shape.type) {
      const place = placeOf(other, operator, value)
      return { kind: 'fact', place, compare: operator.compare }
    }
    const message =
      operator.compare === undefined
        ? `${operator.name} compares with a value only, not with another fact`
        : `${other.fact}${other.path} is ${describeShape(other.shape)}, not ${describeShape(shape)}`
    report({ code: RULE_CODES.wrongValueType, pointer, message })
    return undefined
  }
  const result = operator.bind(value, shape)
  if (result.kind === 'bound') return { kind: 'value', bound: result }
  reportMisfit(result, pointer, report)
  return undefined
}

/** `for` means: true now, and for at least this long; the vocabulary defines which field has the start time. */
function withDuration(leaf: Leaf, shape: Shape, duration: unknown, report: Report): Term | undefined {
  const pointer = `${leaf.pointer}/for`
  const since = shape.type === 'string' ? shape.since : undefined
  const tokens = pointerTokens(leaf.place.path) ?? []
  if (since === undefined || tokens.length === 0) {
    const message = `${leaf.place.fact}${leaf.place.path} has no time of its last change; use for only with the status of a condition`
    report({ code: RULE_CODES.noDuration, pointer, message })
    return undefined
  }
  const operator = findOperator(HELD_FOR)
  if (isMisfit(operator)) return undefined
  const result = operator.bind(duration, { type: 'time' })
  if (result.kind === 'misfit') {
    reportMisfit(result, pointer, report)
    return undefined
  }
  const path = pointerTo([...tokens.slice(0, -1), since])
  const held: Leaf = {
    kind: 'leaf',
    place: { fact: leaf.place.fact, path, readAs: operator.readAs },
    operator: HELD_FOR,
    wanted: duration as Json,
    against: { kind: 'value', bound: result },
    pointer,
  }
  return { kind: 'all', children: [leaf, held] }
}

// Whether a rule can be true for any facts at all. Returns no only if that is certain: every way for the rule to be true requires two things of one
// place that no value can have. Anything that it cannot enumerate, such as a regex or a version range, counts as possible.
import { show } from './operators/operator.ts'
import { pointerTokens } from './pointer.ts'
import type { Leaf, Term } from './rule.ts'
import { type Vocabulary, factShape, walkShape } from './vocabulary.ts'

/** A leaf that must certainly be true, or false. */
interface Literal {
  readonly leaf: Leaf
  readonly isTrue: boolean
}

type Way = readonly Literal[]

/** Handwritten rules have a handful; with more, the answer is "possible". */
const MAX_WAYS = 2_048

export interface Impossible {
  /** Pointers of the leaves that contradict each other. */
  readonly pointers: readonly string[]
  readonly message: string
}

/** Why the rule can never be true; undefined when it can, or when that cannot be decided. */
export function neverTrue(root: Term, vocabulary: Vocabulary): Impossible | undefined {
  const ways = waysOf(root, true)
  if (ways === undefined) return undefined
  let first: readonly Literal[] | undefined
  for (const way of ways) {
    const contradiction = contradictionIn(way, vocabulary)
    if (contradiction === undefined) return undefined
    first ??= contradiction
  }
  const leaves = (first ?? []).map((l) => l.leaf)
  const place = leaves[0]?.place
  const asked = (first ?? []).map(asText).join(' and ')
  return {
    pointers: leaves.map((l) => l.pointer),
    message: `can never be true: ${place?.fact ?? ''}${place?.path ?? ''} cannot be ${asked}`,
  }
}

const asText = ({ leaf, isTrue }: Literal): string =>
  `${isTrue ? '' : 'not '}${leaf.operator}${leaf.wanted === undefined ? '' : ` ${show(leaf.wanted)}`}`

/** Ways for a term to be true (or false), each a conjunction; undefined when there are too many. */
function waysOf(term: Term, isTrue: boolean): readonly Way[] | undefined {
  if (term.kind === 'leaf') return [[{ leaf: term, isTrue }]]
  if (term.kind === 'not') return waysOf(term.child, !isTrue)
  const needsEvery = (term.kind === 'all') === isTrue
  let all: readonly Way[] = needsEvery ? [[]] : []
  for (const child of term.children) {
    const own = waysOf(child, isTrue)
    if (own === undefined) return undefined
    const count = needsEvery ? all.length * own.length : all.length + own.length
    if (count > MAX_WAYS) return undefined
    all = needsEvery ? all.flatMap((way) => own.map((more) => [...way, ...more])) : [...all, ...own]
  }
  return all
}

function contradictionIn(way: Way, vocabulary: Vocabulary): readonly Literal[] | undefined {
  const byPlace = Map.groupBy(way, ({ leaf: { place } }) => JSON.stringify([place.fact, place.path]))
  for (const literals of byPlace.values())
    if (literals.length > 1 && !canHold(literals, vocabulary)) return distinct(literals)
  return undefined
}

const distinct = (literals: readonly Literal[]): readonly Literal[] => [
  ...new Map(literals.map((l) => [asText(l), l])).values(),
]

/** The value is absent. */
const ABSENT = Symbol('absent')

function canHold(literals: readonly Literal[], vocabulary: Vocabulary): boolean {
  if (areOpposite(literals)) return false
  const candidates = candidatesOf(literals, vocabulary)
  if (candidates === undefined) return presenceFits(literals)
  return candidates.some((value) => literals.every((l) => fits(l, value)))
}

/** A leaf that would have to be true and false at once, whatever it tests. */
function areOpposite(literals: readonly Literal[]): boolean {
  const asked = (isTrue: boolean) =>
    new Set(literals.filter((l) => l.isTrue === isTrue).map(({ leaf }) => JSON.stringify([leaf.operator, leaf.wanted])))
  const no = asked(false)
  return [...asked(true)].some((a) => no.has(a))
}

function fits({ leaf: { place, against }, isTrue }: Literal, value: unknown): boolean {
  if (against.kind === 'fact') return true
  const wanted = isTrue ? 'true' : 'false'
  if (place.readAs === 'presence') return against.bound.test(value !== ABSENT) === wanted
  if (place.readAs !== 'value') return value !== ABSENT
  const read = value === ABSENT || value === place.unknownAs ? undefined : value
  return against.bound.test(read) === wanted
}

/** Values that cover every case in which all of them could be true; undefined when they cannot be listed. */
function candidatesOf(literals: readonly Literal[], vocabulary: Vocabulary): readonly unknown[] | undefined {
  for (const { leaf, isTrue } of literals) {
    if (leaf.against.kind === 'fact' || leaf.place.readAs !== 'value') continue
    const only = isTrue ? leaf.against.bound.onlyFor : leaf.against.bound.falseOnlyFor
    if (only !== undefined) return only
  }
  const [first] = literals
  const shape = first && shapeOf(first.leaf, vocabulary)
  if (shape?.type === 'string' && shape.values !== undefined) return [...shape.values, ABSENT]
  if (shape?.type === 'boolean') return [true, false, ABSENT]
  return shape?.type === 'number' ? numbersAround(literals) : undefined
}

function shapeOf({ place }: Leaf, vocabulary: Vocabulary) {
  const root = factShape(vocabulary, place.fact)
  const tokens = pointerTokens(place.path)
  const walk = root === undefined || tokens === undefined ? undefined : walkShape(root, tokens)
  return walk?.found === true ? walk.shape : undefined
}

/** Comparisons only change their result at the numbers in the rule. */
function numbersAround(literals: readonly Literal[]): readonly unknown[] | undefined {
  const named = literals.flatMap(({ leaf }) => (leaf.place.readAs === 'value' ? [leaf.wanted] : []))
  if (!named.every((n) => typeof n === 'number')) return undefined
  const sorted = [...new Set(named)].toSorted((a, b) => a - b)
  const between = sorted.slice(1).map((n, i) => ((sorted[i] ?? n) + n) / 2)
  return [(sorted[0] ?? 0) - 1, ...sorted, ...between, (sorted.at(-1) ?? 0) + 1, ABSENT]
}

/** The fact must be present, because its value is tested. */
function presenceFits(literals: readonly Literal[]): boolean {
  const presence = literals.filter((l) => l.leaf.place.readAs === 'presence')
  const options = presence.length < literals.length ? [true] : [true, ABSENT]
  return options.some((value) => presence.every((l) => fits(l, value)))
}

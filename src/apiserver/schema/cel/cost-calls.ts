// The maximum cost of single functions, by the sizes of their arguments; one step for functions that are not listed.
import { type Estimate, exactly, type Size, sizeOrUnknown, tenth, times, UNKNOWN } from './cost-units.ts'
import type { Overload } from './functions.ts'

export interface CallEstimate {
  readonly cost: number
  readonly size?: Size
}

type Args = readonly Estimate[]
type Rule = (args: Args, overload: Overload) => CallEstimate

const ONE: CallEstimate = { cost: 1 }
const max = (e: Estimate | undefined): number => sizeOrUnknown(e).max

export function estimateCall(overload: Overload, args: Args): CallEstimate {
  const rule = Object.hasOwn(RULES, overload.name) ? RULES[overload.name] : undefined
  return rule === undefined ? ONE : rule(args, overload)
}

const isText = ({ params: [first] }: Overload): boolean => first?.kind === 'string' || first?.kind === 'bytes'

const walkText =
  (factor: number): Rule =>
  ([text]) => ({ cost: tenth(max(text), factor), size: sizeOrUnknown(text) })

const parseText =
  (factor = 0.1): Rule =>
  ([text]) => ({ cost: tenth(max(text), factor) })

const walkList: Rule = ([list], overload) => {
  if (overload.params[0]?.kind !== 'list' || list === undefined) return { cost: tenth(max(list)) }
  const text = isTextList(list)
  return { cost: times(max(list), 1 + (text ? tenth(list.sized?.elem?.max ?? Number.POSITIVE_INFINITY) : 0)) }
}

/** New lists are walked and made; the estimate is on the safe side of the real one. */
const shape: Rule = ([list]) => ({ cost: 10 + 2 * max(list), size: { min: 0, max: max(list) } })

function isTextList({ type }: Estimate): boolean {
  return type.kind === 'list' && (type.elem.kind === 'string' || type.elem.kind === 'bytes')
}

const match: Rule = ([text, pattern], { member }) =>
  member ? { cost: times(tenth(max(text) + 1), tenth(max(pattern), 0.25)) } : ONE

const findAll: Rule = (args, overload) => ({ ...match(args, overload), size: { min: 0, max: max(args[0]) } })

const smaller: Rule = ([a, b], overload) =>
  overload.params[0]?.kind === 'var' || isText(overload) ? { cost: tenth(Math.min(max(a), max(b))) } : ONE

const equal: Rule = (args, overload) =>
  args[0]?.type.kind === 'opaque' && args[0].type.name.startsWith('net.') ? ONE : smaller(args, overload)

function add(args: Args, overload: Overload): CallEstimate {
  const [a, b] = [sizeOrUnknown(args[0]), sizeOrUnknown(args[1])]
  const size = { min: a.min + b.min, max: a.max + b.max }
  if (isText(overload)) return { cost: tenth(size.max), size }
  return overload.params[0]?.kind === 'list' ? { cost: 1, size } : ONE
}

function replace([text, old, by]: Args): CallEstimate {
  const [t, o, b] = [sizeOrUnknown(text), sizeOrUnknown(old), sizeOrUnknown(by)]
  const grows = o.min === 0 || b.max > o.min
  const count = grows ? (o.min === 0 ? t.max + 1 : Math.ceil(t.max / o.min)) : 0
  const kept = o.min === 0 || !grows ? t.max : 0
  return { cost: tenth(t.max, 0.2), size: { min: 0, max: times(count, b.max) + kept } }
}

const split: Rule = ([text]) => ({ cost: tenth(max(text), 0.2), size: { min: 0, max: max(text) } })

function join([list, separator]: Args): CallEstimate {
  const n = max(list)
  const element = list?.sized?.elem?.max ?? UNKNOWN.max
  const size = times(n, element) + (separator === undefined ? 0 : times(max(separator), Math.max(0, n - 1)))
  return { cost: tenth(size), size: { min: 0, max: size } }
}

const contains: Rule = ([text, part]) => ({ cost: times(tenth(max(text)), tenth(max(part))) })
const inList: Rule = ([, list], { params }) => (params[1]?.kind === 'list' ? { cost: max(list) } : ONE)
const inBlock =
  (base: number): Rule =>
  ([, other], { params }) => ({ cost: base + (params[1]?.kind === 'string' ? tenth(max(other)) : 0) })

const convert =
  (from: string, grow: number): Rule =>
  ([value], { params }) =>
    params[0]?.kind === from ? { cost: tenth(max(value)), size: { min: 0, max: times(max(value), grow) } } : ONE

const RULES: Readonly<Record<string, Rule>> = {
  reverse: shape,
  sort: shape,
  slice: shape,
  distinct: ([list]) => ({ cost: 1 + times(max(list), max(list)), size: sizeOrUnknown(list) }),
  flatten: ([list]) => ({ cost: times(max(list), list?.sized?.elem?.max ?? UNKNOWN.max) }),
  'lists.range': () => ({ cost: UNKNOWN.max }),
  isSorted: walkList,
  sum: walkList,
  min: walkList,
  max: walkList,
  indexOf: walkList,
  lastIndexOf: walkList,
  url: walkText(0.1),
  lowerAscii: walkText(0.1),
  upperAscii: walkText(0.1),
  substring: walkText(0.1),
  trim: walkText(0.1),
  replace,
  split,
  join,
  find: findAll,
  findAll,
  matches: match,
  contains,
  startsWith: ([, part]) => ({ cost: tenth(max(part)) }),
  endsWith: ([, part]) => ({ cost: tenth(max(part)) }),
  format: parseText(),
  cidr: parseText(),
  isIP: parseText(),
  isCIDR: parseText(),
  ip: (args, overload) => (overload.member ? ONE : parseText()(args, overload)),
  'ip.isCanonical': parseText(0.2),
  containsIP: inBlock(tenth(32)),
  containsCIDR: inBlock(tenth(32) + tenth(16) + 1),
  quantity: parseText(),
  isQuantity: parseText(),
  semver: parseText(),
  isSemver: parseText(),
  'format.named': parseText(),
  validate: ([, text]) => ({ cost: tenth(max(text)) }),
  check: () => ({ cost: 350_000 }),
  'sets.contains': ([a, b]) => ({ cost: 1 + times(max(a), max(b)) }),
  'sets.intersects': ([a, b]) => ({ cost: 1 + times(max(a), max(b)) }),
  'sets.equivalent': ([a, b]) => ({ cost: 1 + 2 * times(max(a), max(b)) }),
  '@in': inList,
  '_==_': equal,
  '_!=_': smaller,
  '_<_': smaller,
  '_<=_': smaller,
  '_>_': smaller,
  '_>=_': smaller,
  '_+_': add,
  bytes: convert('string', 4),
  string: convert('bytes', 1),
  dyn: ([value]) => (value?.size === undefined ? ONE : { cost: 1, size: value.size }),
  'optional.none': () => ({ cost: 1, size: exactly(1) }),
}

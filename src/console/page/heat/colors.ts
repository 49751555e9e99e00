// A machine's shade in the heat map: a color by the chosen property, plus a pattern so that color alone is never needed. Pure.
import type { MachinesTopic } from '../../protocol.ts'
import type { MachineColumn } from '../../machine-columns.ts'
import { toneOf } from '../parts/mark.ts'
import type { Tone } from '../parts/mark.ts'

export type Pattern = 'plain' | 'stripe' | 'cross' | 'dot' | 'ring' | 'bar' | 'back'

export interface Shade {
  readonly name: string
  /** A custom property of the style sheet. */
  readonly color: string
  readonly pattern: Pattern
  /** The normal majority is pale, so that the rest stands out. */
  readonly isPale: boolean
}

/** What the cells can be colored by. `version` is one component's. */
export const COLORINGS = {
  phase: 'Phase',
  health: 'Component health',
  version: 'Version',
  repair: 'Repair',
  silent: 'Silence',
  blame: 'Blame',
  reason: 'Reason',
  condition: 'Condition of the node',
} as const

export type Coloring = keyof typeof COLORINGS

export const GROUPINGS = {
  zone: 'Zone',
  rack: 'Rack',
  pool: 'Pool',
  class: 'Class',
  kernel: 'Kernel',
  version: 'Version',
  cluster: 'Cluster',
  none: 'Nothing',
} as const

/** Begins a grouping by a label. */
export const LABEL = 'label:'

export type Grouping = keyof typeof GROUPINGS | `${typeof LABEL}${string}`

/** A longer list cannot be read. */
const MOST_LABELS = 30

/** The value of a key in `a=1,b=2`. */
export const valueIn = (pairs: string, key: string): string =>
  pairs
    .split(',')
    .find((v) => v.startsWith(`${key}=`))
    ?.slice(key.length + 1) ?? ''

const keysOf = (topics: readonly MachinesTopic[], column: 'versions' | 'labels'): readonly string[] =>
  [
    ...new Set(
      topics.flatMap(({ words, columns }) =>
        [...new Set(columns[column])].flatMap((w) => (words[w] ?? '').split(',').map((v) => v.split('=')[0] ?? '')),
      ),
    ),
  ]
    .filter((name) => name !== '')
    .toSorted()

/** Names of the labels on the topic's machines. */
export const labelsOf = (topics: readonly MachinesTopic[]): readonly string[] =>
  keysOf(topics, 'labels').slice(0, MOST_LABELS)

const PATTERN_OF: Readonly<Record<Tone, Pattern>> = {
  good: 'plain',
  busy: 'stripe',
  wait: 'bar',
  bad: 'cross',
  mend: 'dot',
  still: 'ring',
  rest: 'plain',
}

/** For values without a fixed meaning, by how many machines have them. */
const BY_RANK: readonly (readonly [color: string, pattern: Pattern])[] = [
  ['--good', 'plain'],
  ['--busy', 'stripe'],
  ['--wait', 'bar'],
  ['--mend', 'dot'],
  ['--bad', 'cross'],
  ['--still', 'ring'],
  ['--rest', 'back'],
]

/** Each Node condition is a problem: the most frequent one gets the strongest shade. */
const PROBLEMS: typeof BY_RANK = [
  ['--bad', 'cross'],
  ['--wait', 'bar'],
  ['--mend', 'dot'],
  ['--busy', 'stripe'],
  ['--still', 'ring'],
]
const NOT_KNOWN: Omit<Shade, 'name'> = { color: '--rest', pattern: 'back', isPale: false }

/** The meaning of an empty value per coloring. */
const EMPTY: Readonly<Record<Coloring, string>> = {
  phase: 'Unknown',
  health: 'No component',
  version: 'Not installed',
  repair: 'No repair',
  silent: 'Unknown',
  blame: 'Not blamed',
  reason: 'Ready',
  condition: 'No problem',
}

/** A component that a machine reports without a version counts like one that it does not report. */
const NO_VERSION = 'none'

const UNKNOWN = 'Unknown'

const MEANING: ReadonlySet<Coloring> = new Set(['phase', 'health', 'silent'])

/** The raw values answer "is it silent?" and mean nothing on their own. */
const SILENT_NAMES: Readonly<Record<string, string>> = { Yes: 'Silent', No: 'Heartbeats', Unknown: 'Unknown' }

const columnOf = (coloring: Coloring): MachineColumn => (coloring === 'version' ? 'versions' : coloring)

/** Names of the components on the topic's machines. */
export const componentsOf = (topics: readonly MachinesTopic[]): readonly string[] => keysOf(topics, 'versions')

/** The display value of each word of a topic, computed once per word instead of once per machine. */
export function valuesOf({ words }: MachinesTopic, coloring: Coloring, component: string): readonly string[] {
  return words.map((word) => {
    const value = coloring === 'version' ? valueIn(word, component) : word
    if (value === '' || (coloring === 'version' && value === NO_VERSION)) return EMPTY[coloring]
    return coloring === 'silent' ? (SILENT_NAMES[value] ?? value) : value
  })
}

export const columnFor = (topic: MachinesTopic, coloring: Coloring): readonly number[] =>
  topic.columns[columnOf(coloring)]

/** The values' shades, most frequent first, which is also the legend's order. */
export function shadesOf(coloring: Coloring, counts: ReadonlyMap<string, number>): readonly Shade[] {
  const names = [...counts].toSorted(([a, n], [b, m]) => m - n || a.localeCompare(b)).map(([name]) => name)
  if (MEANING.has(coloring)) return names.map((name) => meant(coloring, name))
  const empty = EMPTY[coloring]
  const isProblem = coloring === 'condition'
  const ranked = names.filter((name) => name !== empty && !(isProblem && name === UNKNOWN))
  // No repair or blame is the normal case; a missing version is a gap.
  const isCalm = coloring !== 'version'
  return names.map((name) => {
    if (name === empty)
      return { name, color: isCalm ? '--good' : '--rest', pattern: isCalm ? 'plain' : 'back', isPale: isCalm }
    if (isProblem && name === UNKNOWN) return { name, ...NOT_KNOWN }
    if (isProblem) return problemShade(name, ranked.indexOf(name))
    const rank = ranked.indexOf(name) + (isCalm ? 1 : 0)
    const [color, pattern] = BY_RANK[Math.min(rank, BY_RANK.length - 1)] ?? ['--rest', 'back']
    return { name, color, pattern, isPale: rank === 0 }
  })
}

function problemShade(name: string, rank: number): Shade {
  const [color, pattern] = PROBLEMS[Math.min(rank, PROBLEMS.length - 1)] ?? ['--bad', 'cross']
  return { name, color, pattern, isPale: false }
}

function meant(coloring: Coloring, name: string): Shade {
  const value = coloring === 'silent' ? (Object.entries(SILENT_NAMES).find(([, n]) => n === name)?.[0] ?? name) : name
  const tone = coloring === 'silent' && value === 'Yes' ? 'still' : toneOf(value)
  return { name, color: `--${tone}`, pattern: PATTERN_OF[tone], isPale: tone === 'good' }
}

// Draws the history of an object in text: a bar per state, marks for actions of people and programs, and below them one line per change. Readable without colors.
// Pure.
import { shortWord } from '#api/nouns.ts'
import { shortCommit } from '#api/protocol/commit-title.ts'
import { formatDuration } from '#lib/duration.ts'
import { type Steps, atOnce } from '#lib/steps.ts'
import type { Lane, LaneState, Life } from '#history/ask/lives.ts'
import { GAP_REASONS } from '#history/store/writer.ts'
import { type Moment, momentsOf } from './moments.ts'

export interface TimelineLine {
  readonly text: string
  readonly tone: 'Bad' | 'Good' | 'Dim' | 'Strong' | 'Plain'
}

interface Options {
  readonly columns: number
  /** Lines below the picture; the newest are kept. */
  readonly most: number
}

const SIGNS: Readonly<Record<LaneState['state'], string>> = {
  Good: '─',
  Bad: '█',
  Busy: '▒',
  Unknown: '?',
  Absent: ' ',
}
/** Shown in a column that contains several states. */
const WORST: readonly LaneState['state'][] = ['Bad', 'Busy', 'Unknown', 'Good', 'Absent']
const NOT_RECORDED = '·'
const LEGEND = ['─ good', '▒ working', '█ bad', '? unknown', '· not recorded', '▲ a change by a person or program']
/** Longer lane names are cut. */
const MAX_LABEL = 28
/** Narrower bars are unreadable. */
const MIN_BAR = 20
const MAX_LANES = 12

export function timelineLines(life: Life, { columns, most }: Options): readonly TimelineLine[] {
  const { range, lanes } = life
  const shown = lanes.slice(0, MAX_LANES)
  const label = Math.min(MAX_LABEL, Math.max(8, ...shown.map((l) => l.name.length)))
  const width = Math.max(MIN_BAR, columns - label - 3)
  const step = Math.max(1, (range.to - range.from) / width)
  const bar = (lane: Lane): string => {
    let text = ''
    for (let n = 0; n < width; n++) text += cellOf(lane, life, range.from + n * step, range.from + (n + 1) * step)
    return text
  }
  const dropped = lanes.length - shown.length
  return [
    lineOf(
      `${life.object} in ${life.cluster}, ${momentText(range.from)} to ${momentText(range.to)} (${formatDuration(range.to - range.from)})`,
      'Strong',
    ),
    ...shown.map((lane): TimelineLine => {
      const isBad = lane.states.some((s) => s.state === 'Bad')
      return {
        text: `${lane.name.slice(0, label).padEnd(label)}  ${bar(lane)}`.trimEnd(),
        tone: isBad ? 'Bad' : 'Plain',
      }
    }),
    ...(dropped > 0 ? [lineOf(`${dropped} more conditions are not drawn`, 'Dim')] : []),
    ...(life.deeds.length > 0
      ? [lineOf(`${'changes'.padEnd(label)}  ${marks(life, width, step)}`.trimEnd(), 'Plain')]
      : []),
    lineOf(`${''.padEnd(label)}  ${axis(life, width)}`, 'Dim'),
    ...legend(columns).map((text) => lineOf(text, 'Dim')),
    lineOf('', 'Plain'),
    ...happenings(life, most),
  ]
}

/** In as many lines as it takes. */
function legend(columns: number): readonly string[] {
  const lines: string[] = []
  for (const sign of LEGEND) {
    const last = lines.at(-1)
    if (last === undefined || last.length + sign.length + 2 > columns) lines.push(sign)
    else lines[lines.length - 1] = `${last}  ${sign}`
  }
  return lines
}

const lineOf = (text: string, tone: TimelineLine['tone']): TimelineLine => ({ text, tone })

function cellOf(lane: Lane, { gaps }: Life, from: number, to: number): string {
  const within = lane.states.filter((s, n) => s.from < to && (lane.states[n + 1]?.from ?? Infinity) > from)
  const states = new Set(within.map((s) => s.state))
  // For a state that ended in a gap, the duration is unknown.
  const isGap = gaps.some((g) => g.starts <= from && (g.ends ?? Infinity) >= to)
  if (isGap) return NOT_RECORDED
  const worst = WORST.find((state) => states.has(state))
  return worst === undefined ? ' ' : SIGNS[worst]
}

const marks = ({ deeds, range }: Life, width: number, step: number): string => {
  const cells = new Set(deeds.map((d) => Math.min(width - 1, Math.floor((d.observed - range.from) / step))))
  return Array.from({ length: width }, (_, n) => (cells.has(n) ? '▲' : ' ')).join('')
}

/** The first and the last time, and one in between if it fits. */
function axis({ range }: Life, width: number): string {
  const [first, last] = [momentText(range.from), momentText(range.to)]
  if (first.length + last.length + 2 > width) return first
  const middle = momentText((range.from + range.to) / 2)
  const at = Math.floor((width - middle.length) / 2)
  const fits = at > first.length + 2 && at + middle.length + 2 < width - last.length
  const line = fits ? `${first.padEnd(at)}${middle}` : first
  return `${line.padEnd(width - last.length)}${last}`
}

export const momentText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`
/** If the source's time differs by more, its report was delayed or its clock is wrong. */
const LATE_MS = 5_000

export interface Happening {
  readonly at: number
  readonly text: string
  readonly tone: TimelineLine['tone']
}

/** What changed, what was not recorded, and who did what, in order. */
export function* happeningsOf(life: Life): Steps<readonly Happening[]> {
  const { from } = life.range
  const moments = yield* momentsOf(life.rows, from)
  return [
    ...moments.map((m) => ofMoment(m, life.object)),
    ...oncePerTime(life.gaps).map((g): Happening => ({
      at: Math.max(g.starts, from),
      text: `not recorded${g.ends === undefined ? '' : ` for ${formatDuration(g.ends - g.starts)}`}: ${GAP_REASONS[g.why]}`,
      tone: 'Dim',
    })),
    ...life.deeds.map((d): Happening => ({ at: d.observed, text: deedText(d), tone: 'Strong' })),
  ].toSorted((a, b) => a.at - b.at)
}

/** One interruption is a gap of each kind. */
const oncePerTime = (gaps: Life['gaps']): Life['gaps'] => [
  ...new Map(gaps.map((g) => [`${g.starts} ${g.ends ?? ''} ${g.why}`, g])).values(),
]

function happenings(life: Life, most: number): readonly TimelineLine[] {
  const all = atOnce(happeningsOf(life))
  const kept = all.slice(-most)
  const cut = all.length - kept.length + life.leftOut
  return [
    ...(cut > 0
      ? [lineOf(`${cut} earlier lines are left out; shown from ${momentText(kept[0]?.at ?? life.range.from)}`, 'Dim')]
      : []),
    ...kept.map(({ at, text, tone }) => lineOf(`${momentText(at)}  ${text}`, tone)),
    ...(all.length === 0 ? [lineOf('nothing happened in this time', 'Dim')] : []),
  ]
}

function ofMoment({ observed, reported, object, text, tone }: Moment, of: string): Happening {
  const late = reported !== undefined && observed - reported > LATE_MS ? ` [since ${momentText(reported)}]` : ''
  return { at: observed, text: `${isSame(object, of) ? '' : `${shortWord(object)}: `}${text}${late}`, tone }
}

/** The object of a life is named without its namespace. */
const isSame = (object: string, of: string): boolean => {
  const at = of.indexOf('/')
  return object === of || (object.startsWith(of.slice(0, at + 1)) && object.endsWith(of.slice(at)))
}

export function deedText({ who, via, did, object, what, why, commit, notBefore }: Life['deeds'][number]): string {
  const by = via === undefined || via === who ? who : `${who} (${via})`
  return [
    `${by} ${did} ${shortWord(object)}`,
    ...(what === undefined ? [] : [`: ${what}`]),
    ...(why === undefined ? [] : [`; ${why}`]),
    ...(commit === undefined ? [] : [` [${shortCommit(commit)}]`]),
    ...(notBefore === undefined ? [] : [` [after ${momentText(notBefore)}, while no recorder ran]`]),
  ].join('')
}

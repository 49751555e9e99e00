// A plan as text: cluster by cluster, object by object, field by field. Truncated on a terminal where it would be unreadable.
import { counted } from '#lib/counted.ts'
import { printableLine, shownLine } from '#lib/printable.ts'
import {
  type ClusterDifference,
  type FieldChange,
  noteTexts,
  type MachineChanges,
  type ObjectChange,
} from '#sync/difference.ts'
import type { Loosened } from '../loosened/loosened.ts'
import type { OneWay } from '../one-way.ts'
import type { Prunes } from '../prunes.ts'
import { API_GROUP } from '#api/kind.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { declaredErrors } from '#declared/declared-errors.ts'
import { type Tone, paintOf } from '#lib/terminal/paint.ts'
import type { ClusterPrediction } from '../predict.ts'
import { outlookFindings } from './findings.ts'
import { loosenedLines } from './loosened-lines.ts'
import { hubTurnText } from './hub-turn.ts'
import { groupsOf, lossOf, uncountedTexts } from './losses.ts'
import { minutesText } from './minutes.ts'
import { NO_STAGE, type Outlook, whileHeld } from './outlook.ts'
import { approveCommand, guardText, pruneDoubt, unknownTexts } from './prunes.ts'
import { clusterTimeText, oneWayLines, stepsText, timeText } from './spans.ts'
import { plainOf } from './rich-text.ts'
import { unpredictedRules } from './what-changes.ts'
import { someOf } from '#lib/some-of.ts'

const MARKS = { added: '+', changed: '~', removed: '-' } as const
/** Fields per object in text; the JSON has more. */
const MAX_FIELDS = 12
const MAX_VALUE_CHARS = 60

export interface PlanStyle {
  readonly isColored: boolean
  /** On a terminal; a pipe gets every value in full. */
  readonly isCut: boolean
}

/** `base` is the base's display name. */
export function planText(
  what: string,
  base: string | undefined,
  all: readonly ClusterDifference[],
  style: PlanStyle,
): string {
  const head = `plan of ${what}${base === undefined ? '' : ` against ${base}`}`
  return (
    shownLine(head) +
    groupsOf(all)
      .map((group) => groupText(group, style))
      .join('')
  )
}

/** `Head` is the summary sentence; each affected cluster has a line. */
export interface OutlookLine {
  readonly is: 'Head' | 'Cluster' | 'Warning' | 'Note'
  readonly text: string
}

const OUTLOOK_MARKS: Readonly<Record<OutlookLine['is'], string>> = {
  Head: 'predicted: ',
  Cluster: '  ',
  Warning: '  ! ',
  Note: '    ',
}

/** The commit's predicted effect on machines. */
export const outlookText = (
  outlook: Outlook,
  oneWay: readonly OneWay[] = [],
  changes: readonly ClusterDifference[] = [],
): string =>
  ['', ...outlookLines(outlook, oneWay, changes).map(({ is, text }) => `${OUTLOOK_MARKS[is]}${text}`)]
    .map((l) => shownLine(l))
    .join('')

export function outlookLines(
  outlook: Outlook,
  oneWay: readonly OneWay[],
  changes: readonly ClusterDifference[] = [],
): readonly OutlookLine[] {
  const rules = unpredictedRules(changes)
  return [
    { is: 'Head', text: headText(outlook) },
    ...(outlook.hub === undefined ? [] : [{ is: 'Cluster', text: hubTurnText(outlook.hub) } as const]),
    ...outlook.clusters
      .filter(({ prediction }) => prediction.machines.length > 0)
      .map(({ stage, prediction }) => ({ is: 'Cluster', text: clusterText(stage, prediction) }) as const),
    ...outlookFindings(outlook, oneWay).map(
      ({ level, words }) => ({ is: level === 'Notes' ? 'Note' : 'Warning', text: plainOf(words) }) as const,
    ),
    ...(rules === '' ? [] : [{ is: 'Warning', text: rules } as const]),
  ]
}

function headText(outlook: Outlook): string {
  const { machines, drains, reboots, mostUnavailable, risk } = outlook
  return machines === 0
    ? `no machine is touched${whileHeld(outlook) || ' by a rollout'}`
    : `${counted(machines, 'machine')}, ${counted(drains, 'drain')}, ${counted(reboots, 'reboot')}, ${timeText(outlook)}, at most ${mostUnavailable} unavailable at once${risk === undefined ? '' : `, risk ${risk.toLowerCase()}`}`
}

function clusterText(stage: string, p: ClusterPrediction): string {
  const [brake] = p.stuck.length > 0 ? [] : p.brakes
  const slowed = brake === undefined ? '' : `; slowed most by ${brake.what} (${minutesText(brake.ms)})`
  return `${p.cluster}${stage === NO_STAGE.name ? '' : ` (stage ${stage})`}: ${p.machines.length} of ${counted(p.of, 'machine')} in steps of ${stepsText(p)}, ${clusterTimeText(p)}${slowed}`
}

/** Deletions that need an approval, each with its command; unknown ones share a line per cause. */
export function prunesText({ promised, unknown }: Prunes): string {
  const lines = [
    ...promised.flatMap((p) => [
      `  ! ${p.cluster}: ${guardText(p)}:`,
      `      ${approveCommand(p)}`,
      `      (${pruneDoubt(p)})`,
    ]),
    ...unknownTexts(unknown).map((text) => `  ! ${text}`),
  ]
  return lines.length === 0 ? '' : ['', ...lines].map((l) => shownLine(l)).join('')
}

/** What later commits no longer have to pass. */
export const loosenedText = (all: readonly Loosened[]): string =>
  all.length === 0
    ? ''
    : [
        '',
        'loosens what later commits must pass:',
        ...loosenedLines(all).map(
          ({ clusters, objects, text }) => `  ! ${clusters.join(', ')}: ${objects.join(', ')}: ${text}`,
        ),
      ]
        .map((l) => shownLine(l))
        .join('')

/** What a revert does not undo. */
export const oneWayText = (all: readonly OneWay[]): string =>
  all.length === 0
    ? ''
    : ['', 'git revert does not take this back:', ...oneWayLines(all).map((text) => `  ! ${text}`)]
        .map((l) => shownLine(l))
        .join('')

/** What can go back to an older version without loss. */
export const returnsText = (all: readonly OneWay[]): string =>
  all.length === 0
    ? ''
    : ['', 'goes back without a loss:', ...oneWayLines(all).map((text) => `  ${text}`)]
        .map((l) => shownLine(l))
        .join('')

function groupText(group: readonly ClusterDifference[], style: PlanStyle): string {
  const [difference] = group
  if (difference === undefined) return ''
  const { added, changed, removed, unchanged, changes, problems, machines } = difference
  const counts = `${added} to add, ${changed} to change, ${removed} to remove, ${unchanged} unchanged`
  const each = group.length === 1 ? '' : ` in each of these ${group.length} clusters`
  const paint = paintOf(style.isColored)
  const painted = (line: string): string => paint(toneOfMark(line), printableLine(line))
  const loss = lossTexts(difference).map((line) => paint('bad', printableLine(`  ! ${line}`)))
  return [
    '',
    printableLine(`${group.map((d) => d.cluster).join(', ')}: ${counts}${each}`),
    ...noteTexts(difference).map((line) => paint('warn', printableLine(`  ! ${line}`))),
    ...changesText(changes, style).map(painted),
    ...problemsText(problems).map(painted),
    ...keptText(machines).map(printableLine),
    ...loss,
    '',
  ].join('\n')
}

/** Same colors as diff. */
const toneOfMark = (line: string): Tone | undefined =>
  line.startsWith('  + ')
    ? 'good'
    : line.startsWith('  - ') || line.startsWith('  ! ')
      ? 'bad'
      : line.startsWith('  ~ ')
        ? 'warn'
        : undefined

/** More per cluster is unreadable; the JSON has all. */
const MAX_OBJECTS = 1_000
const MAX_PROBLEMS = 100

const changesText = (all: readonly ObjectChange[], { isCut }: PlanStyle): readonly string[] => [
  ...all.slice(0, MAX_OBJECTS).flatMap((change) => objectText(change, isCut)),
  ...andMore(all, MAX_OBJECTS),
]

const problemsText = (all: readonly string[]): readonly string[] => [
  ...all.slice(0, MAX_PROBLEMS).map((p) => `  ! ${p}`),
  ...andMore(all, MAX_PROBLEMS),
]

const andMore = (all: readonly unknown[], shown: number): readonly string[] =>
  all.length > shown ? [`  … and ${all.length - shown} more`] : []

/** Machines listed in text; the JSON has all. */
const MAX_NAMES = 5

/** The line of a plan that must not be overlooked. */
export function lossTexts(difference: ClusterDifference): readonly string[] {
  const { machines, sets, single } = lossOf(difference)
  const uncounted = uncountedTexts(difference)
  if (machines === 0) return uncounted
  const ofSets = sets.map((s) => `MachineSet ${s.set} (${s.deleted} of ${s.of})`)
  const alone = single.length === 0 ? [] : [someOf(single, MAX_NAMES)]
  return [`deletes ${counted(machines, 'machine')}: ${[...ofSets, ...alone].join('; ')}`, ...uncounted]
}

const keptText = ({ sets, created = 0 }: MachineChanges): readonly string[] => [
  ...(created === 0 ? [] : [`    ${counted(created, 'machine is', 'machines are')} created`]),
  ...sets
    .filter(({ kept }) => kept > 0)
    .map(({ set, kept }) => `    another set takes over ${counted(kept, 'machine')} of MachineSet ${set}`),
]

/** For a removed set. */
const STAYS =
  '      its components stay on the machines as they are, and nothing updates them unless another set has them'

function objectText(
  { change, ref, object, fields, more, isListedOnly }: ObjectChange,
  isCut: boolean,
): readonly string[] {
  const shown = isCut ? fields.slice(0, MAX_FIELDS) : fields
  const hidden = more + fields.length - shown.length
  const rest = hidden === 0 ? [] : [`      and ${hidden} more fields`]
  const mark = isListedOnly === true ? '!' : MARKS[change]
  const unless = mark === '!' ? ` (${change}; ${declaredErrors.KN3094.code}: refused unless the cluster lists it)` : ''
  const stays = change === 'removed' && ref.group === API_GROUP && ref.kind === machineComponentSet.kind ? [STAYS] : []
  return [`  ${mark} ${object}${unless}`, ...stays, ...shown.map((f) => fieldText(f, isCut)), ...rest]
}

export function fieldText({ path, before, after }: FieldChange, isCut: boolean): string {
  const value = isCut ? shortValue : jsonText
  if (before === undefined && after === undefined) return `      ${path}: (not shown)`
  if (before === undefined) return `      ${path}: + ${value(after)}`
  if (after === undefined) return `      ${path}: - ${value(before)}`
  return `      ${path}: ${isCut ? change(before, after) : `${jsonText(before)} → ${jsonText(after)}`}`
}

const jsonText = (v: unknown): string => JSON.stringify(v) ?? ''

function shortValue(v: unknown): string {
  const text = jsonText(v)
  return text.length <= MAX_VALUE_CHARS ? text : `${text.slice(0, MAX_VALUE_CHARS - 1)}…`
}

/** Context before the first difference of long values, to help find it. */
const BEFORE_CHARS = 12

/** Shows only the differing part of long values: a long common start could hide it. */
function change(before: unknown, after: unknown): string {
  const [a, b] = [jsonText(before), jsonText(after)]
  const [least, most] = [Math.min(a.length, b.length), Math.max(a.length, b.length)]
  if (most <= MAX_VALUE_CHARS) return `${a} → ${b}`
  let same = 0
  while (same < least && a[same] === b[same]) same++
  let end = 0
  while (end < least - same && a.at(-1 - end) === b.at(-1 - end)) end++
  const from = same <= BEFORE_CHARS ? 0 : same - BEFORE_CHARS
  const until = from + MAX_VALUE_CHARS
  const cut = (text: string) => `${from > 0 ? '…' : ''}${text.slice(from, until)}${text.length > until ? '…' : ''}`
  const more = Math.max(0, most - end - until)
  return `${cut(a)} → ${cut(b)}${more > 0 ? ` (the change continues for ${more} characters)` : ''}`
}

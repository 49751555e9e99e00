// Shows recorded history: the timeline of an object, who did what, and what is recorded.
import { atOnce } from '#lib/steps.ts'
import { someOf } from '#lib/some-of.ts'
import { formatDuration } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { printableLine, shownLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import { hasColors, paintOf, type Tone } from '#lib/terminal/paint.ts'
import { nearName } from '#explain/objects/find-object.ts'
import { deedText, momentText, timelineLines, type TimelineLine } from '#explain/past/timeline.ts'
import { clusterLifeOf } from '#history/ask/cluster-life.ts'
import { lifeOf } from '#history/ask/lives.ts'
import type { HistoryReader, Range } from '#history/ask/reader.ts'
import { rangeIn } from '#history/ask/when.ts'
import { type DeedLine, chainProblem } from '#history/deeds/chain.ts'
import { historyErrors } from '#history/history-errors.ts'
import { GAP_REASONS } from '#history/store/writer.ts'
import { readersOf, withReaders } from '../../fleet/histories.ts'
import type { HistoryOptions, RangeOptions } from '../../fleet/history-options.ts'
import { kindOf } from '../../fleet/name-word.ts'
import { type Named, named } from '../../fleet/target.ts'
import type { WholeForm } from '../../get/whole.ts'
import { lifeData, printed } from './print-recorded.ts'

export interface HistoryCommandOptions extends HistoryOptions, RangeOptions {
  readonly kubeconfig?: string
  readonly context?: string
  readonly cluster?: string
  readonly redact?: boolean
  readonly output?: WholeForm | 'lines'
}

/** For these the commits are listed, unless a time is given. */
const WITH_COMMITS: ReadonlySet<string> = new Set(['Cluster', 'MachineComponentSet'])
const MAX_LINES = 200
const COLUMNS_IN_A_PIPE = 100
const MOST_KNOWN = 6
const BY_NAME = ['machine', 'node', 'set', 'cluster'] as const

/** Whether the answer comes from the recorded history, not from the Releases of the hub. */
export function isRecorded(
  what: readonly string[],
  { since, until, history, cluster }: HistoryCommandOptions,
): boolean {
  const [first] = what
  if (first === undefined) return false
  if ([since, until, history, cluster].some((o) => o !== undefined)) return true
  const word = what.length === 1 && !first.includes('/') ? undefined : first.split('/')[0]
  const kind = word === undefined ? undefined : kindOf(word)
  return kind !== undefined && !WITH_COMMITS.has(kind)
}

const TONES: Readonly<Record<TimelineLine['tone'], Tone | undefined>> = {
  Bad: 'bad',
  Good: 'good',
  Dim: 'dim',
  Strong: 'strong',
  Plain: undefined,
}

export async function showLife(what: readonly string[], options: HistoryCommandOptions, io: Io): Promise<void> {
  const range = rangeIn(options, Date.now())
  await withReaders(options, io, async (readers) => {
    const { type, noun, name } = recordedObject(what, readers)
    const own = readersOf(readers, options.cluster).filter(
      (r) => (options.context === undefined || r.cluster === options.context) && r.subjects(type.kind, name).length > 0,
    )
    // The week of a cluster is in its own history; its Cluster is in that of the hub.
    const whole = type.kind === 'Cluster' ? readersOf(readers, options.cluster).filter((r) => r.cluster === name) : []
    if (own.length + whole.length === 0) throw notRecorded(readers, type.kind, `${noun}/${name}`, name)
    const lives = [
      ...own.map((reader) => atOnce(lifeOf(reader, type.kind, name, range))),
      ...whole.map((reader) => atOnce(clusterLifeOf(reader, range))),
    ]
    warnOfSilence([...own, ...whole], range, io)
    if (options.output !== undefined) {
      await printed(io, options.output, lives.map(lifeData))
      return
    }
    const paint = paintOf(hasColors(io))
    const columns = io.width?.() ?? COLUMNS_IN_A_PIPE
    for (const life of lives)
      for (const { text, tone } of timelineLines(life, { columns, most: MAX_LINES }))
        io.out(`${paint(TONES[tone], printableLine(text))}\n`)
  })
}

/** A bare name is the first object that was recorded under it. */
function recordedObject(what: readonly string[], readers: readonly HistoryReader[]): Named {
  const [name = ''] = what
  if (what.length > 1 || name.includes('/') || kindOf(name) !== undefined) return named(what)
  const meant = BY_NAME.map((noun) => named([`${noun}/${name}`]))
  return (
    meant.find(({ type }) => readers.some((r) => r.subjects(type.kind, name).length > 0)) ?? named([`machine/${name}`])
  )
}

/** Nothing newer is known, and that must not look like nothing happened. */
function warnOfSilence(readers: readonly HistoryReader[], { to }: Range, io: Io): void {
  const now = Date.now()
  for (const reader of new Set(readers)) {
    const since = reader.silentSince(now)
    if (since !== undefined && since < to)
      io.err(
        shownLine(
          `warning: cluster ${reader.cluster} is not recorded since ${momentText(since)} (${formatDuration(now - since)}): ${GAP_REASONS.NotWritten}`,
        ),
      )
  }
}

function notRecorded(readers: readonly HistoryReader[], kind: string, what: string, name: string): KubeNodeError {
  const known = [...new Set(readers.flatMap((r) => r.subjects(kind).map((s) => s.name)))]
  const near = nearName(name, known)
  const first = near === undefined ? known : [near, ...known.filter((k) => k !== near)]
  const some = someOf(first, MOST_KNOWN) || 'nothing of that kind'
  return new KubeNodeError(historyErrors.KN17005({ what, known: printableLine(some) }))
}

export async function showWho(of: string | undefined, options: HistoryCommandOptions, io: Io): Promise<void> {
  const range = rangeIn(options, Date.now())
  await withReaders(options, io, async (readers) => {
    const chosen = readersOf(readers, options.cluster)
    const deeds = chosen.flatMap((r) => [...r.deeds(range)]).toSorted((a, b) => a.observed - b.observed)
    const wanted = deeds.filter((d) => of === undefined || isOf(d, of))
    warnOfSilence(chosen, range, io)
    // As stored, each with its digest.
    if (options.output !== undefined) await printed(io, options.output, wanted)
    else
      for (const deed of wanted) io.out(shownLine(`${momentText(deed.observed)}  ${deed.cluster}  ${deedText(deed)}`))
    if (wanted.length === 0 && options.output === undefined)
      io.err(shownLine(`no change${of === undefined ? '' : ` by or of ${of}`} was recorded in this time`))
    for (const reader of chosen) reportChain(reader)
  })
}

const isOf = ({ who, via, object, what }: DeedLine, of: string): boolean =>
  who === of || via === of || object === of || object.endsWith(`/${of}`) || what?.includes(of) === true

/** A modified log must not look like an intact one. */
function reportChain(reader: HistoryReader): void {
  // A redacted export has no chain.
  const lines = [...reader.deeds()].filter((d) => d.digest !== '')
  const problem = chainProblem(lines)
  if (problem === undefined) return
  const what = problem.problem === 'Changed' ? 'is not as it was written' : 'does not follow the one before'
  throw new KubeNodeError(historyErrors.KN17009({ cluster: reader.cluster, n: problem.n, what }))
}

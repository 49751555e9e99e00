// Exports a history as lines: the facts at the start, then every row until the end, with gaps and deeds. In constant memory.
import { defined } from '#lib/defined.ts'
import type { HistoryReader, Range, Transition } from '../ask/reader.ts'
import { EXPORT_FORMAT, type GapLine, type HistoryLine, type RowLine } from './line.ts'

export interface ExportOptions extends Range {
  /** Objects to include; all if undefined. */
  readonly isWanted?: (subject: Transition['subject']) => boolean
  readonly isSample?: boolean
}

export function* exported(
  reader: HistoryReader,
  { from, to, isWanted = () => true, isSample = false }: ExportOptions,
): Generator<HistoryLine> {
  yield { line: 'head', format: EXPORT_FORMAT, cluster: reader.cluster, from, to, isRedacted: false, isSample }
  const known = new Set<number>()
  for (const row of reader.stateBefore(from)) yield* rowLines(row, known, isWanted)
  const gaps = [...reader.gaps({ from, to })]
  const deeds = reader.deeds({ from, to })
  let deed = deeds.next()
  // Merged by the time of observation, so that lines have the order in which the recorder observed the facts.
  const before = function* (observed: number): Generator<HistoryLine> {
    for (let gap = gaps[0]; gap !== undefined && gap.starts <= observed; gap = gaps[0]) {
      gaps.shift()
      if (gap.subject !== undefined && !known.has(gap.subject.id)) continue
      yield gapLine(gap)
    }
    for (; deed.done !== true && deed.value.observed <= observed; deed = deeds.next())
      yield { line: 'deed', deed: deed.value }
  }
  for (const row of reader.rows({ from, to })) {
    yield* before(row.observed)
    yield* rowLines(row, known, isWanted)
  }
  yield* before(Infinity)
}

function* rowLines(
  row: Transition,
  known: Set<number>,
  isWanted: (subject: Transition['subject']) => boolean,
): Generator<HistoryLine> {
  const { subject, observed, reported, topic, value } = row
  if (!isWanted(subject)) return
  if (!known.has(subject.id)) {
    known.add(subject.id)
    yield { line: 'subject', ...subject }
  }
  const line: RowLine = {
    line: 'row',
    observed,
    ...defined({ reported }),
    subject: subject.id,
    topic,
    ...defined({ value }),
  }
  yield line
}

const gapLine = ({ starts, ends, why, kind, subject }: ReturnType<HistoryReader['gaps']>[number]): GapLine => ({
  line: 'gap',
  starts,
  ...defined({ ends }),
  why,
  ...defined({ kind }),
  ...(subject !== undefined && { subject: subject.id }),
})

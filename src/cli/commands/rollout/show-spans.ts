// Shows which clusters are recorded since when, and the gaps.
import { formatDuration } from '#lib/duration.ts'
import { printableLine, shownLine } from '#lib/printable.ts'
import { EXIT_DIFFERENT, Exit } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'
import { alignedRows } from '#lib/terminal/rows.ts'
import { momentText } from '#explain/past/timeline.ts'
import type { HistoryReader, Range } from '#history/ask/reader.ts'
import { GAP_REASONS } from '#history/store/writer.ts'
import { readersOf, withReaders } from '../../fleet/histories.ts'
import { printed } from './print-recorded.ts'
import type { HistoryCommandOptions } from './show-recorded.ts'

export async function showRecorded(options: HistoryCommandOptions, io: Io): Promise<void> {
  const now = Date.now()
  const all = await withReaders(options, io, (readers) =>
    readersOf(readers, options.cluster).map((r) => recordedIn(r, now)),
  )
  if (options.output !== undefined) {
    await printed(io, options.output, all)
    return
  }
  const head = ['CLUSTER', 'SINCE', 'UNTIL', 'ROWS', 'NODES', 'GAPS', 'NOT-RECORDED']
  const rows = all.map((r) => [
    r.cluster,
    r.since ?? '-',
    r.until ?? '-',
    String(r.rows),
    String(r.nodes),
    // One interruption is a gap of each kind.
    String(new Set(r.gaps.map((g) => `${g.from} ${g.to ?? ''} ${g.why}`)).size),
    r.notRecordedMs === 0 ? '-' : formatDuration(r.notRecordedMs),
  ])
  io.out(
    `${alignedRows(
      [head, ...rows].map((r) => r.map(printableLine)),
      io.width?.(),
    )}\n`,
  )
  const [gap] = all
    .flatMap((r) => r.gaps.map((g) => ({ ...g, cluster: r.cluster })))
    .toSorted((a, b) => b.from.localeCompare(a.from))
  if (gap !== undefined) io.out(shownLine(`last gap: ${gap.cluster}, ${gap.from} to ${gap.to ?? 'now'}: ${gap.why}`))
  if (all.every((r) => r.rows === 0)) throw new Exit(EXIT_DIFFERENT)
}

function recordedIn(reader: HistoryReader, now: number) {
  const span = reader.span()
  const gaps = reader.gapsUntil(now).filter((g) => g.subject === undefined)
  return {
    cluster: reader.cluster,
    since: span && momentText(span.begins),
    until: span && momentText(span.ends),
    rows: reader.rowCount(),
    nodes: reader.subjects('Node').length,
    /** Periods in which at least one kind was not recorded; overlapping ones count once. */
    notRecordedMs: union(gaps.map((g) => ({ from: Math.max(g.starts, span?.begins ?? 0), to: g.ends ?? now }))),
    gaps: gaps.map((g) => ({
      from: momentText(g.starts),
      to: g.ends === undefined ? undefined : momentText(g.ends),
      kind: g.kind,
      why: GAP_REASONS[g.why],
    })),
  }
}

function union(ranges: readonly Range[]): number {
  let [sum, end] = [0, 0]
  for (const { from, to } of ranges.toSorted((a, b) => a.from - b.from)) {
    sum += Math.max(0, to - Math.max(from, end))
    end = Math.max(end, to)
  }
  return sum
}

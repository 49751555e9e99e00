// Reads and prints a report. A history is used where there is one; without it the report says what it does not know.
import { assertNever, isKubeNodeError } from '#lib/errors.ts'
import type { Io } from '#lib/terminal/io.ts'
import { csvText, jsonText, markdownText, tableText } from '#explain/report/form-text.ts'
import { htmlText } from '#explain/report/form-html.ts'
import { pastFacts } from '#explain/report/history-facts.ts'
import { readFacts } from '#explain/report/read-facts.ts'
import type { Report } from '#explain/report/report.ts'
import { type ReportKind, reportOf } from '#explain/report/reports.ts'
import { recordedName } from '#forecast/plan/recorded-name.ts'
import { momentIn } from '#history/ask/when.ts'
import type { HistoryReader } from '#history/ask/reader.ts'
import { type ServerOptions, connect } from '../../fleet/connect.ts'
import { contextsBeside } from '../../fleet/contexts-beside.ts'
import { withReaders } from '../../fleet/histories.ts'
import type { HistoryOptions } from '../../fleet/history-options.ts'

export interface ReportOptions extends ServerOptions, HistoryOptions {
  readonly since: string
  readonly cluster?: string
  readonly output: 'table' | 'json' | 'csv' | 'markdown' | 'html'
}

interface ReportWish {
  readonly kind: ReportKind
  readonly only: string | undefined
}

export async function showReport({ kind, only }: ReportWish, options: ReportOptions, io: Io): Promise<void> {
  const to = Date.now()
  const from = momentIn(options.since, to)
  const client = await connect(options, io)
  const cluster = options.cluster ?? (await recordedName(client))
  const report = await withHistoryOf(cluster, options, io, async (reader) =>
    reportOf(
      kind,
      await readFacts({
        client,
        cluster,
        from,
        to,
        past: reader && pastFacts(reader, { from, to }),
        beside: () => contextsBeside(options, io),
      }),
      only,
    ),
  )
  io.out(formOf(report, options.output, io))
}

function formOf(report: Report, form: ReportOptions['output'], io: Io): string {
  switch (form) {
    case 'table':
      return tableText(report, io.width?.())
    case 'json':
      return jsonText(report)
    case 'csv':
      return csvText(report)
    case 'markdown':
      return markdownText(report)
    case 'html':
      return htmlText(report)
    default:
      return assertNever(form)
  }
}

/** A history that was named must be there; that of a local fleet may be. */
async function withHistoryOf<T>(
  cluster: string,
  options: ReportOptions,
  io: Io,
  use: (reader: HistoryReader | undefined) => Promise<T>,
): Promise<T> {
  let isFound = false
  try {
    return await withReaders(options, io, (readers) => {
      isFound = true
      return use(readers.find((r) => r.cluster === cluster))
    })
  } catch (e) {
    const isAbsent = !isFound && options.history === undefined && isKubeNodeError(e)
    if (!isAbsent) throw e
    return use(undefined)
  }
}

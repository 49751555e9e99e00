// Reads and prints a report. A history is used where there is one; without it the report says what it does not know.
import { atOnce } from '#lib/steps.ts'
import { assertNever, isKubeNodeError, KubeNodeError } from '#lib/errors.ts'
import { defined } from '#lib/defined.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { shownLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import { csvText, jsonText, markdownText, tableText } from '#explain/report/form-text.ts'
import { htmlText } from '#explain/report/form-html.ts'
import { fleetReport } from '#explain/report/fleet-report.ts'
import { pastFacts } from '#explain/report/history-facts.ts'
import { componentsIn, poolsIn, type ReportFacts } from '#explain/report/facts.ts'
import { readFacts } from '#explain/report/read-facts.ts'
import { inspectErrors } from '#explain/objects/objects-errors.ts'
import { placeOf } from '#explain/objects/place.ts'
import type { Report } from '#explain/report/report.ts'
import { type ReportKind, reportOf } from '#explain/report/reports.ts'
import { recordedName } from '#forecast/plan/recorded-name.ts'
import { rangeIn } from '#history/ask/when.ts'
import type { HistoryReader } from '#history/ask/reader.ts'
import { type ServerOptions, connect } from '../../fleet/connect.ts'
import { contextsBeside } from '../../fleet/contexts-beside.ts'
import { withReaders } from '../../fleet/histories.ts'
import type { HistoryOptions } from '../../fleet/history-options.ts'
import { cliErrors } from '../../cli-errors.ts'
import { fleetFacts } from './fleet-facts.ts'

interface SharedOptions extends HistoryOptions {
  readonly kubeconfig?: string
  readonly since: string
  readonly cluster?: string
  readonly output: 'table' | 'json' | 'csv' | 'markdown' | 'html'
}

export type ReportOptions = SharedOptions & ServerOptions

export interface FleetReportOptions extends SharedOptions {
  readonly context: readonly string[]
}

interface ReportWish {
  readonly kind: ReportKind
  readonly only: string | undefined
}

export async function showReport({ kind, only }: ReportWish, options: ReportOptions, io: Io): Promise<void> {
  const to = Date.now()
  const range = { from: rangeIn(options, to).from, to }
  const client = await connect(options, io)
  const cluster = options.cluster ?? (await recordedName(client))
  const report = await withHistories(options, io, async (readerOf) => {
    const reader = readerOf(cluster)
    const past = reader && atOnce(pastFacts(reader, range))
    const beside = () => contextsBeside(options, io)
    const facts = await readFacts({ client, cluster, ...range, past, beside })
    requireKnown(kind, only, facts, placeOf(client))
    return reportOf(kind, facts, only)
  })
  io.out(formOf(report, options.output, io))
}

/** An empty report on a misspelled name would look like good news. */
function requireKnown(kind: ReportKind, only: string | undefined, facts: ReportFacts, place: string): void {
  const known = kind === 'pool' ? poolsIn(facts) : kind === 'component' ? componentsIn(facts) : undefined
  if (only === undefined || known === undefined || known.has(only)) return
  const near = didYouMean(only, known)
  const hint = near === undefined ? '' : `; did you mean ${near}?`
  throw new KubeNodeError(
    inspectErrors.KN1313({ what: `${kind} ${only}`, place, hint, plural: kind === 'pool' ? 'machines' : 'sets' }),
  )
}

/** Of all clusters of the kubeconfig, or of those that are named. A single one is reported as itself. */
export async function showFleetReport({ context, ...options }: FleetReportOptions, io: Io): Promise<void> {
  const [first] = context
  const { cluster } = options
  if (cluster !== undefined && context.length > 1)
    throw new KubeNodeError(cliErrors.KN1002_oneCluster({ contexts: context.length, cluster }))
  const chosen = { ...options, ...defined({ context: first }) }
  if (cluster !== undefined) return showReport({ kind: 'fleet', only: undefined }, chosen, io)
  const to = Date.now()
  const range = { from: rangeIn(options, to).from, to }
  const { clusters, notes } = await withHistories(options, io, (readerOf) =>
    fleetFacts({ kubeconfig: options.kubeconfig, contexts: context, range, readerOf }, io),
  )
  for (const note of notes) io.err(shownLine(note))
  // The report on the chosen context says best why there is none.
  if (clusters.length === 0) return showReport({ kind: 'fleet', only: undefined }, chosen, io)
  const [only] = clusters
  const report =
    only !== undefined && clusters.length === 1 && !('problem' in only)
      ? reportOf('fleet', only)
      : fleetReport(clusters, range)
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
async function withHistories<T>(
  options: HistoryOptions,
  io: Io,
  use: (readerOf: (cluster: string) => HistoryReader | undefined) => Promise<T>,
): Promise<T> {
  let isFound = false
  try {
    return await withReaders(options, io, (readers) => {
      isFound = true
      return use((cluster) => readers.find((r) => r.cluster === cluster))
    })
  } catch (e) {
    const isAbsent = !isFound && options.history === undefined && isKubeNodeError(e)
    if (!isAbsent) throw e
    return use(() => undefined)
  }
}

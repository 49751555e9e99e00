// Exports, samples and imports of a recorded history.
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { shownLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { HistoryReader, Range } from '#history/ask/reader.ts'
import { rangeIn } from '#history/ask/when.ts'
import { exported } from '#history/lines/export.ts'
import { readLines, writeLines } from '#history/lines/file.ts'
import { imported } from '#history/lines/import.ts'
import type { HistoryLine } from '#history/lines/line.ts'
import { redactedLines } from '#history/lines/redacted.ts'
import { MAX_SAMPLE_BYTES, inSample, incidentNodes } from '#history/lines/sample.ts'
import { readersOf, withReaders } from '../../fleet/histories.ts'
import type { HistoryCommandOptions } from './show-recorded.ts'

const KEY_BYTES = 32
const MB = 1_000_000
/** Messages of exported objects name them, even if they are not in a sample or in its time. */
const NAMED_IN_MESSAGES = ['Node', 'Machine', 'Cluster']

export const exportRecorded = (file: string, options: HistoryCommandOptions, io: Io): Promise<void> =>
  saved({ ...options, file }, io, (reader, range) => exported(reader, range))

export const sampleRecorded = (file: string, options: HistoryCommandOptions, io: Io): Promise<void> =>
  saved(
    { ...options, file },
    io,
    (reader, range) => exported(reader, { ...range, isSample: true, isWanted: inSample(incidentNodes(reader, range)) }),
    MAX_SAMPLE_BYTES,
  )

const sizeText = (bytes: number): string =>
  bytes < MB ? `${Math.ceil(bytes / 1_000)} kB` : `${(bytes / MB).toFixed(1)} MB`

async function saved(
  options: HistoryCommandOptions & { readonly file: string },
  io: Io,
  linesOf: (reader: HistoryReader, range: Range) => Iterable<HistoryLine>,
  maxBytes?: number,
): Promise<void> {
  const asked = rangeIn(options, Date.now())
  const file = resolve(io.cwd, options.file)
  const isWhole = await withReaders(options, io, (readers) => {
    const chosen = readersOf(readers, options.cluster)
    const key = randomBytes(KEY_BYTES)
    const lines = function* (): Generator<HistoryLine> {
      for (const reader of chosen) {
        const span = reader.span()
        if (span === undefined) continue
        const range = { from: Math.max(asked.from, span.begins), to: Math.min(asked.to, span.ends) }
        yield* linesOf(reader, range)
      }
    }
    const known = chosen.flatMap((reader) => NAMED_IN_MESSAGES.flatMap((kind) => reader.subjects(kind)))
    return writeLines(options.redact === true ? redactedLines(lines, { key, known }) : lines(), file, maxBytes)
  })
  io.err(shownLine(`wrote ${options.file} (${sizeText(statSync(file).size)})`))
  if (!isWhole) io.err(shownLine('it is cut off at its largest size; use --since for a shorter time'))
}

export async function importRecorded(file: string, to: string, io: Io): Promise<void> {
  const folder = resolve(io.cwd, to)
  const done = await imported(readLines(resolve(io.cwd, file)), { folder, file, now: Date.now() })
  for (const { cluster, rows } of done) io.out(shownLine(`${cluster}: ${rows} rows`))
  io.err(shownLine(`ask with --history ${to}`))
}

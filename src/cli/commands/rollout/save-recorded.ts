// Exports, samples and imports of a recorded history.
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { HistoryReader, Range } from '#history/ask/reader.ts'
import { rangeIn } from '#history/ask/when.ts'
import { exported } from '#history/lines/export.ts'
import { readLines, textsOf, writeLines } from '#history/lines/file.ts'
import { imported } from '#history/lines/import.ts'
import { historyErrors } from '#history/history-errors.ts'
import type { HistoryLine } from '#history/lines/line.ts'
import { redactedLines } from '#history/lines/redacted.ts'
import { MAX_SAMPLE_BYTES, inSample, incidentNodes } from '#history/lines/sample.ts'
import { readersOf, withReaders } from '../../fleet/histories.ts'
import type { HistoryCommandOptions } from './show-recorded.ts'

const KEY_BYTES = 32
/** Standard output or input, in the place of a file. */
const PIPE = '-'
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
  const file = options.file === PIPE ? undefined : resolve(io.cwd, options.file)
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
    const all = options.redact === true ? redactedLines(lines, { key, known }) : lines()
    if (file !== undefined) return writeLines(all, file, maxBytes)
    return piped(all, io, maxBytes)
  })
  if (file !== undefined) io.err(shownLine(`wrote ${options.file} (${sizeText(statSync(file).size)})`))
  if (!isWhole) io.err(shownLine('it is cut off at its largest size; use --since for a shorter time'))
}

/** Returns whether all of it fit. */
function piped(lines: Iterable<HistoryLine>, io: Io, maxBytes = Infinity): boolean {
  let written = 0
  for (const text of textsOf(lines)) {
    if (io.signal?.aborted === true) return true
    written += Buffer.byteLength(text)
    if (written > maxBytes) return false
    io.out(text)
  }
  return true
}

export async function importRecorded(file: string, to: string, io: Io): Promise<void> {
  const folder = resolve(io.cwd, to)
  const input = file === PIPE ? io.input?.() : resolve(io.cwd, file)
  if (input === undefined) throw new KubeNodeError(historyErrors.KN17010_pipe())
  const name = file === PIPE ? 'standard input' : file
  const done = await imported(readLines(input, name), { folder, file: name, now: Date.now() })
  for (const { cluster, rows } of done) io.out(shownLine(`${cluster}: ${rows} rows`))
  io.err(shownLine(`ask with --history ${to}`))
}

// Writes and reads exported histories: gzip if the file name ends in .gz, or, when reading, if the first bytes show it.
import { createReadStream, createWriteStream } from 'node:fs'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { KubeNodeError } from '#lib/errors.ts'
import { historyErrors } from '../history-errors.ts'
import type { HistoryLine } from './line.ts'

const OWN = 0o600
const PACKED = /\.gz$/
/** Lines written at once. */
const MAX_CHARS = 65_536

/** Writes whole lines up to `maxBytes` in the file. Returns whether all of them fit. */
export async function writeLines(lines: Iterable<HistoryLine>, file: string, maxBytes = Infinity): Promise<boolean> {
  let isWhole = true
  let written = 0
  const isFull = (): boolean => written > maxBytes
  const counted = new Transform({
    transform(chunk: Buffer, _, done) {
      written += chunk.length
      done(undefined, chunk)
    },
  })
  const source = Readable.from(
    (function* () {
      let text = ''
      for (const line of lines) {
        if (isFull()) {
          isWhole = false
          break
        }
        text += `${JSON.stringify(line)}\n`
        if (text.length < MAX_CHARS) continue
        yield text
        text = ''
      }
      yield text
    })(),
  )
  const target = createWriteStream(file, { mode: OWN })
  if (PACKED.test(file)) await pipeline(source, createGzip(), counted, target)
  else await pipeline(source, counted, target)
  return isWhole
}

/** An object with its whole spec is some hundred kilobytes. A longer line is no export, and would have to fit into memory. */
const MAX_LINE_CHARS = 16 * 1024 * 1024

/** Throws for a line that is too long, a damaged archive, or a file that cannot be read. */
export async function* readLines(file: string): AsyncGenerator<string> {
  const bytes = createReadStream(file)
  const input: Readable = PACKED.test(file) ? bytes.pipe(createGunzip()) : bytes
  if (input !== bytes) bytes.on('error', (e) => input.destroy(e))
  let rest = ''
  let count = 0
  for await (const chunk of input.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    count += lines.length
    for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line
    if (rest.length > MAX_LINE_CHARS)
      throw new KubeNodeError(historyErrors.KN17007({ file, line: count + 1, why: 'it is longer than 16 MiB' }))
  }
  if (rest !== '') yield rest
}

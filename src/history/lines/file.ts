// Writes and reads exported histories: gzip if the file name ends in .gz, or, when reading, if the first bytes are those of gzip.
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { KubeNodeError } from '#lib/errors.ts'
import { fieldsOf } from '#lib/fields.ts'
import { historyErrors } from '../history-errors.ts'
import { type HistoryLine, lineText } from './line.ts'

const OWN = 0o600
const PACKED = /\.gz$/
/** Lines written at once. */
const MAX_CHARS = 65_536

/** The text of lines, in pieces of some size. */
export function* textsOf(lines: Iterable<HistoryLine>): Generator<string> {
  let text = ''
  for (const line of lines) {
    text += `${lineText(line)}\n`
    if (text.length < MAX_CHARS) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}

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
  const fitting = function* (): Generator<HistoryLine> {
    for (const line of lines) {
      isWhole = !isFull()
      if (!isWhole) return
      yield line
    }
  }
  const source = Readable.from(textsOf(fitting()))
  const target = createWriteStream(file, { mode: OWN })
  if (PACKED.test(file)) await pipeline(source, createGzip(), counted, target)
  else await pipeline(source, counted, target)
  return isWhole
}

/** An object with its whole spec is some hundred kilobytes. A longer line is no export, and would have to fit into memory. */
const MAX_LINE_CHARS = 16 * 1024 * 1024

/** Of a file, or of a pipe. Throws for a line that is too long, a damaged archive, or a file that cannot be read. `name` is for messages. */
export async function* readLines(from: string | Readable, name = String(from)): AsyncGenerator<string> {
  const bytes = typeof from === 'string' ? createReadStream(from) : from
  let [begun, length, count]: [string[], number, number] = [[], 0, 0]
  const wrong = (why: string) => new KubeNodeError(historyErrors.KN17007({ file: name, line: count + 1, why }))
  const chunks = (await unpacked(bytes, name)).setEncoding('utf8') as AsyncIterable<string>
  for await (const chunk of whole(chunks, () => wrong('the file is not gzip, or is cut off'))) {
    const [first = '', ...others] = chunk.split('\n')
    // A long line comes in thousands of chunks: joined once.
    begun.push(first)
    length += first.length
    if (length > MAX_LINE_CHARS) throw wrong('it is longer than 16 MiB')
    const rest = others.pop()
    if (rest === undefined) continue
    count += 1 + others.length
    yield withoutReturn(begun.join(''))
    for (const line of others) yield withoutReturn(line)
    begun = [rest]
    length = rest.length
  }
  if (length > 0) yield begun.join('')
}

async function* whole(chunks: AsyncIterable<string>, damaged: () => KubeNodeError): AsyncGenerator<string> {
  try {
    yield* chunks
  } catch (e) {
    throw String(fieldsOf(e)['code']).startsWith('Z_') ? damaged() : e
  }
}

const withoutReturn = (line: string): string => (line.endsWith('\r') ? line.slice(0, -1) : line)

const GZIP = [0x1f, 0x8b]

async function unpacked(bytes: Readable, name: string): Promise<Readable> {
  const isGzip = PACKED.test(name) || (await hasStart(bytes, GZIP))
  if (!isGzip) return bytes
  const input = bytes.pipe(createGunzip())
  bytes.on('error', (e) => input.destroy(e))
  return input
}

/** Nothing is consumed. */
async function hasStart(bytes: Readable, start: readonly number[]): Promise<boolean> {
  for (;;) {
    await Promise.race([once(bytes, 'readable'), once(bytes, 'end')])
    const first = bytes.read(start.length) as Buffer | null
    if (first !== null) {
      bytes.unshift(first)
      return start.every((byte, n) => first[n] === byte)
    }
    if (bytes.readableEnded || bytes.destroyed) return false
  }
}

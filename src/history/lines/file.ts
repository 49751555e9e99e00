// Writes and reads exported histories: gzip if the file name ends in .gz, or, when reading, if the first bytes show it.
import { createReadStream, createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
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

export function readLines(file: string): AsyncIterable<string> {
  const bytes = createReadStream(file)
  const input = PACKED.test(file) ? bytes.pipe(createGunzip()) : bytes
  if (input !== bytes) bytes.on('error', (e) => input.destroy(e))
  const lines = createInterface({ input, crlfDelay: Infinity })
  // readline ends without an error when its input fails.
  return (async function* () {
    let failed: Error | undefined
    input.on('error', (e) => {
      failed = e
      lines.close()
    })
    for await (const line of lines) yield line
    if (failed !== undefined) throw failed
  })()
}

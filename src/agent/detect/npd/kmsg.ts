// The kernel's log: records of /dev/kmsg have sequence numbers, so nothing is read twice in one boot and overwritten records are counted.
import { closeSync, constants, openSync } from 'node:fs'
import type { Clock } from '#lib/clock.ts'
import { ChildLines } from './child-lines.ts'

export interface KmsgRecord {
  readonly sequence: number
  /** Milliseconds since boot. */
  readonly atMs: number
  readonly message: string
}

/** Undefined for the device lines of a record, and for a line that is not a record. */
export function parseKmsg(line: string): KmsgRecord | undefined {
  const end = line.indexOf(';')
  // A continuation line starts with a space.
  if (end < 5 || line.charCodeAt(0) === 32) return undefined
  const first = line.indexOf(',')
  const second = line.indexOf(',', first + 1)
  const third = line.indexOf(',', second + 1)
  const sequence = Number(line.slice(first + 1, second))
  const micros = Number(line.slice(second + 1, third === -1 || third > end ? end : third))
  if (first === -1 || second === -1 || !Number.isSafeInteger(sequence) || !Number.isSafeInteger(micros))
    return undefined
  const text = line.slice(end + 1)
  return { sequence, atMs: micros / 1_000, message: (text.includes('\\x') ? unescaped(text) : text).trim() }
}

/** The kernel writes unprintable bytes as \xNN, including UTF-8 text. */
function unescaped(text: string): string {
  const bytes = Buffer.from(text, 'utf8').toString('latin1')
  const raw = bytes.replace(/\\x([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(raw, 'latin1').toString('utf8')
}

export interface KmsgOptions {
  readonly path: string
  readonly clock: Clock
  /** Sequence number of the last record read in this boot. */
  readonly after: number | undefined
  /** Copies standard input to standard output as it arrives. */
  readonly program?: readonly string[]
  readonly onRecord: (record: KmsgRecord) => void
  /** This many records were overwritten before they were read. */
  readonly onLost: (records: number) => void
  readonly onProblem: (problem: string | undefined) => void
}

/** On a character device, Node.js would block one of its few threads forever: a 0.2 MB program waits instead. */
const PROGRAM = ['cat']

export class KmsgReader {
  readonly #o: KmsgOptions
  #fd: number | undefined
  #lines: ChildLines | undefined
  #last: number

  constructor(options: KmsgOptions) {
    this.#o = options
    this.#last = options.after ?? -1
  }

  get last(): number | undefined {
    return this.#last === -1 ? undefined : this.#last
  }

  start(): void {
    const { path, clock, program = PROGRAM, onProblem } = this.#o
    try {
      // Shared by consecutive programs: after an overrun, the next one continues at the oldest record still in the kernel's log.
      this.#fd = openSync(path, constants.O_RDONLY)
    } catch (e) {
      onProblem(`cannot open ${path}: ${e instanceof Error ? e.message : String(e)}`)
      return
    }
    const onLine = (line: string): void => this.#read(line)
    this.#lines = new ChildLines({ command: () => program, stdin: this.#fd, clock, onLine, onProblem })
    this.#lines.start()
  }

  close(): void {
    this.#lines?.close()
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }

  #read(line: string): void {
    const record = parseKmsg(line)
    if (record === undefined || record.sequence <= this.#last) return
    if (this.#last !== -1 && record.sequence > this.#last + 1) this.#o.onLost(record.sequence - this.#last - 1)
    this.#last = record.sequence
    this.#o.onRecord(record)
  }
}

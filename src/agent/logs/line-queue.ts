// Queues lines for pages, bounded: when lines arrive faster than pages are written, the oldest are dropped and counted.
import { LOG_PAGE_BYTES } from '#api/protocol/log-bounds.ts'

export interface Page {
  readonly text: string
  /** Lines dropped since the previous page. */
  readonly omittedLines: number
}

export class LineQueue {
  readonly #maxBytes: number
  #lines: string[] = []
  #bytes = 0
  #omitted = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0
  }

  add(lines: readonly string[]): void {
    for (const line of lines) {
      this.#lines.push(line)
      this.#bytes += bytesOf(line)
    }
    let dropped = 0
    while (this.#bytes > this.#maxBytes) this.#bytes -= bytesOf(this.#lines[dropped++] ?? '')
    this.#lines = this.#lines.slice(dropped)
    this.#omitted += dropped
  }

  /** Keeps the last `count` lines. Lines that were not requested are not counted. */
  keepLast(count: number): void {
    this.#lines = count === 0 ? [] : this.#lines.slice(-count)
    this.#bytes = this.#lines.reduce((sum, line) => sum + bytesOf(line), 0)
    this.#omitted = 0
  }

  take(): Page {
    let count = 0
    let bytes = 0
    while (count < this.#lines.length) {
      const next = bytesOf(this.#lines[count] ?? '')
      // A line is always shorter than a page, so a single line never makes a page empty.
      if (bytes + next > LOG_PAGE_BYTES) break
      bytes += next
      count++
    }
    const text = this.#lines.slice(0, count).join('\n')
    this.#lines = this.#lines.slice(count)
    this.#bytes -= bytes
    const omittedLines = this.#omitted
    this.#omitted = 0
    return { text, omittedLines }
  }
}

const bytesOf = (line: string): number => Buffer.byteLength(line) + 1

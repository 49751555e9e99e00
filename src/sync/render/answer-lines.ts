// Splits a cage's answer into JSON lines, each small enough to be parsed in one go: untrusted code wrote them.

/** Five times the largest object that a server stores; parsing this much takes tens of milliseconds. */
export const MAX_LINE_BYTES = 8 * 1024 * 1024
/** The embedded API server accepts at most this many fields. Each field costs far more time than its bytes suggest, here and in every later step. */
export const MAX_FIELDS = 100_000
/** A parsed field takes up to this much memory, and as few as three bytes as text. */
const BYTES_OF_FIELD = 64
/** Limit for the whole answer; the largest known fleet has a tenth. */
export const MAX_FIELDS_IN_ALL = 4_000_000
/** Objects of the smallest possible size, until the whole answer is too large. */
export const MAX_LINES = 1_000_000

const [NEWLINE, QUOTE, BACKSLASH, COMMA] = [10, 34, 92, 44]
/** `{` and `[` with their closing characters. */
const OPENING = new Map([
  [123, 125],
  [91, 93],
])

export type Line = { readonly bytes: Buffer } | 'TooLong' | 'Unfinished'

/** Yields undefined for a chunk that ends no line. After TooLong or Unfinished nothing follows. */
export function* linesOf(chunks: readonly Buffer[]): Generator<Line | undefined> {
  let begun: Buffer[] = []
  let length = 0
  for (const chunk of chunks) {
    for (let from = 0; from < chunk.length;) {
      const newline = chunk.indexOf(NEWLINE, from)
      const end = newline === -1 ? chunk.length : newline
      begun.push(chunk.subarray(from, end))
      length += end - from
      from = end + 1
      if (length > MAX_LINE_BYTES) {
        yield 'TooLong'
        return
      }
      if (newline === -1) break
      const [first, ...more] = begun
      yield { bytes: first === undefined || more.length > 0 ? Buffer.concat(begun) : first }
      begun = []
      length = 0
    }
    yield undefined
  }
  if (length > 0) yield 'Unfinished'
}

/** Upper limit of the answer's memory; half of it if the text is not in Latin script. */
export const memoryOf = (bytes: number, fields: number): number => bytes + BYTES_OF_FIELD * fields

/** Counts fields and list items in JSON text before it is parsed; stops as soon as there are too many. */
export function fieldsIn(json: Buffer, most: number): number {
  let count = 0
  for (let at = 0; at < json.length && count <= most; at++) {
    const byte = json[at] ?? 0
    if (byte === QUOTE) at = endOfText(json, at)
    else if (byte === COMMA || (OPENING.has(byte) && json[at + 1] !== OPENING.get(byte))) count++
  }
  return count
}

function endOfText(json: Buffer, begin: number): number {
  for (let at = begin + 1; ; at++) {
    at = json.indexOf(QUOTE, at)
    if (at === -1) return json.length
    let slashes = 0
    while (json[at - 1 - slashes] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return at
  }
}

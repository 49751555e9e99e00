// Makes a component's log lines safe to show: masks the component's secret values and anything that looks like a secret, removes terminal control
// sequences, and limits line length. Lines must be fed in order, because a block such as a private key spans many.
import { LOG_LINE_CHARS } from '#api/protocol/log-bounds.ts'
import { maskSecretsIn } from '#lib/mask-text.ts'

const MASK = '[secret]'
const BLOCK_BEGIN = /-----BEGIN [A-Z0-9 ]{1,64}-----/
const BLOCK_END = /-----END [A-Z0-9 ]{1,64}-----/
/** A block without an end hides at most this many lines. A key of 16,384 bits has 200 lines. */
const MOST_BLOCK_LINES = 400

/** Shorter values occur in every log; masking them would only reveal where they are. */
const SHORTEST_SECRET = 4
/** One line of a longer value, for example of a key without its BEGIN and END lines. */
const SHORTEST_LINE = 8
/** Characters that are masked at a time. */
const MOST_CHARS = 32_768

/** Includes whole terminal escape sequences. */
const CONTROL = /(?!\t)\p{Cc}(?:\[[0-9;?]*[A-Za-z])?/gu

/** The forms in which programs print a value. */
function formsOf(value: string): readonly string[] {
  if (value.length < SHORTEST_SECRET) return []
  const bytes = Buffer.from(value)
  const encoded = ['base64', 'base64url'] as const
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    ...encoded.map((form) => bytes.toString(form)),
    ...value.split(/\r?\n/).filter((line) => line.length >= SHORTEST_LINE),
  ]
}

export class Redactor {
  /** Longest first: one value may be part of another. */
  readonly #secrets: readonly string[]
  #blockLines = 0

  constructor(values: readonly string[]) {
    this.#secrets = [...new Set(values.flatMap(formsOf))].toSorted((a, b) => b.length - a.length)
  }

  lines(lines: readonly string[]): readonly string[] {
    const outside = lines.flatMap((line) => this.#outsideOfBlocks(line))
    return batches(outside).flatMap((batch) =>
      maskSecretsIn(batch.map((line) => this.#withoutValues(line)).join('\n'))
        .split('\n')
        .map(shownLine),
    )
  }

  #withoutValues(line: string): string {
    return this.#secrets.reduce((text, secret) => text.replaceAll(secret, MASK), line)
  }

  /** A block becomes one mask, at its beginning. */
  #outsideOfBlocks(line: string): readonly string[] {
    if (this.#blockLines > 0) {
      const end = BLOCK_END.exec(line)
      this.#blockLines = end !== null || this.#blockLines >= MOST_BLOCK_LINES ? 0 : this.#blockLines + 1
      const rest = end === null ? '' : line.slice(end.index + end[0].length)
      return rest.trim() === '' ? [] : [rest]
    }
    const begin = BLOCK_BEGIN.exec(line)
    if (begin === null || BLOCK_END.test(line.slice(begin.index))) return [line]
    this.#blockLines = 1
    return [`${line.slice(0, begin.index)}${MASK}`]
  }
}

function batches(lines: readonly string[]): readonly (readonly string[])[] {
  const all: string[][] = []
  let chars = MOST_CHARS
  for (const line of lines) {
    if (chars + line.length > MOST_CHARS) {
      all.push([])
      chars = 0
    }
    all.at(-1)?.push(line)
    chars += line.length + 1
  }
  return all
}

const shownLine = (line: string): string => {
  const plain = line.replaceAll(CONTROL, '')
  return plain.length > LOG_LINE_CHARS ? `${plain.slice(0, LOG_LINE_CHARS - 1)}…` : plain
}

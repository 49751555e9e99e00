// The last lines of a program's output, safe for a status: few lines, bounded, without control characters, secrets masked.
import { maskSecretsIn } from '#lib/mask-text.ts'

/** Limit of one line, so that one dump does not fill the message. */
const MAX_LINE_CHARS = 200

/** How much of the end is read: far more than is shown, because half a secret is not recognized as one. */
export const READ_CHARS = 16_384

/** Includes whole terminal escape sequences. */
const CONTROL = /(?!\t)\p{Cc}(?:\[[0-9;?]*[A-Za-z])?/gu

/** The last `count` lines that are not blank. */
export const lastLines = (text: string, count: number): string =>
  maskSecretsIn(text.slice(-READ_CHARS))
    .split('\n')
    .map((line) => line.replaceAll(CONTROL, '').trimEnd())
    .filter((line) => line.trim() !== '')
    .slice(-count)
    .map((line) => (line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS - 1)}…` : line))
    .join('\n')

// Wraps lines between words to fit a window, with an indent for continuations. Never breaks a command: a longer one gets its own line, which the terminal
// folds, so that it can be copied whole. Pure.
import { printableLine } from '../printable.ts'
import type { Io } from './io.ts'

const CONTINUED = 2

export function wrapped(line: string, columns: number): readonly string[] {
  if (line.length < columns) return [line]
  const indent = line.length - line.trimStart().length
  const out: string[] = []
  let at = ' '.repeat(indent)
  for (const unit of unitsOf(line.trim().split(' '))) {
    const isFirst = at.trim() === ''
    if (!isFirst && at.length + 1 + unit.length >= columns) {
      out.push(at)
      at = `${' '.repeat(indent + CONTINUED)}${unit}`
    } else at = isFirst ? `${at}${unit}` : `${at} ${unit}`
  }
  return [...out, at]
}

const PROGRAM = /^["'`(]*(kubenode|kubectl|git)$/
const SUBCOMMAND = /^[a-z][a-z-]*[;,:)`]?$/
/** `rollout history base`. One extra word of prose only makes the unbroken part longer. */
const MOST_SUBCOMMANDS = 3
/** An option, an object, a placeholder, a name with a digit. */
const ARGUMENT = /^-|\/|^[A-Z]+\b|[0-9=]/
/** Punctuation of the sentence around a command. */
const END = /[;,:)`]$/

/** Words, with each command as a single word. */
function unitsOf(words: readonly string[]): readonly string[] {
  const units: string[] = []
  for (let i = 0; i < words.length;) {
    const end = PROGRAM.test(words[i] ?? '') ? endOfCommands(words, i) : i + 1
    units.push(words.slice(i, end).join(' '))
    i = end
  }
  return units
}

/** `git revert COMMIT && git push` is pasted as one. */
function endOfCommands(words: readonly string[], start: number): number {
  const end = endOfCommand(words, start)
  return words[end] === '&&' && PROGRAM.test(words[end + 1] ?? '') ? endOfCommands(words, end + 1) : end
}

/** The position after the last word of the command that starts at `start`. */
function endOfCommand(words: readonly string[], start: number): number {
  let end = start + 1
  const isOpen = (): boolean => end < words.length && (end === start + 1 || !END.test(words[end - 1] ?? ''))
  while (isOpen() && end - start <= MOST_SUBCOMMANDS && SUBCOMMAND.test(words[end] ?? '')) end++
  while (isOpen()) {
    const word = words[end] ?? ''
    const isValue = (words[end - 1] ?? '').startsWith('-')
    if (!isValue && !ARGUMENT.test(word)) break
    end = /^["'][^"']*$/.test(word) ? endOfQuote(words, end, word.charAt(0)) : end + 1
  }
  return end
}

function endOfQuote(words: readonly string[], start: number, quote: string): number {
  const length = words.slice(start + 1).findIndex((word) => word.includes(quote))
  return length < 0 ? start + 1 : start + 1 + length + 1
}

/** Lines for users, wrapped for the terminal's window; unchanged in a pipe. */
export function windowLines({ width }: Pick<Io, 'width'>, lines: readonly string[]): readonly string[] {
  const columns = width?.()
  const shown = lines.map(printableLine)
  return columns === undefined ? shown : shown.flatMap((line) => wrapped(line, columns))
}

/** Progress and colored text already have their layout. */
const isDrawn = (text: string): boolean => ['\r', '\u001b'].some((sign) => text.includes(sign)) || !text.endsWith('\n')

/** Also wraps errors and hints. */
export const withWrappedHints = (io: Io): Io => ({
  ...io,
  err: (text) => {
    const columns = io.errWidth?.()
    if (columns === undefined || isDrawn(text)) return io.err(text)
    const lines = text.slice(0, -1).split('\n')
    io.err(`${lines.flatMap((line) => wrapped(line, columns)).join('\n')}\n`)
  },
})

export const shownInWindow = (io: Pick<Io, 'width'>, lines: readonly string[]): string =>
  windowLines(io, lines)
    .map((line) => `${line}\n`)
    .join('')

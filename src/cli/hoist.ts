// People write `kubenode --context prod get machines` as with kubectl: server options before the command work the same as after it. Pure.
import type { Command } from 'commander'

/** Each takes a value. */
const MOVED: ReadonlySet<string> = new Set(['--kubeconfig', '--context', '--namespace', '-n'])
const STAYS_WITH_VALUE = '--color'

const isMoved = (word: string): boolean => MOVED.has(word.split('=', 1)[0] ?? '')

/** How many words an option before the command takes, including its value. */
const lengthOf = (word: string): number => (!word.includes('=') && (isMoved(word) || word === STAYS_WITH_VALUE) ? 2 : 1)

/** kubectl reads `-o=name` as `-o name`. Commander would make the equals sign part of the value. */
export function withoutShortSigns(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--')
  const own = end < 0 ? argv : argv.slice(0, end)
  const split = own.flatMap((word) => (/^-[A-Za-z]=[^]/.test(word) ? [word.slice(0, 2), word.slice(3)] : [word]))
  return [...split, ...argv.slice(own.length)]
}

/** The command's words, its arguments and the rest. */
export function afterOptions(argv: readonly string[]): readonly string[] {
  let at = 0
  for (let word = argv[at]; word?.startsWith('-') === true; word = argv[at]) at += lengthOf(word)
  return argv.slice(at)
}

export function hoisted(program: Command, argv: readonly string[]): readonly string[] {
  const [kept, moved]: [string[], string[]] = [[], []]
  let at = 0
  for (let word = argv[at]; word?.startsWith('-') === true && word !== '--'; word = argv[at]) {
    const words = argv.slice(at, at + lengthOf(word))
    ;(isMoved(word) ? moved : kept).push(...words)
    at += words.length
  }
  if (moved.length === 0) return argv
  const { command, length } = commandIn(program, argv.slice(at))
  const end = at + length
  // If a word names no command, report that word, not an option before it.
  if (command.commands.length > 0) return [...kept, ...argv.slice(at)]
  const isKnown = command.options.some((o) => o.long === '--context')
  const words = [argv.slice(at, end), moved, argv.slice(end)]
  return [...kept, ...(isKnown ? words : [words[0], words[2], words[1]]).flatMap((part) => part ?? [])]
}

/** The command that the first words name, and how many words that takes. */
function commandIn(program: Command, words: readonly string[]): { readonly command: Command; readonly length: number } {
  let command = program
  let length = 0
  for (const word of words) {
    const next = command.commands.find((c) => c.name() === word || c.aliases().includes(word))
    if (next === undefined) break
    command = next
    length++
  }
  return { command, length }
}

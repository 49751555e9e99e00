// Parses the words typed so far: the command, its arguments, its options, and the word being completed. Pure.
import { type OutlinedCommand, type OutlinedOption, OUTLINE, isCalled } from '../outline/outline.ts'

export interface Typed {
  readonly command: Pick<OutlinedCommand, 'commands' | 'options' | 'arguments'>
  /** The command's words: `rollout status`. */
  readonly path: string
  readonly arguments: readonly string[]
  /** Option values by long name: `--context`. */
  readonly options: ReadonlyMap<string, string>
  /** The option whose value is being typed. */
  readonly pending: OutlinedOption | undefined
  /** The typed part of the value or word; and the part before it in the same word: `--context=`. */
  readonly word: string
  readonly prefix: string
}

const takesValue = (option: OutlinedOption | undefined): option is OutlinedOption => option?.takesValue === true

/** If no command is typed yet. */
const PROGRAM: Typed['command'] = { ...OUTLINE, arguments: [] }

export function typedOf(words: readonly string[]): Typed {
  let command = PROGRAM
  const path: string[] = []
  const given: string[] = []
  const options = new Map<string, string>()
  let pending: OutlinedOption | undefined
  const optionOf = (flag: string): OutlinedOption | undefined =>
    [...command.options, ...OUTLINE.options, ...SERVER_OPTIONS].find((o) => o.long === flag || o.short === flag)
  for (const word of words.slice(0, -1)) {
    if (pending !== undefined) {
      options.set(pending.long, word)
      pending = undefined
    } else if (word.startsWith('-') && word !== '-') {
      const [flag, value] = split(word)
      const option = optionOf(flag)
      if (!takesValue(option)) continue
      if (value === undefined) pending = option
      else options.set(option.long, value)
    } else {
      const found = given.length > 0 ? undefined : command.commands.find((c) => isCalled(c, word))
      if (found === undefined) given.push(word)
      else {
        command = found
        path.push(found.name)
      }
    }
  }
  const typed = words.at(-1) ?? ''
  const [flag = '', value] = typed.startsWith('--') ? split(typed) : []
  const inline = value === undefined ? undefined : optionOf(flag)
  const isInline = pending === undefined && takesValue(inline) && value !== undefined
  return {
    command,
    path: path.join(' '),
    arguments: given,
    options,
    pending: isInline ? inline : pending,
    word: isInline ? value : typed,
    prefix: isInline ? `${flag}=` : '',
  }
}

const split = (word: string): readonly [string, string?] => {
  const at = word.indexOf('=')
  return at < 0 ? [word] : [word.slice(0, at), word.slice(at + 1)]
}

/** Server options may come before the command. */
const SERVER_OPTIONS: readonly OutlinedOption[] =
  OUTLINE.commands.find((c) => c.name === 'get')?.options.filter((o) => o.long !== '--output') ?? []

/** The words of bash's line up to the cursor; the last one is being typed. Words that bash splits at `=` and `:` stay whole. */
export function shellWords(line: string): readonly string[] {
  const words: string[] = []
  let word = ''
  let quote = ''
  let isOpen = false
  for (let i = 0; i < line.length; i++) {
    const c = line[i] ?? ''
    if (c === '\\' && quote !== "'") word += line[++i] ?? ''
    else if (quote !== '') {
      if (c === quote) quote = ''
      else word += c
    } else if (c === '"' || c === "'") [quote, isOpen] = [c, true]
    else if (/\s/.test(c)) {
      if (word !== '' || isOpen) words.push(word)
      ;[word, isOpen] = ['', false]
    } else word += c
  }
  return [...words, word]
}

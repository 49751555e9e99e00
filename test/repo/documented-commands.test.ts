// No page promises a command or an option that the program does not have: each `kubenode …` in README, docs and CONTRIBUTING is found in the tree of commands.
import type { Command } from 'commander'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { buildProgram } from '#cli/program.ts'
import { WAYS_OUT } from '#explain/ways-out.ts'
import { NOT_TYPED, PAGES, TYPED_ELSEWHERE } from '#test/e2e/whole-way/pages.ts'

const ROOT = join(import.meta.dirname, '../..')
const io = { out: () => undefined, err: () => undefined, cwd: '/', env: {}, isTerminal: false }
const program = await buildProgram(io)

/** What was decided or changed once may name what does not exist any more. */
const HISTORY = /^docs\/adr\//
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((f) => f.endsWith('.md'))
    .map((f) => join('docs', f)),
].filter((f) => !HISTORY.test(f))

interface Written {
  readonly line: number
  readonly words: readonly string[]
}

/** In blocks of code a command begins its line; in a sentence it stands between backquotes. */
function commandsOf(text: string): readonly Written[] {
  const found: Written[] = []
  let isBlock = false
  for (const [i, line] of text.split('\n').entries()) {
    if (/^\s*(```|~~~)/.test(line)) isBlock = !isBlock
    const commands =
      isBlock || /^ {4}/.test(line)
        ? [/^\s*(?:\$ |# |sudo )*(?:bin\/)?kubenode (.*)$/.exec(line)?.[1]]
        : [...line.matchAll(/`(?:bin\/)?kubenode ([^`]+)`/g)].map((m) => m[1])
    for (const command of commands) if (command !== undefined) found.push({ line: i + 1, words: wordsOf(command) })
  }
  return found
}

/** Up to a comment, a pipe or a redirection; brackets mark what may be left out. */
function wordsOf(command: string): readonly string[] {
  const words = command
    .replace(/'[^']*'|"[^"]*"/g, 'TEXT')
    .trim()
    .split(/\s+/)
  const end = words.findIndex((w) => /^(#|\||\|\||&&|&|;|<|>|2>.*|>.*|\\)$/.test(w))
  return (end === -1 ? words : words.slice(0, end)).map((w) => w.replace(/^\[+|[\]);,.…]+$/g, ''))
}

const named = (command: Command, name: string): Command | undefined =>
  command.commands.find((c) => c.name() === name || c.aliases().includes(name))
const hasOption = (command: Command | null, flag: string): boolean =>
  command !== null &&
  (command.options.some((o) => o.long === flag || o.short === flag) || hasOption(command.parent, flag))

/** What is wrong with it; `a|b` is either. */
function problemOf(words: readonly string[]): string | undefined {
  let command = program
  let isPath = true
  for (const word of words) {
    const [flag = ''] = word.split('=')
    if (/^--?[a-zA-Z]/.test(flag)) {
      const flags = flag.split('|')
      const missing = flags.find((f) => f !== '--help' && f !== '-h' && !hasOption(command, f))
      if (missing !== undefined) return `kubenode ${command.name()} has no option ${missing}`
      continue
    }
    if (!isPath || command.commands.length === 0) continue
    const choices = word.split('|').map((name) => [name, named(command, name)] as const)
    const unknown = choices.find(([name, found]) => found === undefined && /^[a-z][a-z-]*$/.test(name))
    if (unknown !== undefined) return `${command.name()} has no command ${unknown[0]}`
    const [first] = choices
    if (first?.[1] === undefined || choices.length > 1) isPath = false
    else command = first[1]
  }
  return lackOf(command, words)
}

/** A command that is printed with `--reason` is typed as printed; without it, only its name is meant. */
function lackOf(command: Command, words: readonly string[]): string | undefined {
  if (!words.includes('--reason')) return undefined
  const lacking = command.options.find(
    (o) => o.mandatory && o.defaultValue === undefined && !words.includes(o.long ?? ''),
  )
  return lacking && `kubenode ${command.name()} needs ${lacking.long ?? ''}`
}

describe.each(pages)('%s', (page) => {
  test('names commands and options that there are', () => {
    const commands = commandsOf(readFileSync(join(ROOT, page), 'utf8'))
    const wrong = commands.flatMap(({ line, words }) => {
      const problem = problemOf(words)
      return problem === undefined ? [] : [`${page}:${line}: ${problem}: kubenode ${words.join(' ')}`]
    })
    expect(wrong).toEqual([])
  })
})

test('the check finds commands, and would find a wrong one', () => {
  expect(commandsOf(readFileSync(join(ROOT, 'docs/operations/install.md'), 'utf8')).length).toBeGreaterThan(5)
  expect(problemOf(wordsOf('why set/NAME --nonsense'))).toBe('kubenode why has no option --nonsense')
  expect(problemOf(wordsOf('rollout nonsense NAME'))).toBe('rollout has no command nonsense')
  expect(problemOf(wordsOf('allow-edit set/NAME --reason WHY'))).toBe('kubenode allow-edit needs --digest')
  expect(problemOf(wordsOf('nonsense'))).toBe('kubenode has no command nonsense')
})

test('the command that each reason advises is one that there is', () => {
  const typed = Object.values(WAYS_OUT).flatMap((way) => ('command' in way ? [way.command] : []))
  const own = typed.filter((command) => command.startsWith('kubenode ')).map((command) => command.slice(9))
  expect(own.length).toBeGreaterThan(20)
  expect(own.flatMap((command) => problemOf(wordsOf(command)) ?? [])).toEqual([])
})

test('every task is typed on a local fleet by ok:full, or listed as one that another test types, or none', () => {
  const files = readdirSync(join(ROOT, 'docs/tasks'))
  expect([...PAGES, ...TYPED_ELSEWHERE, ...NOT_TYPED, 'README'].map((name) => `${name}.md`).toSorted()).toEqual(
    files.toSorted(),
  )
})

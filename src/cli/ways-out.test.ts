// The command that each reason recommends exists, takes what is given to it, and names a cluster only where it has that option.
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { inContext } from '#explain/unblock.ts'
import { needsPeople, peopleSentence, WAYS_OUT } from '#explain/ways-out.ts'
import { buildProgram } from './program.ts'

const program = await buildProgram({ out: () => undefined, err: () => undefined, cwd: '/', env: {}, isTerminal: false })
const advice = Object.keys(WAYS_OUT).flatMap((reason) => {
  const line = /: (kubenode .*)$/.exec(peopleSentence(reason, 'machine/n-1') ?? '')?.[1]
  return needsPeople(reason) && line !== undefined ? [[reason, line] as const] : []
})

function called(words: readonly string[], at: Command = program): readonly [Command, readonly string[]] {
  const [word = '', ...rest] = words
  const next = at.commands.find((c) => c.name() === word || c.aliases().includes(word))
  return next === undefined ? [at, words] : called(rest, next)
}

test.each(advice)('%s: %s', (_, line) => {
  const [command, given] = called(inContext(line, 'prod').split(' ').slice(1))
  expect(command).not.toBe(program)
  const options = given.filter((word) => word.startsWith('--'))
  expect(options.filter((name) => command.options.every((o) => o.long !== name))).toEqual([])
  const hasContext = command.options.some((o) => o.long === '--context')
  expect(options.includes('--context')).toBe(hasContext)
  const at = given.findIndex((word) => word.startsWith('--'))
  const words = at === -1 ? given : given.slice(0, at)
  const needed = command.registeredArguments.filter((a) => a.required).length
  const isEndless = command.registeredArguments.some((a) => a.variadic)
  expect(words.length).toBeGreaterThanOrEqual(needed)
  expect(isEndless || words.length <= command.registeredArguments.length).toBe(true)
  // A range of commits is no object.
  expect(command.registeredArguments.some((a) => a.name() === 'range') && words.length > 0).toBe(false)
})

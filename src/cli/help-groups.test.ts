import { expect, test } from 'vitest'
import { COMMAND_GROUPS } from './command-list.ts'
import type { Io } from '#lib/terminal/io.ts'
import { OUTLINE } from './outline/outline.ts'
import { run } from './program.ts'

async function helpOf(...argv: readonly string[]): Promise<readonly string[]> {
  let text = ''
  const io: Io = { out: (t) => (text += t), err: () => undefined, cwd: '/', env: {}, isTerminal: false }
  await run(argv, io)
  return text.split('\n')
}

test('each command that people may use is in one group of the help', () => {
  const shown = OUTLINE.commands.filter((c) => !c.isHidden && !c.name.startsWith('__')).map((c) => c.name)
  expect(COMMAND_GROUPS.flatMap((g) => Object.keys(g.commands)).sort()).toEqual(shown.sort())
})

test('the help lists the groups in order, each command with one line that fits a narrow terminal', async () => {
  const lines = await helpOf('--help')
  const titles = lines.filter((l) => l.endsWith('Commands:'))
  expect(titles).toEqual(COMMAND_GROUPS.map((g) => g.title))
  const list = lines.slice(lines.indexOf(titles[0] ?? '')).filter((l) => l.startsWith('  '))
  const commands = COMMAND_GROUPS.flatMap((g) => Object.entries(g.commands))
  expect(list.map((l) => l.trim().replace(/ {2,}/, ' '))).toEqual(commands.map(([name, { line }]) => `${name} ${line}`))
})

test('the help of a command says all about it, and lists its own commands with their arguments', async () => {
  expect((await helpOf('watch', '--help')).join('\n')).toContain('in a pipe one line for each change')
  expect((await helpOf('rollout', '--help')).join('\n')).toContain('  status [options] <set>')
})

// An environment variable has one meaning, and never that of a variable that KubeNode programs pass to each other.
import type { Command, Option } from 'commander'
import { expect, test } from 'vitest'
import { buildProgram } from '#cli/program.ts'
import { codeOf, isTest, sourceFiles } from './source-files.ts'

const io = { out: () => undefined, err: () => undefined, cwd: '/', env: {}, isTerminal: false }
const optionsOf = (command: Command): readonly Option[] => [
  ...command.options.filter((o) => o.envVar !== undefined),
  ...command.commands.flatMap(optionsOf),
]
const OPTIONS = optionsOf(await buildProgram(io))

/** Names that this project gives to what it starts: components, hooks, scripts, nodes. */
const GIVEN = sourceFiles('src', 'fleet')
  .filter((f) => !isTest(f.path) && !f.path.startsWith('src/cli/environment.ts'))
  .flatMap((f) => [...codeOf(f).matchAll(/\bKUBENODE_[A-Z][A-Z_]*/g)].map(([name]) => name))

/** For two options with one variable: their values and meaning, without the trailing hint. */
const meaning = (o: Option): string => `${o.flags}: ${o.description.split(';')[0]}`

test('one variable has one meaning', () => {
  const meanings = Map.groupBy(OPTIONS, (o) => o.envVar)
  const torn = [...meanings].filter(([, options]) => new Set(options.map(meaning)).size > 1)
  expect(torn.map(([name, options]) => [name, options.map(meaning)])).toEqual([])
})

test('no option takes a variable that components, hooks and nodes are given', () => {
  expect(GIVEN).toContain('KUBENODE_ROOT')
  expect(OPTIONS.map((o) => o.envVar).filter((name) => GIVEN.includes(name ?? ''))).toEqual([])
})

// No line for a terminal on the page of the console promises what the program does not have: each is parsed as if it were typed, up to where it would begin its work.
import { CommanderError, type Command } from 'commander'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { wantedOf } from '#cli/get/wanted.ts'
import { named } from '#cli/fleet/target.ts'
import { buildProgram } from '#cli/program.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { approvalCommand, holdCommand } from '#console/server/writes.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = join(ROOT, 'src/console/page')
/** What every view draws, word for word. */
const DRAWN = join(ROOT, 'test/browser/snapshots')
const io = { out: () => undefined, err: () => undefined, cwd: '/', env: {}, isTerminal: false }

/** Commands that are typed with kinds; they refuse an unknown kind. */
const OBJECTS: Readonly<Record<string, (words: readonly string[]) => unknown>> = {
  get: wantedOf,
  describe: (words) => named(words),
  why: (words) => words.map((word) => named([word])),
}

/** Undefined: it can be typed. */
async function problemOf(line: string): Promise<string | undefined> {
  const program = await buildProgram(io)
  const idle = (command: Command): void => {
    command.exitOverride().configureOutput({ writeOut: () => undefined, writeErr: () => undefined })
    if (command.commands.length === 0)
      command.action((words: readonly string[]) => void OBJECTS[command.name()]?.(words))
    command.commands.forEach(idle)
  }
  idle(program)
  try {
    await program.parseAsync(wordsOf(line), { from: 'user' })
    return undefined
  } catch (e) {
    if (e instanceof CommanderError && e.exitCode === 0) return undefined
    return e instanceof Error ? e.message : String(e)
  }
}

/** As a shell reads it, up to a pipe. */
const wordsOf = (line: string): readonly string[] =>
  [...(line.split(' | ')[0] ?? '').matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)]
    .map(([w]) => w.replaceAll(/["']/g, ''))
    .slice(1)

const problems = async (lines: Iterable<string>): Promise<readonly string[]> => {
  const found: string[] = []
  for (const line of new Set(lines)) {
    const problem = await problemOf(line)
    if (problem !== undefined) found.push(`${line}: ${problem}`)
  }
  return found
}

/** Names and clusters are put in where the page is drawn; `--context ` and its cluster are one text. */
const written = (text: string): readonly string[] =>
  [...text.replaceAll(/^\s*(\/\/|\/?\*).*$/gm, '').matchAll(/(['"`])(kubenode [a-z-][^'"`]*)\1/g)].map(
    ([, , line = '']) => line.replaceAll('${context}', '--context NAME').replaceAll(/\$\{[^}]*\}/g, 'NAME'),
  )

const pageFiles = readdirSync(PAGE, { recursive: true, encoding: 'utf8' }).filter((f) => /(?<!\.test)\.ts$/.test(f))

test('every command that the page has in its code can be typed', async () => {
  const lines = pageFiles.flatMap((file) => written(readFileSync(join(PAGE, file), 'utf8')))
  expect(new Set(lines).size).toBeGreaterThan(20)
  expect(await problems(lines)).toEqual([])
})

test('every command that a view shows can be typed', async () => {
  const lines = readdirSync(DRAWN).flatMap((file) =>
    [...readFileSync(join(DRAWN, file), 'utf8').matchAll(/"Copy: (kubenode (?:[^"\\]|\\.)*)"/g)].map(([, line = '']) =>
      line.replaceAll('\\"', '"'),
    ),
  )
  expect(new Set(lines).size).toBeGreaterThan(20)
  expect(await problems(lines)).toEqual([])
})

test('the command of an approval that was written can be typed, for the cluster that was shown', async () => {
  const line = approvalCommand('source', 'fleet', "it's read", 'prod')
  expect(line).toMatch(/ --context prod$/)
  expect(await problemOf(line.replace(/'it.*read'/, 'WHY'))).toBeUndefined()
})

test.each([
  ['Pause', 'Machine'],
  ['Pause', 'MachineComponentSet'],
  ['Pause', 'RemedyOperationJob'],
  ['Pause', 'Release'],
  ['Freeze', 'Machine'],
  ['Freeze', 'MachineComponentSet'],
  ['Freeze', 'Cluster'],
  ['Retry', 'MachineComponentSet'],
  ['Promote', 'Release'],
] as const)('the command of a hold with effect %s of a %s can be typed', async (effect, kind) => {
  const until = '2026-01-31T13:30:00Z'
  const spec = { effect, target: { kind, name: 'a' }, reason: 'storage', author: 'ada', until }
  const line = holdCommand({ spec } as OperationalHold, 'prod', Date.parse(until) - 5_400_000)
  expect(line).toMatch(/^kubenode .* --reason storage --for 90m --context prod$/)
  expect(await problemOf(line)).toBeUndefined()
})

test('a command that there is not, a wrong option and a missing name are found', async () => {
  expect(await problemOf('kubenode nonsense')).toMatch(/nonsense/)
  expect(await problemOf('kubenode why set/base --nonsense')).toMatch(/--nonsense/)
  expect(await problemOf('kubenode why nonsense/base')).toMatch(/nonsense/)
  expect(await problemOf('kubenode get nonsenses')).toMatch(/nonsenses/)
  expect(await problemOf('kubenode rollout status')).toMatch(/missing required argument/)
  expect(await problemOf('kubenode why set/base more --context')).toMatch(/argument missing/)
  expect(await problemOf("kubenode rollout retry base --reason 'it is mended' | cat --nonsense")).toBeUndefined()
})

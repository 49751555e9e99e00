import type { Command, Option } from 'commander'
import { describe, expect, test } from 'vitest'
import { GIT_VARIABLES } from '#install/bootstrap/git-variables.ts'
import type { Io } from '#lib/terminal/io.ts'
import { buildProgram, run } from './program.ts'

const ioWith = (env: Io['env'], err: (text: string) => void = () => undefined): Io => ({
  out: () => undefined,
  err,
  cwd: '/',
  env,
  isTerminal: false,
})

interface Place {
  readonly words: readonly string[]
  readonly command: Command
  readonly option: Option
}

function places(command: Command, words: readonly string[] = []): readonly Place[] {
  return [
    ...command.options.map((option) => ({ words, command, option })),
    ...command.commands.flatMap((c) => places(c, [...words, c.name()])),
  ]
}

/** One tree for all command lines: commander forgets the values of a line before it parses the next. */
const environment: Record<string, string | undefined> = {}
const program = await buildProgram(ioWith(environment))
const ALL = places(program)
const WITH_VARIABLE = ALL.filter(({ option }) => option.envVar !== undefined)
const shownAs = ({ words, option }: Place) => `${words.join(' ')} ${option.long}` as const

const takesValue = (o: Option) => o.required || o.optional
const isCount = (o: Option) => /<(n|GiB|MiB)>$/.test(o.flags)
/** The opposite of a flag's default; or one of its choices, a number, or any text. */
const sample = (o: Option) =>
  takesValue(o) ? (o.argChoices?.at(-1) ?? (isCount(o) ? '7' : 'from-env')) : o.negate ? 'false' : 'true'
const other = (o: Option) => (takesValue(o) ? (o.argChoices?.[0] ?? (isCount(o) ? '8' : 'from-line')) : undefined)

/** A repeatable option gives a list, with one value if given once. Numbers may already be parsed. */
const plain = (value: unknown): unknown => {
  const one: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value
  return typeof one === 'number' ? String(one) : one
}

/** Parses one command line and returns the options that its action would get. */
async function parsed(place: Place, env: Io['env'], more: readonly string[] = []): Promise<Record<string, unknown>> {
  const { command } = place
  for (const name of Object.keys(environment)) delete environment[name]
  Object.assign(environment, env)
  let seen: Record<string, unknown> = {}
  command.action(() => void (seen = command.optsWithGlobals()))
  const others = command.options.filter((o) => o.mandatory && o.attributeName() !== place.option.attributeName())
  const needed = others.flatMap((o) => [o.long ?? '', o.argChoices?.[0] ?? 'x'])
  const args = command.registeredArguments.filter((a) => a.required).map((a) => a.argChoices?.[0] ?? 'x')
  await program.parseAsync([...place.words, ...args, ...needed, ...more], { from: 'user' })
  return seen
}

test('some options come from the environment', () => expect(WITH_VARIABLE.length).toBeGreaterThan(30))

describe.each(WITH_VARIABLE.map((p) => [shownAs(p), p] as const))('%s', (_, place) => {
  const { command, option } = place
  const key = option.attributeName()

  test('the variable in its help takes effect', async () => {
    expect(command.helpInformation().replaceAll(/\s+/g, ' ')).toContain(`env: ${option.envVar}`)
    const wanted = takesValue(option) ? sample(option) : !option.negate
    expect(plain((await parsed(place, { [String(option.envVar)]: sample(option) }))[key])).toBe(wanted)
  })

  test('the command line wins over the variable', async () => {
    const line = other(option)
    if (line === undefined) {
      const opposite = option.negate ? 'true' : 'false'
      const [on, off] = [option.long ?? '', await parsed(place, { [String(option.envVar)]: opposite })]
      expect(off[key]).toBe(option.negate)
      expect((await parsed(place, { [String(option.envVar)]: opposite }, [on]))[key]).toBe(!option.negate)
    } else {
      const seen = await parsed(place, { [String(option.envVar)]: sample(option) }, [option.long ?? '', line])
      expect(plain(seen[key])).toBe(line)
    }
  })
})

test('an option given several times takes nothing from the variable', async () => {
  const [place] = WITH_VARIABLE.filter((p) => shownAs(p) === 'run --kubeconfig')
  expect(place).toBeDefined()
  if (place === undefined) return
  const line = ['--kubeconfig', 'sync=a', '--kubeconfig', 'approver=b']
  const seen = await parsed(place, { KUBENODE_KUBECONFIG: 'c' }, line)
  expect(seen['kubeconfig']).toEqual(['sync=a', 'approver=b'])
})

test('no help names a variable that is not read', () => {
  const named = [...new Set(ALL.map((p) => p.command))].flatMap((c) =>
    [...c.helpInformation().matchAll(/\bKUBENODE_[A-Z_]+/g)].map(([name]) => name),
  )
  const read = new Set([...WITH_VARIABLE.map((p) => p.option.envVar), ...Object.values(GIT_VARIABLES)])
  expect(named.filter((name) => !read.has(name))).toEqual([])
})

test('an empty variable is none', async () => {
  const [place] = WITH_VARIABLE.filter((p) => shownAs(p) === 'apiserver --host')
  expect(place).toBeDefined()
  if (place) expect((await parsed(place, { KUBENODE_APISERVER_HOST: '' }))['host']).toBe('127.0.0.1')
})

test.each([
  ['KUBENODE_RUN_LOG_LEVEL', 'loud', ['run', '--roles', 'sync', '--kubeconfig', 'x']],
  ['KUBENODE_RUN_HUB', 'perhaps', ['run', '--roles', 'sync', '--kubeconfig', 'x']],
])('a value of %s that does not fit is refused, with its name', async (name, value, argv) => {
  let err = ''
  expect(
    await run(
      argv,
      ioWith({ [name]: value }, (t) => (err += t)),
    ),
  ).toBe(2)
  expect(err).toMatch(new RegExp(`^KN1004: cannot use ${name}=${value}: `))
})

import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { OUTLINE, type OutlinedCommand } from '../outline/outline.ts'
import { run } from '../program.ts'
import { type Names, candidates, completedCommands } from './candidates.ts'
import { contextsIn } from '#kube/contexts.ts'
import { kept, serverNames } from './names.ts'
import { shellWords, typedOf } from './typed.ts'

const io = { out: () => undefined, err: () => undefined, cwd: '/', env: {}, isTerminal: false }
const names: Names = {
  objects: (type, typed) =>
    Promise.resolve([
      `${type.plural}-1`,
      `in-${typed.options.get('--namespace') ?? typed.options.get('--context') ?? 'x'}`,
    ]),
  namespaces: () => Promise.resolve(['default', 'kubenode-system']),
  components: (machine) => Promise.resolve([`on-${machine}`, 'kubelet']),
  contexts: () => Promise.resolve(['prod', 'arn:aws:eks:eu:1:cluster/x']),
}
const words = async (...typed: string[]) => (await candidates(typed, names)).map((c) => c.word)

describe('what may follow', () => {
  test.each([
    [['li'], ['lint']],
    [
      ['completion', ''],
      ['bash', 'fish', 'zsh'],
    ],
    [
      ['lint', '-o', ''],
      ['github', 'json', 'text'],
    ],
    [['lint', ''], [':files']],
    [['lint', '-o', 'json', ''], [':files']],
    [['rollout', 's'], ['status']],
    [['help', 'rollout', 'st'], ['status']],
    [
      ['get', 'machinec'],
      ['machinecomponents', 'machinecomponentsets'],
    ],
    [
      ['get', 'machines,nod'],
      ['machines,noderemediers', 'machines,nodes'],
    ],
    [
      ['get', 'km', ''],
      ['in-x', 'machines-1'],
    ],
    [['get', 'km', 'machines-1', 'm'], ['machines-1']],
    [['get', 'machine/m'], ['machine/machines-1']],
    [['get', '-n', 'a', 'sources', 'in'], ['in-a']],
    [['get', '--namespace=a', 'sources', 'in'], ['in-a']],
    [['--context', 'prod', 'get', 'km', 'in'], ['in-prod']],
    [['get', '--context', 'p'], ['prod']],
    [['get', '--context=p'], ['--context=prod']],
    [['get', '-n', 'k'], ['kubenode-system']],
    [['get', '-o', 'j'], ['json']],
    [['get', '--kubeconfig', ''], [':files']],
    [['get', 'nonsense', ''], []],
    [
      ['why', 'set/'],
      ['set/in-x', 'set/machinecomponentsets-1'],
    ],
    [['why', 'set/a', 'node/n'], ['node/nodes-1']],
    // As kubectl has it.
    [['describe', 'machine', 'm'], ['machines-1']],
    [['describe', 'km', 'machines-1', 'm'], ['machines-1']],
    [
      ['why', 'nodes', ''],
      ['in-x', 'nodes-1'],
    ],
    [['why', 'set/a', 'n'], ['node/']],
    [['freeze', 'machine', ''], []],
    [
      ['pause', 'ma'],
      ['machine/', 'machineset/'],
    ],
    [['freeze', 'x/'], []],
    [
      ['rollback', ''],
      ['in-x', 'machinecomponentsets-1'],
    ],
    [['rollout', 'status', 'a', ''], []],
    [
      ['logs', 'm'],
      ['machine/', 'machines-1'],
    ],
    [['logs', 'node/n'], ['node/nodes-1']],
    [
      ['logs', 'machine/m-1', '-c', ''],
      ['kubelet', 'on-m-1'],
    ],
    [['logs', 'm-1', '-f', 'o'], ['on-m-1']],
    [['logs', 'node/m-1', '--container=k'], ['--container=kubelet']],
    [['logs', '-c', ''], []],
    [['logs', 'machine/m-1', 'kubelet', ''], []],
    [
      ['plan', '--weak-cage', ''],
      ['allow', 'refuse'],
    ],
    [['get', '--col'], ['--color']],
    [['get', '--color', 'n'], ['never']],
  ])('%j: %j', async (typed, want) => expect(await words(...typed)).toEqual(want))

  test('commands come first, and hidden ones not at all', async () => {
    const all = await words('')
    expect(all).toEqual(expect.arrayContaining(['get', 'why', 'plan', 'rollout']))
    expect(all.filter((w) => w.startsWith('_') || w.startsWith(':'))).toEqual([])
  })

  test('every command whose arguments are completed exists, and takes one', () => {
    const at = (path: string): OutlinedCommand | undefined =>
      path
        .split(' ')
        .reduce<Pick<OutlinedCommand, 'commands'> | undefined>(
          (c, w) => c?.commands.find((x) => x.name === w),
          OUTLINE,
        ) as OutlinedCommand | undefined
    expect(completedCommands().filter((path) => (at(path)?.arguments.length ?? 0) === 0)).toEqual([])
  })
})

test.each([
  ['kubenode get mach', ['kubenode', 'get', 'mach']],
  ['kubenode  get ', ['kubenode', 'get', '']],
  ['k get "a b', ['k', 'get', 'a b']],
  ["k '' x\\ y", ['k', '', 'x y']],
  ['k --context=arn:aws:x', ['k', '--context=arn:aws:x']],
])('the words of %j', (line, want) => expect(shellWords(line)).toEqual(want))

test('the value inside an option is separated from the text before it', () => {
  const { path, word, prefix, pending } = typedOf(['get', '--context=pr'])
  expect([path, word, prefix, pending?.long]).toEqual(['get', 'pr', '--context=', '--context'])
})

describe('names of a server', () => {
  let dir = ''
  beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'kubenode-complete-'))))
  afterEach(() => rmSync(dir, { recursive: true, force: true }))

  const clockAt = (file: string, ageMs: number) =>
    ({ ...new VirtualClock(), now: () => statSync(file).mtimeMs + ageMs }) as never

  test('are kept for some seconds in a folder that only their user reads', async () => {
    let asked = 0
    const ask = () => Promise.resolve([`n-${++asked}`])
    const folder = join(dir, 'completion')
    const clock = new VirtualClock()
    expect(await kept(folder, { key: 'a', ask }, clock)).toEqual(['n-1'])
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(await kept(folder, { key: 'a', ask }, clockAt(folder, 5_000))).toEqual(['n-1'])
    expect(await kept(folder, { key: 'b', ask }, clockAt(folder, 5_000))).toEqual(['n-2'])
    expect(await kept(folder, { key: 'a', ask }, clockAt(folder, 60_000))).toEqual(['n-3'])
  })

  test('that do not come are none, and are not asked for at once again', async () => {
    let asked = 0
    const ask = () => Promise.reject(new Error(`no ${++asked}`))
    const clock = new VirtualClock()
    expect(await kept(dir, { key: 'a', ask }, clock)).toEqual([])
    expect(await kept(dir, { key: 'a', ask }, clockAt(dir, 1_000))).toEqual([])
    expect(asked).toBe(1)
  })

  test('of before are shown while the server does not answer in time', async () => {
    const [none, fails] = [() => Promise.resolve(undefined), () => Promise.reject(new Error('away'))]
    expect(await kept(dir, { key: 'a', ask: () => Promise.resolve(['n-1']) }, new VirtualClock())).toEqual(['n-1'])
    expect(await kept(dir, { key: 'a', ask: none }, clockAt(dir, 60_000))).toEqual(['n-1'])
    expect(await kept(dir, { key: 'a', ask: fails }, clockAt(dir, 60_000))).toEqual(['n-1'])
    expect(await kept(dir, { key: 'a', ask: () => Promise.resolve([]) }, clockAt(dir, 60_000))).toEqual([])
    expect(await kept(dir, { key: 'a', ask: none }, clockAt(dir, 60_000))).toEqual([])
  })

  test('no kubeconfig, or one that cannot be read, is no error', async () => {
    writeFileSync(join(dir, 'k'), 'a: [')
    for (const env of [{}, { KUBECONFIG: join(dir, 'k') }, { KUBECONFIG: '/nope:/nope2' }]) {
      const said: string[] = []
      const own = {
        ...io,
        env: { ...env, HOME: dir },
        err: (t: string) => void said.push(t),
        out: (t: string) => void said.push(t),
      }
      expect(await run(['__complete', '--', 'get', 'machines', ''], own)).toBe(0)
      expect(await run(['__complete', '--', 'get', '--context', ''], own)).toBe(0)
      expect(said).toEqual([])
      expect(await serverNames(own).namespaces(typedOf(['get', '-n', '']))).toEqual([])
    }
  })

  test('contexts are read from every file of the list, and nothing that steers a terminal is one', async () => {
    writeFileSync(join(dir, 'a'), 'contexts: [{name: prod}, {name: "x\\u001b[2J"}]')
    writeFileSync(join(dir, 'b'), 'contexts: [{name: test}, {name: prod}]')
    expect(await contextsIn([join(dir, 'a'), '/nope', join(dir, 'b')])).toEqual(['prod', 'test'])
  })
})

test('bash replaces only what follows the last = or colon of a word', async () => {
  const said: string[] = []
  const own = { ...io, out: (t: string) => void said.push(t) }
  expect(await run(['__complete', '--line', 'kubenode --color=ne'], own)).toBe(0)
  expect(said).toEqual(['never\t\n'])
})

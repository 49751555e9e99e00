// The page "Add a cluster", run as printed: a stage between two others that the hub makes and removes, and one that exists already.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { processesWith, until } from '#test/support/tools/processes.ts'
import { shellBlocks } from '#test/support/tools/readme.ts'
import { PATIENCE_MS, TestFleet } from './fleet.ts'

const [declare = '', change = '', takeOut = '', approve = '', install = '', register = '', name = '', leave = ''] =
  shellBlocks('docs/tasks/new-cluster.md')
let fleet: TestFleet
const page = readFileSync(join(import.meta.dirname, '../../../docs/tasks/new-cluster.md'), 'utf8')
/** Run until they are ended. */
const printed = [...page.matchAll(/^```text\n(bin\/kubenode .*)\n```$/gm)].map(([, line = '']) => line)
const terminals: ChildProcess[] = []

beforeAll(async () => {
  fleet = new TestFleet()
  fleet.start('--nodes', '2')
  await fleet.settled()
}, PATIENCE_MS)
afterAll(async () => {
  for (const child of terminals.toReversed()) {
    const ended = child.exitCode === null ? once(child, 'exit') : undefined
    child.kill('SIGTERM')
    await ended
  }
  await (fleet as TestFleet | undefined)?.dispose()
}, PATIENCE_MS)

const runs = async (block: string): Promise<string> => {
  const { code, out } = await fleet.run(block)
  expect([block, code, code === 0 ? '' : out]).toEqual([block, 0, ''])
  return out
}
function terminal(line = ''): void {
  const [program = '', ...args] = line.split(' ')
  terminals.push(spawn(join(fleet.checkout, program), args, { cwd: fleet.checkout, stdio: 'ignore' }))
}
/** The newest release: its stages in order, each with its phase. */
const stages = async (): Promise<string> => {
  const hub = fleet.kubeconfig('hub')
  const path = '{range .items[-1:].status.stages[*]}{.name} {.phase}, {end}'
  const sorted = '--sort-by=.metadata.creationTimestamp'
  return (
    await fleet.run(`kubectl --kubeconfig ${hub} get releases -n kubenode-system ${sorted} -o jsonpath='${path}'`)
  ).out
}

/** Everything that a cluster has on this machine. */
const leftOf = (name: string): readonly string[] => [
  ...processesWith(join(fleet.data, name)).map((p) => p.command),
  ...[name, `control-planes/kubenode-system.${name}`].filter((folder) => existsSync(join(fleet.data, folder))),
  ...['programs.json', 'approvers.json', 'admin.kubeconfig'].filter((file) =>
    readFileSync(join(fleet.data, file), 'utf8').includes(`/${name}/`),
  ),
]

test(
  'a third cluster comes up with its nodes by one commit, changes pass through it, and another commit leaves nothing of it',
  async () => {
    expect(await stages()).toBe('test Succeeded, pre Skipped, prod Succeeded, ')
    const declared = await runs(declare)
    expect(declared).toMatch(/pre +2\/2 machines Ready/)
    expect(declared.match(/^workers-\S+ +Ready/gm)).toHaveLength(2)
    expect(await stages()).toBe('test Succeeded, pre Succeeded, prod Succeeded, ')
    const own = fleet.kubeconfig('pre')
    const nodes = `kubectl --kubeconfig ${own} get nodes --no-headers`
    expect((await runs(nodes)).match(/ Ready /g)).toHaveLength(2)
    const [, port = ''] = /server: https:\/\/127\.0\.0\.1:(\d+)/.exec(readFileSync(own, 'utf8')) ?? []
    expect(await runs(change)).toContain('Succeeded')
    expect(await stages()).toBe('test Succeeded, pre Succeeded, prod Succeeded, ')
    const versions = await runs(`kubectl --kubeconfig ${own} get machinecomponents -o name`)
    expect(versions).toContain('machinecomponent.kubenode.io/beacon.1.1.0')
    // Beside the agents of its nodes nothing runs for it alone.
    expect(leftOf('pre').length).toBeGreaterThanOrEqual(4)
    await runs(takeOut)
    const asks = (await fleet.run('bin/kubenode local status || true')).out
    // They are counted a minute after it first answers.
    expect(asks).toMatch(/high-risk: deletion of cluster pre with (2 machines|machines that are not counted)/)
    expect(leftOf('pre').length).toBeGreaterThanOrEqual(4)
    await runs(approve)
    expect(leftOf('pre')).toEqual([])
    expect((await fleet.run(`! (exec 3<>/dev/tcp/127.0.0.1/${port}) 2> /dev/null`)).code).toBe(0)
    const objects = `kubectl --kubeconfig ${fleet.kubeconfig('hub')} get secrets,clusters -A -o name`
    expect(await runs(objects)).not.toContain('pre')
    expect(await stages()).toBe('test Succeeded, pre Succeeded, prod Succeeded, ')
  },
  2 * PATIENCE_MS,
)

test(
  'a cluster that exists already is registered with one command and declared by one commit',
  async () => {
    terminal(printed[0])
    const own = join(fleet.checkout, '.pre/admin.kubeconfig')
    await until('the third cluster', () => existsSync(own) || undefined, PATIENCE_MS)
    await runs(install)
    terminal(printed[1])
    await runs(register)
    await runs(name)
    expect(await stages()).toBe('test Succeeded, pre Succeeded, prod Succeeded, ')
    const versions = await runs(`kubectl --kubeconfig ${own} get machinecomponents -o name`)
    // The Defender there may do its work: only it writes the ledger.
    const ledger = `kubectl --kubeconfig ${own} get defenderledgers.kubenode.io cluster -o name`
    await until('the ledger of its Defender', async () => (await fleet.run(ledger)).code === 0, PATIENCE_MS)
    await runs(leave)
    expect(await stages()).toBe('test Succeeded, pre Succeeded, prod Succeeded, ')
    const left = await runs(`kubectl --kubeconfig ${own} get machinecomponents -o name`)
    expect(left).toBe(versions)
  },
  2 * PATIENCE_MS,
)

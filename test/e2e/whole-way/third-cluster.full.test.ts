// The page "Add a cluster", run as printed: a stage between two others that is registered by its kubeconfig and declared by one commit.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '#test/support/tools/processes.ts'
import { shellBlocks } from '#test/support/tools/readme.ts'
import { PATIENCE_MS, TestFleet } from './fleet.ts'

const [install = '', register = '', declare = '', change = '', takeOut = ''] = shellBlocks('docs/how-to/new-cluster.md')
let fleet: TestFleet
const page = readFileSync(join(import.meta.dirname, '../../../docs/how-to/new-cluster.md'), 'utf8')
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

test(
  'a third cluster is registered with one command and declared by one commit, and changes pass through it',
  async () => {
    expect(await stages()).toBe('test Succeeded, pre Skipped, prod Succeeded, ')
    terminal(printed[0])
    const own = join(fleet.checkout, '.pre/admin.kubeconfig')
    await until('the third cluster', () => existsSync(own) || undefined, PATIENCE_MS)
    await runs(install)
    terminal(printed[1])
    await runs(register)
    await runs(declare)
    expect(await stages()).toBe('test Succeeded, pre Succeeded, prod Succeeded, ')
    expect(await runs(change)).toContain('Succeeded')
    expect(await stages()).toBe('test Succeeded, pre Succeeded, prod Succeeded, ')
    const versions = await runs(`kubectl --kubeconfig ${own} get machinecomponents -o name`)
    expect(versions).toContain('machinecomponent.kubenode.io/beacon.1.1.0')
    // The Defender there may do its work: only it writes the ledger.
    const ledger = `kubectl --kubeconfig ${own} get defenderledgers.kubenode.io cluster -o name`
    expect(await runs(ledger)).toContain('defenderledger')
    await runs(takeOut)
    expect(await stages()).toBe('test Succeeded, pre Skipped, prod Succeeded, ')
    const left = await runs(`kubectl --kubeconfig ${own} get machinecomponents -o name`)
    expect(left).toBe(versions)
  },
  2 * PATIENCE_MS,
)

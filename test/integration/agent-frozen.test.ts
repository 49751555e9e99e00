// A real agent on a node that a user freezes by a file while the API server is unavailable: nothing is begun, crashed processes restart, and when the file is
// deleted everything resumes by itself.
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { kill } from 'node:process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PARTIAL } from '#agent/files/durable.ts'
import { release } from '#test/doubles/node/release.ts'
import { AgentBench, beaconRelease, eventually } from './agent-bench.ts'
import { whyLines } from '#explain/why.ts'
import { run } from '../../src/cli/program.ts'

const bench = new AgentBench()
const begun = join(bench.folder, 'begun')
const ended = join(bench.folder, 'ended')
let agent: ReturnType<AgentBench['run']>

async function kubenode(...argv: readonly string[]): Promise<string> {
  let out = ''
  const io = {
    out: (t: string) => void (out += t),
    err: () => undefined,
    cwd: bench.folder,
    env: {},
    isTerminal: false,
  }
  expect(await run([...argv, '--node-folder', bench.nodeFolder], io)).toBe(0)
  return out
}

const reaches = (state: string, version: string) =>
  eventually(
    `${version} ${state}`,
    () => bench.component(),
    (c) => c?.state === state && c.version === version,
  )

const frozen = async () => (await bench.machine())?.status?.conditions?.find((c) => c.type === 'Frozen')

/** Undefined while there is none. */
const processOf = (): number | undefined => {
  const path = join(bench.nodeFolder, 'state/components/beacon/process.json')
  if (!existsSync(path)) return undefined
  return (JSON.parse(readFileSync(path, 'utf8')) as { id: { pid: number } }).id.pid
}

/** Requests are cut off, as with a server that stopped; open ones too. */
function setAway(isAway: boolean): void {
  bench.server.interfere = isAway ? (_, response) => (response.destroy(), true) : undefined
  if (isAway) bench.server.dropConnections()
}

beforeAll(async () => {
  await bench.start()
  for (const version of ['1.0.0', '1.1.0']) await bench.publish(beaconRelease(bench.publisher, version))
  await bench.publish(
    release(bench.publisher, {
      component: 'mend',
      version: '1.0.0',
      entries: [
        { name: 'mend', content: `#!/bin/sh\necho x >> ${begun}; sleep 60; echo x >> ${ended}\n`, mode: 0o755 },
      ],
      spec: { type: 'Script', script: { command: ['/opt/mend/mend'], timeout: '2m' } },
    }),
  )
  await bench.order({ version: '1.0.0' })
  bench.writeJoin()
  bench.writeConfig({ metrics: false, lease: '1s' })
  mkdirSync(join(bench.nodeFolder, 'root'), { recursive: true })
  agent = bench.run()
  await reaches('Healthy', '1.0.0')
})

afterAll(() => bench.stop())

test('a frozen node tells it, switches nothing under a granted permit, and goes on when the file is gone', async () => {
  expect(await kubenode('freeze', '--reason', 'a bad release')).toBe(`frozen: ${join(bench.nodeFolder, 'frozen')}\n`)
  const told = await eventually('the condition', frozen, (c) => c?.status === 'True')
  expect([told?.reason, told?.message]).toEqual(['HoldFreeze', expect.stringContaining('a bad release')])
  const machine = await bench.machine()
  if (machine === undefined) throw new Error('there is no Machine')
  expect(whyLines(machine, Date.now()).join('\n')).toMatch(/Frozen is True for .*: HoldFreeze: by .*frozen on the node/)

  await bench.order({ version: '1.1.0', attempt: 2 })
  await bench.permit('p1', 'SwitchComponent', 'Granted')
  await bench.order({ version: '1.1.0', attempt: 2, switch: { attempt: 2, permit: 'p1' } })
  await eventually(
    'the reason to wait',
    () => bench.component(),
    (c) => c?.state === 'Staged' && c.message?.includes('frozen') === true,
  )
  expect(bench.server.requests.filter((r) => r.path.includes('operationpermits/p1'))).toEqual([])

  expect(await kubenode('thaw')).toMatch(/^thawed: /)
  await reaches('Healthy', '1.1.0')
  await eventually('the end of the condition', frozen, (c) => c === undefined)
})

test('S21 with the API server away the file ends a script that runs, lets nothing begin, and does not keep a crash down', async () => {
  await bench.permit('p2', 'RunScript', 'Granted')
  await bench.job('mends', [{ runScript: { component: 'mend', version: '1.0.0' } }], 'p2')
  await bench.listJobs(['mends'])
  await eventually('the script', () => existsSync(begun), Boolean)

  setAway(true)
  await kubenode('freeze', '--reason', 'the hub is away')
  const log = () => bench.logOf(agent)
  await eventually('the freeze', log, (text) => text.includes('node frozen'))
  const before = processOf() ?? 0
  expect(before).toBeGreaterThan(0)
  kill(before, 'SIGKILL')
  await eventually('the component', processOf, (pid) => pid !== undefined && pid !== before)

  const jobs = join(bench.nodeFolder, 'state/jobs')
  const written = (): string =>
    readdirSync(jobs)
      // What is still being written is not on the disk after a kill.
      .filter((f) => !f.endsWith(PARTIAL))
      .map((f) => readFileSync(join(jobs, f), 'utf8'))
      .join('')
  await eventually('the end of the step on the disk', written, (text) => text.includes('"outcome"'))
  // Another agent, still without a server, finds the file.
  agent.kill('SIGKILL')
  await once(agent, 'exit')
  agent = bench.run()
  await eventually('the freeze after a restart', log, (text) => text.includes('node frozen'))
  setAway(false)
  const steps = await eventually(
    'the word of the step',
    () => bench.steps('mends'),
    (s) => s[0]?.outcome !== undefined,
    30_000,
  )
  expect(steps.map((s) => [s.operation, s.outcome])).toEqual([['runScript', 'Failed']])
  expect([existsSync(ended), (await frozen())?.status]).toEqual([false, 'True'])

  await kubenode('thaw')
  await eventually('the end of the condition', frozen, (c) => c === undefined)
})

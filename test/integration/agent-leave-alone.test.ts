// A host that a person hands back although its agent has no identity of its own: a copy of another host, or one whose identity is damaged. Its components leave it,
// and nothing is reported to its cluster.
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { processesOfNode } from '#agent/supervise/mark.ts'
import { AgentBench, beaconRelease, eventually } from './agent-bench.ts'

const bench = new AgentBench()
const identity = join(bench.nodeFolder, 'state/identity/identity.json')
const pids = (): readonly number[] => processesOfNode(bench.nodeFolder).map((p) => p.process.pid)

beforeAll(async () => {
  await bench.start()
  await bench.publish(beaconRelease(bench.publisher, '1.0.0'))
  await bench.order({ version: '1.0.0' })
})
afterAll(() => bench.stop())

/** A host that runs its component, and whose agent was stopped. */
async function managed(): Promise<void> {
  bench.writeJoin()
  const agent = bench.run()
  await eventually(
    '1.0.0',
    () => bench.component(),
    (c) => c?.state === 'Healthy' && pids().length > 0,
  )
  agent.kill('SIGKILL')
  await once(agent, 'exit')
}

test.each([
  [
    'is a copy of another host',
    'KN8005',
    () => {
      const known = JSON.parse(readFileSync(identity, 'utf8')) as object
      writeFileSync(identity, JSON.stringify({ ...known, host: 'machine-id:another' }))
    },
  ],
  ['has a damaged identity', 'KN8008', () => writeFileSync(identity, '{"format":1,"mach')],
  ['lost the folder of its identity', 'KN8008', () => rmSync(join(identity, '..'), { recursive: true })],
])(
  'F47 a host that %s is handed back by a person, and nothing is reported to its cluster',
  async (_, refusal, damage) => {
    await managed()
    damage()
    const refused = bench.run()
    await once(refused, 'exit')
    expect([refused.exitCode, bench.logOf(refused)]).toEqual([78, expect.stringContaining(refusal)])

    writeFileSync(join(bench.nodeFolder, 'leave.json'), '{}\n')
    const before = await bench.machine()
    const leaving = bench.run()
    await once(leaving, 'exit')
    expect(bench.logOf(leaving)).toContain('the agent left its host')
    expect([leaving.exitCode, pids(), existsSync(join(bench.nodeFolder, 'state'))]).toEqual([78, [], false])
    expect(await bench.machine()).toEqual(before)
  },
  90_000,
)

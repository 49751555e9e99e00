// The agent's half of an acceptance: an attempt runs once, its result survives a crash, and an attempt that was cut off is never a pass.
import type { Machine } from '#api/kinds/machine.ts'
import { acceptanceRun } from '#api/protocol/acceptance.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { silentLogger } from '#lib/log.ts'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { expect, test } from 'vitest'
import { acceptanceFile, frozenFile, nodeDir } from '../node-dir.ts'
import { agentErrors } from '../agent-errors.ts'
import type { StepResult } from '../repair/steps.ts'
import { AcceptanceRuns } from './acceptance-runs.ts'

const dir = nodeDir('/node')
const acceptance = { script: { component: 'memtest', version: '1.0.0' }, timeout: '10m', retries: 1 }

function machine(attempt = 1, phase = 'Running'): Machine {
  const record = { run: acceptanceRun(acceptance, 'node-uid', attempt), node: 'node-uid', phase, attempt }
  return { metadata: { name: 'm' }, spec: { acceptance }, status: { acceptance: record } } as unknown as Machine
}

class World {
  readonly clock = new VirtualClock()
  files = new MemoryFiles()
  readonly started: string[] = []
  ends: ((result: StepResult) => void)[] = []
  readonly stopped: string[] = []
  /** While set, no script can be fetched. */
  outage: 'later' | 'never' | undefined

  async agent(): Promise<AcceptanceRuns> {
    // The one before is dead, and its script with it.
    this.ends = []
    const runs = new AcceptanceRuns({
      files: this.files,
      dir,
      clock: this.clock,
      log: silentLogger,
      onChange: () => undefined,
      runScript: async ({ component, version }, signal) => {
        if (this.outage !== undefined)
          throw new KubeNodeError(agentErrors.KN8010({ place: 'x', why: 'down' }), { retry: this.outage })
        this.started.push(`${component} ${version}`)
        signal.addEventListener('abort', () => this.stopped.push(String(signal.reason)))
        return new Promise((resolve) => this.ends.push(resolve))
      },
    })
    await runs.load()
    return runs
  }

  async end(outcome: 'Succeeded' | 'Failed', output: string): Promise<void> {
    for (const end of this.ends.splice(0)) end({ outcome, output })
    await this.clock.advance(10)
  }
}

async function obeyed(world: World, agent: AcceptanceRuns, one: Machine): Promise<void> {
  agent.obey(one)
  await world.clock.advance(10)
}

test('an ordered attempt runs once and is reported with its last lines, without control characters', async () => {
  const world = new World()
  const agent = await world.agent()
  await obeyed(world, agent, machine())
  await obeyed(world, agent, machine())
  expect(agent.report).toEqual({ run: acceptanceRun(acceptance, 'node-uid', 1), startedAt: agent.report?.startedAt })
  await world.end('Failed', `${'noise\n'.repeat(1_000)}\u001b[31m2 bad pages\u001b[0m\u0007\n`)
  await obeyed(world, agent, machine())
  await world.clock.advance(60_000)
  expect([world.started, agent.report?.outcome]).toEqual([['memtest 1.0.0'], 'Failed'])
  expect(agent.report?.output).toBe(`${'noise\n'.repeat(7)}2 bad pages`)
})

test('nothing runs that is not ordered', async () => {
  const world = new World()
  const agent = await world.agent()
  const { spec, status } = machine()
  const other = { ...acceptance, script: { component: 'other', version: '1.0.0' } }
  for (const one of [
    machine(1, 'Waiting'),
    machine(1, 'Passed'),
    machine(1, 'Failed'),
    { spec, status: {} },
    { spec: { acceptance: other }, status },
  ])
    await obeyed(world, agent, one as Machine)
  expect([world.started, agent.report]).toEqual([[], undefined])
})

test('an attempt that the agent did not see end has no result, and the next one runs', async () => {
  const world = new World()
  await obeyed(world, await world.agent(), machine())
  const next = await world.agent()
  await obeyed(world, next, machine())
  expect(next.report).toMatchObject({ outcome: 'Unknown', output: 'the agent was restarted while the script ran' })
  expect(world.started).toHaveLength(1)
  await obeyed(world, next, machine(2))
  expect(world.started).toHaveLength(2)
  await world.end('Succeeded', '')
  const last = await world.agent()
  await obeyed(world, last, machine(2))
  expect([last.report?.outcome, world.started.length]).toEqual(['Succeeded', 2])
})

test('an agent that stops leaves no result behind', async () => {
  const world = new World()
  const agent = await world.agent()
  await obeyed(world, agent, machine())
  const closed = agent.close()
  await world.end('Succeeded', '')
  await closed
  const next = await world.agent()
  await obeyed(world, next, machine())
  expect(next.report?.outcome).toBe('Unknown')
})

test('an attempt that hangs fails at its timeout, whether or not the script can be stopped', async () => {
  const world = new World()
  const agent = await world.agent()
  await obeyed(world, agent, machine())
  await world.clock.advance(10 * 60_000 + 2_000)
  expect(agent.report).toMatchObject({ outcome: 'Failed', output: 'timed out after 10m' })
  expect(world.stopped).toEqual(['Error: timed out after 10m'])
})

test('a short outage before the script starts does not fail the attempt', async () => {
  const world = new World()
  world.outage = 'later'
  const agent = await world.agent()
  await obeyed(world, agent, machine())
  await world.clock.advance(60_000)
  expect([world.started, agent.report?.outcome]).toEqual([[], undefined])
  world.outage = undefined
  await world.clock.advance(10_000)
  await world.end('Succeeded', 'fine')
  expect([world.started.length, agent.report?.outcome]).toEqual([1, 'Succeeded'])
})

test('an outage that lasts until the timeout is named, and a refused script is not fetched again', async () => {
  const world = new World()
  world.outage = 'later'
  const agent = await world.agent()
  await obeyed(world, agent, machine())
  await world.clock.advance(10 * 60_000 + 2_000)
  expect(agent.report).toMatchObject({
    outcome: 'Failed',
    output: expect.stringMatching(/down.*\ntimed out after 10m$/),
  })
  world.outage = 'never'
  await obeyed(world, agent, machine(2))
  expect(agent.report).toMatchObject({ outcome: 'Failed', output: expect.stringMatching(/down[^\n]*$/) })
})

test('an attempt that is ordered while the one before still runs follows it', async () => {
  const world = new World()
  const agent = await world.agent()
  await obeyed(world, agent, machine())
  await obeyed(world, agent, machine(2))
  expect(world.stopped).toEqual(['Error: it is no longer ordered'])
  await world.clock.advance(2_000)
  expect(world.started).toHaveLength(2)
  await world.end('Succeeded', 'fine')
  expect(agent.report).toMatchObject({ run: acceptanceRun(acceptance, 'node-uid', 2), outcome: 'Succeeded' })
})

test('on a frozen node it starts once the node is thawed', async () => {
  const world = new World()
  const agent = await world.agent()
  await world.files.makeFolder('/node')
  const writer = await world.files.create(frozenFile(dir), 0o600)
  await writer.close()
  await obeyed(world, agent, machine())
  await world.clock.advance(10_000)
  expect(world.started).toEqual([])
  await world.files.remove(frozenFile(dir))
  await world.clock.advance(3_000)
  expect(world.started).toHaveLength(1)
})

test('without a journal nothing starts, and it starts once the disk has room', async () => {
  const world = new World()
  const agent = await world.agent()
  const rename = world.files.rename.bind(world.files)
  world.files.rename = async (from, to) => {
    if (to === acceptanceFile(dir)) throw new Error('no space left')
    return rename(from, to)
  }
  await obeyed(world, agent, machine())
  await world.clock.advance(10_000)
  expect([world.started, agent.report]).toEqual([[], undefined])
  world.files.rename = rename
  await world.clock.advance(3_000)
  expect(world.started).toHaveLength(1)
})

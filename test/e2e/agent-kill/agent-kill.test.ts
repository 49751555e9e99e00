// F29: the agent is killed by the kernel at one of its changes of the disk, and again at the next, during install, upgrade and going back. What is found is
// the old version or the new one, and the next agent finishes what was begun.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { processesOfNode } from '#agent/supervise/mark.ts'
import { seededRandom } from '#lib/random.ts'
import { noStrace } from '../../support/strace.ts'
import { AgentBench, beaconRelease, eventually } from '../../integration/agent-bench.ts'

const AGENT = join(import.meta.dirname, '../../../src/cli/agent-main.ts')
const isFull = process.env['KUBENODE_TEST_FULL'] === '1'
const seed = Number(process.env['KUBENODE_SEED'] ?? Date.now() % 1_000_000)
/** In a run that does not try them all. */
const SAMPLES = 3
/** More than any of the stories has; beyond the last one nothing is killed and the loop ends. */
const MOST = 400

/** Every call by which the agent changes a disk, also those that make a change last. */
const CHANGES = [
  'rename',
  'renameat2',
  'unlink',
  'unlinkat',
  'rmdir',
  'mkdir',
  'symlink',
  'fsync',
  'fdatasync',
  'pwrite64',
  'ftruncate',
  'fchmod',
]

const bench = new AgentBench()
const missing = noStrace()
let attempt = 1

const contentInUse = (): string | undefined => {
  const path = join(bench.nodeFolder, 'root/opt/beacon/bin/beacon')
  return existsSync(path) ? /end\('([^']+)'\)/.exec(readFileSync(path, 'utf8'))?.[1] : undefined
}
/** Only those that are components themselves. */
const running = (): readonly string[] =>
  processesOfNode(bench.nodeFolder).flatMap(({ mark, process: p }) => (p.session === p.pid ? [mark.slot] : []))

/** One thread does all the work on files, so the n-th change is the n-th of it. */
function traced(n: number): ChildProcess {
  const inject = `inject=${CHANGES.join(',')}:signal=KILL:when=${n}`
  const strace = ['-D', '-f', '-qq', '-o', '/dev/null', '-e', `trace=${CHANGES.join(',')}`, '-e', inject]
  const child = spawn('strace', [...strace, execPath, AGENT, '--root', bench.nodeFolder], {
    stdio: 'ignore',
    env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
  })
  bench.agents.add(child)
  child.once('exit', () => bench.agents.delete(child))
  return child
}

async function orderSwitch(version: string): Promise<void> {
  attempt++
  await bench.permit(`p${attempt}`, 'SwitchComponent', 'Granted')
  await bench.order({ version, attempt, switch: { attempt, permit: `p${attempt}` } })
}

const isAt = (state: string) => (c: Awaited<ReturnType<AgentBench['component']>>) =>
  c?.attempt === attempt && c.state === state

/** Whether the agent was killed before it came to the end of the story. */
async function killedAt(n: number, state: string): Promise<boolean> {
  const child = traced(n)
  const ended = once(child, 'exit').then(() => true)
  const settled = eventually('the end of the story', () => bench.component(), isAt(state), 40_000).then(
    () => false,
    () => false,
  )
  const wasKilled = await Promise.race([ended, settled])
  if (!wasKilled) {
    child.kill('SIGKILL')
    await ended
  }
  return wasKilled
}

async function finish(state: string): Promise<void> {
  const agent = bench.run()
  try {
    await eventually('the end of the story', () => bench.component(), isAt(state), 30_000)
  } catch (e) {
    throw new Error(bench.logOf(agent), { cause: e })
  }
  agent.kill('SIGKILL')
  await once(agent, 'exit')
}

beforeAll(async () => {
  if (missing !== undefined) return
  await bench.start()
  for (const [version, status] of [
    ['1.0.0', 200],
    ['1.1.0', 200],
    ['1.2.0', 500],
  ] as const)
    await bench.publish(beaconRelease(bench.publisher, version, status))
  await bench.order({ version: '1.0.0' })
  bench.writeJoin()
  bench.writeConfig({ lease: '10s' })
  await finish('Healthy')
}, 60_000)

afterAll(async () => {
  if (missing === undefined) await bench.stop()
}, 60_000)

beforeEach((context) => {
  if (missing !== undefined) context.skip(missing)
})

/** All of them, or a few by the seed. */
function* kills(): Generator<number> {
  const random = seededRandom(seed)
  if (isFull) for (let n = 1; n < MOST; n++) yield n
  else for (let k = 0; k < SAMPLES; k++) yield 1 + Math.floor(random.next() * 45)
}

test.each([
  ['an upgrade', 'Healthy'],
  ['an upgrade that goes back', 'RolledBack'],
] as const)(
  `F29 killed at any change of the disk during %s, the old version or the new one is found, and the next agent finishes (seed ${seed})`,
  async (_what, state) => {
    let killed = 0
    for (const n of kills()) {
      const before = contentInUse() ?? ''
      const goal = state === 'RolledBack' ? '1.2.0' : before === '1.0.0' ? '1.1.0' : '1.0.0'
      await orderSwitch(goal)
      const wasKilled = await killedAt(n, state)
      expect([before, goal], `killed at change ${n}`).toContain(contentInUse())
      expect(running().length, `killed at change ${n}`).toBeLessThanOrEqual(1)
      await finish(state)
      expect([n, contentInUse(), running().length]).toEqual([n, state === 'RolledBack' ? before : goal, 1])
      if (wasKilled) killed++
      else if (isFull) break
    }
    expect(killed).toBeGreaterThan(0)
  },
  isFull ? 3_000_000 : 150_000,
)

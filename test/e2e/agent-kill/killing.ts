// Agents that the kernel kills at the n-th of their changes of the disk, and what may be found on the node afterwards.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { processesOfNode } from '#agent/supervise/mark.ts'
import { seededRandom } from '#lib/random.ts'
import { AgentBench, eventually } from '../../integration/agent-bench.ts'
import { inFull, isFull } from '#test/support/tools/full.ts'
import { testSeed } from '#test/support/tools/seed.ts'

const AGENT = join(import.meta.dirname, '../../../src/cli/agent-main.ts')
export const seed = testSeed
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

/** Each n up to beyond the end, or in a quick run one by the seed in each of `samples` equal parts of the first `among`: the first part is never beyond it. */
export function* kills(samples: number, among: number): Generator<number> {
  const random = seededRandom(seed)
  if (isFull) for (let n = 1; n < MOST; n++) yield n
  else for (let k = 0; k < samples; k++) yield 1 + Math.floor(((k + random.next()) * among) / samples)
}

/** Arguments of strace before the program to kill at its n-th change. One thread does all the work on files, so the n-th change is the n-th of it. */
export const killing = (n: number): readonly string[] => [
  '-D',
  '-f',
  '-qq',
  '-o',
  '/dev/null',
  '-e',
  `trace=${CHANGES.join(',')}`,
  '-e',
  `inject=${CHANGES.join(',')}:signal=KILL:when=${n}`,
]

/** Time for the rest of such a test. */
export const timeoutMs = inFull(3_000_000, 150_000)

export class KillBench extends AgentBench {
  contentInUse(): string | undefined {
    const path = join(this.nodeFolder, 'root/opt/beacon/bin/beacon')
    return existsSync(path) ? /end\('([^']+)'\)/.exec(readFileSync(path, 'utf8'))?.[1] : undefined
  }

  /** Slots of running components; only those that are components themselves. */
  running(): readonly string[] {
    return processesOfNode(this.nodeFolder).flatMap(({ mark, process: p }) => (p.session === p.pid ? [mark.slot] : []))
  }

  /** Whether the agent was killed at its n-th change before the story came to its end. */
  async killedAt(n: number, isOver: () => Promise<boolean>): Promise<boolean> {
    const child = this.#traced(n)
    const ended = once(child, 'exit').then(() => true)
    const settled = eventually('the end of the story', isOver, Boolean, 40_000).then(
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

  /** The next agent, which is not killed, until the scenario is over. */
  async finish(isOver: () => Promise<boolean>): Promise<void> {
    const agent = this.run()
    try {
      await eventually('the end of the story', isOver, Boolean)
    } catch (e) {
      throw new Error(this.logOf(agent), { cause: e })
    }
    agent.kill('SIGKILL')
    await once(agent, 'exit')
  }

  #traced(n: number): ChildProcess {
    const child = spawn('strace', [...killing(n), execPath, AGENT, '--root', this.nodeFolder], {
      stdio: 'ignore',
      env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
    })
    this.agents.add(child)
    child.once('exit', () => this.agents.delete(child))
    return child
  }
}

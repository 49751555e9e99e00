// F29: the kernel kills the agent at one of its disk changes while it runs a step of a repair. The step ends with its true outcome, a step
// that may do harm is not repeated, and only its target is touched.
import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { noStrace } from '#test/support/faults/strace.ts'
import { beaconRelease } from '../../integration/agent-bench.ts'
import { KillBench, kills, seed, timeoutMs } from './killing.ts'
import { isFull } from '#test/support/tools/full.ts'

const SAMPLES = 2
const VERSION = '1.0.0'
/** What an agent does at its start comes before the step. A restart has some thirteen changes, and only one of them is tried: it must be one that comes. */
const AMONG = { clean: 20, reinstall: 45, restart: 10 }
const OLD = new Date(Date.now() - 30 * 86_400_000)
const OLD_FILES = 12
/** More than this no step may ask for. */
const MOST_FREE = 90
/** More often than so a step that does no harm twice is not begun. */
const MAX_ATTEMPTS = 3

const bench = new KillBench()
const missing = noStrace()
const root = join(bench.nodeFolder, 'root')
let jobs = 0

beforeAll(async () => {
  if (missing !== undefined) return
  await bench.start()
  await bench.publish(beaconRelease(bench.publisher, VERSION))
  await bench.order({ version: VERSION })
  bench.writeJoin()
  bench.writeConfig({ lease: '10s' })
  await bench.finish(async () => (await bench.component())?.state === 'Healthy')
})

afterAll(async () => {
  if (missing === undefined) await bench.stop()
})

beforeEach((context) => {
  if (missing !== undefined) context.skip(missing)
})

async function askFor(disruption: string, operation: unknown): Promise<string> {
  jobs++
  const name = `job-${jobs}`
  await bench.permit(name, disruption, 'Granted')
  await bench.job(name, [operation], name)
  await bench.listJobs([name])
  return name
}

const stepOf = async (job: string) => (await bench.steps(job))[0]
const endOf = (job: string) => async (): Promise<boolean> => {
  const outcome = (await stepOf(job))?.outcome
  return outcome !== undefined && outcome !== 'Unknown'
}

test(
  `F29 killed at any change of the disk while a disk is cleaned, only old files of the listed folder are gone, and the next agent finishes (seed ${seed})`,
  async (context) => {
    const { bavail, blocks } = statfsSync(bench.folder)
    if (bavail / blocks >= MOST_FREE / 100) context.skip('the disk is emptier than any step asks for')
    const [folder, outside] = [join(root, 'var/cache/c'), join(root, 'var/lib/c')]
    let killed = 0
    for (const n of kills(SAMPLES, AMONG.clean)) {
      rmSync(folder, { recursive: true, force: true })
      for (const place of [folder, outside]) {
        mkdirSync(place, { recursive: true })
        for (let f = 0; f < OLD_FILES; f++) {
          writeFileSync(join(place, `old-${f}`), 'x')
          utimesSync(join(place, `old-${f}`), OLD, OLD)
        }
      }
      writeFileSync(join(folder, 'young'), 'x')
      // So much is not free on this disk: all old files are to go, and the step says that it was not enough.
      const job = await askFor('CleanDisk', {
        cleanDisk: { paths: ['/var/cache'], olderThan: '168h', untilFree: MOST_FREE },
      })
      const wasKilled = await bench.killedAt(n, endOf(job))
      expect(existsSync(join(folder, 'young')), `killed at change ${n}`).toBe(true)
      expect(readdirSync(outside).length, `killed at change ${n}`).toBe(OLD_FILES)
      await bench.finish(endOf(job))
      const step = await stepOf(job)
      expect([n, readdirSync(folder), step?.outcome, readdirSync(outside).length]).toEqual([
        n,
        ['young'],
        'Failed',
        OLD_FILES,
      ])
      expect(step?.attempts).toBeLessThanOrEqual(MAX_ATTEMPTS)
      if (wasKilled) killed++
      else if (isFull) break
    }
    expect(killed).toBeGreaterThan(0)
  },
  timeoutMs,
)

test.each([
  ['installed', 'ReinstallComponent', { reinstallComponent: { component: 'beacon' } }, AMONG.reinstall],
  ['started', 'RestartComponent', { restartComponent: { component: 'beacon' } }, AMONG.restart],
] as const)(
  `F29 killed at any change of the disk while a component is %s again, it is whole and runs once, and the step is not begun twice (seed ${seed})`,
  async (_what, operation, step, among) => {
    let killed = 0
    for (const n of kills(operation === 'RestartComponent' ? 1 : SAMPLES, among)) {
      const job = await askFor(operation, step)
      const hasEnd = async (): Promise<boolean> => (await stepOf(job))?.outcome !== undefined
      const wasKilled = await bench.killedAt(n, hasEnd)
      expect([VERSION], `killed at change ${n}`).toContain(bench.contentInUse())
      expect(bench.running().length, `killed at change ${n}`).toBeLessThanOrEqual(1)
      await bench.finish(
        async () => (await hasEnd()) && (await bench.component())?.state === 'Healthy' && bench.running().length === 1,
      )
      const done = await stepOf(job)
      expect([n, bench.contentInUse(), bench.running().length, done?.attempts]).toEqual([n, VERSION, 1, 1])
      expect(wasKilled ? ['Succeeded', 'Unknown'] : ['Succeeded'], `killed at change ${n}`).toContain(done?.outcome)
      if (wasKilled) killed++
      else if (isFull) break
    }
    expect(killed).toBeGreaterThan(0)
  },
  timeoutMs,
)

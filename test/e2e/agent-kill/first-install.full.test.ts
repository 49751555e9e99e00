// F29: the kernel kills the agent at one of its disk changes while it joins and installs for the first time. Afterwards the node has nothing or the
// whole version, and the next agent joins and installs to the end.
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { noStrace } from '#test/support/faults/strace.ts'
import { beaconRelease } from '../../integration/agent-bench.ts'
import { KillBench, kills, seed, timeoutMs } from './killing.ts'

const SAMPLES = 2
const AMONG = 60
const VERSION = '1.0.0'

const bench = new KillBench()
const missing = noStrace()
let attempt = 0

beforeAll(async () => {
  if (missing !== undefined) return
  await bench.start()
  await bench.publish(beaconRelease(bench.publisher, VERSION))
})

afterAll(async () => {
  if (missing === undefined) await bench.stop()
})

beforeEach((context) => {
  if (missing !== undefined) context.skip(missing)
})

/** As a provider that creates the machine again. */
async function freshNode(): Promise<void> {
  await once(bench.run(bench.nodeFolder, '--stop'), 'exit')
  rmSync(bench.nodeFolder, { recursive: true, force: true })
  bench.writeJoin()
  bench.writeConfig({ lease: '10s' })
  attempt++
  await bench.order({ version: VERSION, attempt })
}

const isOver = async (): Promise<boolean> => {
  const found = await bench.component()
  return found?.attempt === attempt && found.state === 'Healthy'
}

test(
  `F29 killed at any change of the disk during a first install, nothing or the whole version is found, and the next agent finishes (seed ${seed})`,
  async () => {
    let killed = 0
    for (const n of kills(SAMPLES, AMONG)) {
      await freshNode()
      const wasKilled = await bench.killedAt(n, isOver)
      expect([undefined, VERSION], `killed at change ${n}`).toContain(bench.contentInUse())
      expect(bench.running().length, `killed at change ${n}`).toBeLessThanOrEqual(1)
      await bench.finish(isOver)
      expect([n, bench.contentInUse(), bench.running().length]).toEqual([n, VERSION, 1])
      if (wasKilled) killed++
      else break
    }
    expect(killed).toBeGreaterThan(0)
  },
  timeoutMs,
)

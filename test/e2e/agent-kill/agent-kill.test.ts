// F29: the kernel kills the agent at one of its disk changes, and again at the next, during upgrade and revert. Afterwards the node has the old
// version or the new one, and the next agent finishes what was begun.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { noStrace } from '#test/support/faults/strace.ts'
import { beaconRelease } from '../../integration/agent-bench.ts'
import { KillBench, kills, seed, timeoutMs } from './killing.ts'
import { isFull } from '#test/support/tools/full.ts'

const SAMPLES = 2
const AMONG = 45

const bench = new KillBench()
const missing = noStrace()
let attempt = 1

async function orderSwitch(version: string): Promise<void> {
  attempt++
  await bench.permit(`p${attempt}`, 'SwitchComponent', 'Granted')
  await bench.order({ version, attempt, switch: { attempt, permit: `p${attempt}` } })
}

const isAt = (state: string) => async (): Promise<boolean> => {
  const found = await bench.component()
  return found?.attempt === attempt && found.state === state
}

beforeAll(async () => {
  if (missing !== undefined) return
  await bench.start()
  await bench.publish(beaconRelease(bench.publisher, '1.0.0'))
  await bench.order({ version: '1.0.0' })
  bench.writeJoin()
  bench.writeConfig({ lease: '10s' })
  await bench.finish(isAt('Healthy'))
})

afterAll(async () => {
  if (missing === undefined) await bench.stop()
})

beforeEach((context) => {
  if (missing !== undefined) context.skip(missing)
})

test.each([
  ['an upgrade', 'Healthy'],
  ['an upgrade that goes back', 'RolledBack'],
] as const)(
  `F29 killed at any change of the disk during %s, the old version or the new one is found, and the next agent finishes (seed ${seed})`,
  async (_what, state) => {
    let killed = 0
    for (const n of kills(SAMPLES, AMONG)) {
      const before = bench.contentInUse() ?? ''
      // Each is another one: what is staged already would be staged without a change.
      const goal = `1.${attempt}.0`
      await bench.publish(beaconRelease(bench.publisher, goal, state === 'RolledBack' ? 500 : 200))
      await orderSwitch(goal)
      const wasKilled = await bench.killedAt(n, isAt(state))
      expect([before, goal], `killed at change ${n}`).toContain(bench.contentInUse())
      expect(bench.running().length, `killed at change ${n}`).toBeLessThanOrEqual(1)
      await bench.finish(isAt(state))
      expect([n, bench.contentInUse(), bench.running().length]).toEqual([n, state === 'RolledBack' ? before : goal, 1])
      if (wasKilled) killed++
      else if (isFull) break
    }
    expect(killed).toBeGreaterThan(0)
  },
  timeoutMs,
)

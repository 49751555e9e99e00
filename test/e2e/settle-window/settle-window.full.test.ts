// F42 with real processes: every component is killed once in every settle window, forward and back, and no good version is blocked; one that ends by itself is.
import { kill } from 'node:process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#lib/system-clock.ts'
import { until } from '../rollout-replay/cluster.ts'
import { SmallFleet, type Version } from './fleet.ts'

const ROLLOUTS = 20
/** Long enough to be met on a busy machine. */
const SETTLE = '8s'
const WITHIN_MS = 250_000
const MACHINES = ['node-1', 'node-2']

const fleet = new SmallFleet(MACHINES, SETTLE)
beforeAll(() => fleet.start(), 120_000)
afterAll(() => fleet.stop(), 120_000)

const ENDS = {
  SIGKILL: 'ended by SIGKILL in its settle window',
  SIGTERM: 'ended by SIGTERM in its settle window',
  'with its agent': 'ended while the agent was not running in its settle window',
} as const
type End = keyof typeof ENDS

function end(how: End, machine: string, component: number): void {
  const agent = how === 'with its agent' ? fleet.agentOf(machine) : undefined
  if (agent !== undefined) kill(agent, 'SIGKILL')
  kill(component, how === 'SIGTERM' ? 'SIGTERM' : 'SIGKILL')
}

/** Ends the component as soon as its switch is open and it runs, and waits until it was started again. */
async function meddle(machine: string, version: Version, how: End): Promise<void> {
  const isProbing = async () => {
    const report = await fleet.report(machine)
    return report?.desired === version && report.state === 'Probing' ? fleet.pidOf(machine, version) : undefined
  }
  const pid = await until(`${version} in its settle window on ${machine}`, isProbing, (p) => p !== undefined, WITHIN_MS)
  end(how, machine, pid ?? 0)
  await until(
    `${version} started again on ${machine}`,
    async () => (await fleet.report(machine))?.message,
    (m) => m === `${ENDS[how]}; started again, the next end counts`,
    WITHIN_MS,
  )
  expect(fleet.pidOf(machine, version)).not.toBe(pid)
}

const complete = (version: Version) =>
  until(
    `${version} everywhere`,
    fleet.set.bind(fleet),
    (s) => s?.phase === 'Complete' && s.counts?.updated === MACHINES.length,
    WITHIN_MS,
  )

/** Whether the set was ever blocked, to an observer who watches all the time. */
async function blocksSeen(signal: AbortSignal): Promise<readonly string[]> {
  const seen = new Set<string>()
  while (!signal.aborted) {
    for (const b of (await fleet.set())?.revisions?.blocked ?? []) seen.add(b.reason)
    await systemClock.sleep(100)
  }
  return [...seen]
}

test(
  `F42 ${ROLLOUTS} rollouts with every component ended once in its settle window block nothing`,
  async () => {
    await complete('1.0.0')
    const stop = new AbortController()
    const blocks = blocksSeen(stop.signal)
    const hows = Object.keys(ENDS) as readonly End[]
    for (let n = 0; n < ROLLOUTS; n++) {
      const version = n % 2 === 0 ? '1.1.0' : '1.0.0'
      await fleet.declare(version)
      // Each way to end is used in turn.
      await Promise.all(MACHINES.map((m, i) => meddle(m, version, hows[(n * 2 + i) % hows.length] ?? 'SIGKILL')))
      await complete(version)
    }
    stop.abort()
    expect(await blocks).toEqual([])
  },
  ROLLOUTS * 300_000,
)

test('F42 F44 a version that exits by itself goes back at once and blocks; the next commit goes on', async () => {
  await fleet.declare('1.2.0')
  const set = await until('the block', fleet.set.bind(fleet), (s) => s?.phase === 'Blocked', WITHIN_MS)
  expect(set?.revisions?.blocked?.[0]?.reason).toContain('exited with code 3 in its settle window')
  expect(set?.waitingFor?.unblock).toContain('kubenode rollout retry base --reason WHY')
  const version = ROLLOUTS % 2 === 0 ? '1.1.0' : '1.0.0'
  await fleet.declare(version)
  await complete(version)
}, 600_000)

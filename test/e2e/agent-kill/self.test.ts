// F29: the kernel kills the agent at one of its disk changes while it switches to another copy of itself: the old one, which records the copy
// to run, or the new one, which is on trial. In the end the new copy runs, and the agent's components are not touched.
import { existsSync, readFileSync, readlinkSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { machine as machineType } from '#api/kinds/machine.ts'
import { superviseAgent } from '#agent/self/supervisor.ts'
import { AGENT_COMPONENT, agentCurrentLink, agentSlotFolder } from '#agent/self/switch-file.ts'
import { agentRelease } from '#test/doubles/node/release.ts'
import { bundleAgent } from '#agent/join/program-bundle.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { noStrace } from '#test/support/faults/strace.ts'
import { MACHINE, beaconRelease, eventually } from '../../integration/agent-bench.ts'
import { KillBench, killing, kills, seed, timeoutMs } from './killing.ts'
import { inFullAll, isFull } from '#test/support/tools/full.ts'

const ROOT = join(import.meta.dirname, '../../..')
const SAMPLES = 1
/** The switch of the old copy comes after what it does at its start. */
const AMONG = { old: 18, new: 10 }

const bench = new KillBench()
const missing = noStrace()
const state = join(bench.nodeFolder, 'state')
const bundle = join(bench.folder, 'agent')
let attempt = 1

/** Each is another one: what is staged already would be staged without a change. */
function publishAgent(version: string): Promise<void> {
  const program = readFileSync(join(bundle, 'agent.mjs'))
  return bench.publish(
    agentRelease(bench.publisher, version, Buffer.concat([program, Buffer.from(`\n// ${version}\n`)])),
  )
}

async function order(version: string): Promise<void> {
  const own = {
    name: AGENT_COMPONENT,
    version,
    attempt,
    ...(attempt > 1 ? { switch: { attempt, permit: `p${attempt}` } } : {}),
  }
  const object = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: MACHINE },
    spec: { components: [own, { name: 'beacon', version: '1.0.0', attempt: 1 }] },
  }
  await bench.client.apply(machineType, object, { fieldManager: 'kubenode-machine', force: true })
}

/** A supervisor whose `at`-th agent is killed at its n-th change; undefined: none is. Answers what ends it. */
function supervise(victim?: { readonly at: number; readonly n: number }): () => Promise<void> {
  const [starts, node] = [join(bench.folder, 'starts'), join(bench.folder, 'node.sh')]
  rmSync(starts, { force: true })
  const traced =
    victim === undefined
      ? ''
      : `[ $(wc -l < ${starts}) = ${victim.at} ] && exec strace ${killing(victim.n).join(' ')} ${execPath} "$@"\n`
  writeFileSync(
    node,
    `#!/bin/sh\nexec 2>> ${join(bench.folder, 'agents.log')}\necho x >> ${starts}\nexport UV_THREADPOOL_SIZE=1\n${traced}exec ${execPath} "$@"\n`,
    {
      mode: 0o755,
    },
  )
  const stop = new AbortController()
  const options = {
    state,
    node,
    program: join(bundle, 'agent.mjs'),
    args: ['--root', bench.nodeFolder],
    clock: systemClock,
  }
  const ended = superviseAgent({ ...options, log: silentLogger, signal: stop.signal })
  return async () => {
    stop.abort()
    await ended
  }
}

const startsSeen = (): number => readFileSync(join(bench.folder, 'starts'), 'utf8').split('\n').length - 1

/** What runs, and whether it is the very process that ran before. */
const beacon = (): unknown => JSON.parse(readFileSync(join(state, 'components/beacon/process.json'), 'utf8')).id

const runs = (version: string) => async (): Promise<boolean> => {
  const found = await bench.component(AGENT_COMPONENT)
  return found?.attempt === attempt && found.state === 'Healthy' && found.version === version
}

beforeAll(async () => {
  if (missing !== undefined) return
  await bench.start()
  await bundleAgent({ root: ROOT, out: bundle, prefix: '/opt/kubenode' })
  await bench.publish(beaconRelease(bench.publisher, '1.0.0'))
  await publishAgent('1.0.0')
  await order('1.0.0')
  bench.writeJoin()
  bench.writeConfig({ lease: '10s' })
  const end = supervise()
  await eventually('the first copy', runs('1.0.0'), Boolean, 40_000)
  await eventually('the beacon', async () => (await bench.component())?.state === 'Healthy', Boolean, 40_000)
  await end()
})

afterAll(async () => {
  if (missing === undefined) await bench.stop()
})

beforeEach((context) => {
  if (missing !== undefined) context.skip(missing)
})

const COPIES = [
  ['old', 1],
  ['new', 2],
] as const
test.each(inFullAll(COPIES, 2))(
  `F29 killed at any change of the disk, the %s one of two copies of the agent is followed by the new one, and what runs is not touched (seed ${seed})`,
  async (which, at) => {
    let killed = 0
    for (const n of kills(SAMPLES, AMONG[which])) {
      attempt++
      const goal = `1.${attempt}.0`
      await publishAgent(goal)
      await bench.permit(`p${attempt}`, 'SwitchComponent', 'Granted')
      await order(goal)
      const before = beacon()
      const end = supervise({ at, n })
      try {
        await eventually(`${goal} after a kill at change ${n}`, runs(goal), Boolean, 60_000)
      } finally {
        await end()
      }
      const slot = readlinkSync(agentCurrentLink(state)).split('/').at(-1) ?? ''
      expect(readFileSync(join(agentSlotFolder(state, slot), 'tree/agent.mjs'), 'utf8')).toContain(`// ${goal}\n`)
      expect([n, beacon(), existsSync(realpathSync(agentCurrentLink(state)))]).toEqual([n, before, true])
      // Without a kill two copies run one after the other.
      if (startsSeen() > 2) killed++
      else if (isFull) break
    }
    expect(killed).toBeGreaterThan(0)
  },
  timeoutMs,
)

// Seeds of the simulator once more with real processes: the embedded server, controllers that are killed on the way, the Defender, and hollow agents over
// HTTPS. What comes of each story must be what came of it in the simulator.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ComponentCanary, componentCanary } from '#api/kinds/component-canary.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { HollowFleet } from '#agent/hollow/fleet.ts'
import { createInformer } from '#kube/informer.ts'
import { canonicalJson } from '#lib/json.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { simulate } from '../../sim/harness.ts'
import { BAD, GOOD } from '#test/support/fleets/rollout-fleet.ts'
import { Agents, SET, SMALL_SCALE, definition, faultsOf } from '../../sim/rollout/fleet.ts'
import { outcomeOf, rolloutSimulation } from '../../sim/rollout/simulation.ts'
import { type Story, stories } from '../../sim/rollout/stories.ts'
import { ProcessCluster, until } from './cluster.ts'
import { RealStage } from './real-stage.ts'

const SEEDS = 20
const replayed = stories.filter((s) => s.simulatedOnly === undefined)
const storyOf = (seed: number): Story => replayed[seed % replayed.length] as Story
/** The longest story heals its agents after a hundred seconds; a busy machine takes its time for the rest. */
const PHASE_MS = 200_000
const KILLS_MS = [9_000, 22_000]

type Simulated = Awaited<ReturnType<typeof simulate>>

const cluster = new ProcessCluster()
const stop = new AbortController()
const own = { clock: systemClock, random: systemRandom, log: silentLogger }

beforeAll(async () => {
  for (const { name, simulatedOnly } of stories)
    if (simulatedOnly !== undefined) console.log(`not replayed: ${name}: ${simulatedOnly}`)
  await cluster.start()
  const { client } = cluster
  for (const version of [...GOOD, BAD]) await client.create(machineComponent, definition(version))
  await client.create(defenderPolicy, {
    apiVersion: API_GROUP_VERSION,
    kind: 'DefenderPolicy',
    metadata: { name: 'open' },
    spec: {
      budgets: [{ max: SEEDS * SMALL_SCALE.limit, of: 'concurrent', per: 'cluster' }],
      rates: [{ window: '1m', max: 10_000, per: 'cluster' }],
      // Scenarios with bad versions run in parallel and must not stop the others.
      breaker: { failures: 1_000, of: 1_000, window: '10m', halfOpenAfter: '30s', widen: 3 },
      mode: 'Enforce',
    },
  } as never)
  cluster.run('controllers')
  cluster.run('defender')
})

afterAll(async () => {
  stop.abort()
  await cluster.stop()
})

test(`F1 F18 ${SEEDS} seeds end with real processes as they end in the simulator, though the controllers are killed twice`, async () => {
  const { client } = cluster
  // First: the simulator takes its turns whole, and agents in this process would fall silent meanwhile.
  const simulated = new Map<number, Simulated>()
  for (let seed = 1; seed <= SEEDS; seed++)
    simulated.set(seed, await simulate(rolloutSimulation(storyOf(seed), {}, SMALL_SCALE), seed))
  const stages = new Map<string, Agents>()
  const agentsOf = (machine: string) => stages.get(machine.slice(0, machine.indexOf('-') + 1))
  const bare = (machine: string) => machine.slice(machine.indexOf('-') + 1)
  const fleet = new HollowFleet({
    client,
    ...own,
    version: '0.0.0',
    leaseMs: 10_000,
    registerNodes: false,
    faults: {
      behavior: (_, __, version) => (version === BAD ? 'ProbeFails' : 'Works'),
      stageMs: (m, c, v) => (agentsOf(m) === undefined ? 0 : faultsOf(agentsOf(m) as Agents).stageMs(bare(m), c, v)),
      report: (m, truth) =>
        agentsOf(m) === undefined ? truth : faultsOf(agentsOf(m) as Agents).report(bare(m), truth),
    },
  })
  const machines = createInformer({ client, ...own, type: machineType, startSpreadMs: 0 })
  machines.addHandler((before, now) => {
    if (now === undefined) void fleet.remove(before?.metadata.name ?? '')
  })
  void fleet.run(stop.signal)
  void machines.run(stop.signal)
  await machines.synced()
  for (const ms of KILLS_MS)
    systemClock.after(ms, () => {
      if (!stop.signal.aborted) void cluster.kill('controllers').then(() => cluster.run('controllers'))
    })

  const replay = async (seed: number, simulated: Simulated): Promise<string | undefined> => {
    const story = storyOf(seed)
    if (simulated.violations.length > 0)
      return `seed ${seed} fails in the simulator: ${simulated.violations[0]?.message}`
    const agents = new Agents(SMALL_SCALE)
    const stage = new RealStage({ seed, client, machines, fleet, agents })
    stages.set(stage.prefix, agents)
    for (const [n, { name, act }] of story.phases(() => agents).entries()) {
      act(stage, stage)
      const expected = canonicalJson((simulated.states[n] as { readonly outcome: unknown }).outcome)
      try {
        // What the story still has in store is no outcome yet.
        const seen = async () => (stage.isQuiet ? outcomeSeen(stage.prefix) : 'the story goes on')
        await until(`${story.name}, phase ${name} of seed ${seed}: ${expected}`, seen, (s) => s === expected, PHASE_MS)
      } catch (e) {
        return `${String(e)}\n${await leavingOf(stage.prefix)}`
      }
      await stage.settled()
    }
    return undefined
  }
  /** What machines that are being deleted wait for. */
  const leavingOf = async (prefix: string): Promise<string> => {
    const leaving = machines.store
      .list()
      .filter((m) => m.metadata.deletionTimestamp && m.metadata.name?.startsWith(prefix))
    const permits = await client.list(operationPermit)
    const of = (name = '') => permits.items.filter((p) => p.spec.targets.some((t) => t.name === name))
    return leaving
      .map(({ metadata, status }) => JSON.stringify([metadata, status?.waitingFor, of(metadata.name)]))
      .join('\n')
  }
  const outcomeSeen = async (prefix: string): Promise<string> => {
    const isOurs = (o: { readonly metadata: { readonly name?: string } }) =>
      o.metadata.name?.startsWith(prefix) === true
    const set = await client.get(machineComponentSet, { name: prefix + SET })
    const canaries = (await client.list<ComponentCanary>(componentCanary)).items.filter(isOurs)
    return canonicalJson(outcomeOf(set, machines.store.list().filter(isOurs), canaries))
  }
  const failures = await Promise.all([...simulated].map(([seed, run]) => replay(seed, run)))
  expect(failures.filter((f) => f !== undefined)).toEqual([])
}, 800_000)

// The life of short-lived Clusters: announced, extended, stopped at the end while git declares them, brought back by a longer time, and deleted. The host of control
// planes outlives the controller, which may die around any write.
import { cluster as clusterType, type Cluster } from '#api/kinds/cluster.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { operationPermit, type OperationPermit } from '#api/kinds/operation-permit.ts'
import { KINDS } from '#api/kinds.ts'
import { ANNOTATIONS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { clusterModule, type ClusterContext } from '#controllers/cluster/reconcile.ts'
import { addonsOf } from '#controllers/cluster/addons/built-in.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { createInformer } from '#kube/informer.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { timestamp } from '#lib/clock.ts'
import { seededRandom } from '#lib/random.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import type { FakeKind } from '#test/doubles/kube/kinds.ts'
import { MemoryPlanes, planePair } from '#test/doubles/memory-planes.ts'
import { VIRTUAL_EPOCH_MS, VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { Phase, Simulation } from '../harness.ts'
import type { Actor } from '../process.ts'
import { ALL_FAULTS, type FaultKind } from '../sim-faults.ts'
import type { World } from '../world.ts'

const secrets = coreKind('Secret')
const ownKinds: readonly FakeKind[] = KINDS.map((type) => ({
  type,
  schema: type.schema,
  status: type.definition.status !== undefined,
}))
const kinds: readonly FakeKind[] = [...ownKinds, { type: secrets }]

const KEPT = 'kept'
const LOST = 'lost'
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Longer than the look of a controller that waits. */
const QUIET_MS = 90_000
const key = (name: string) => ({ namespace: SYSTEM_NAMESPACE, name })

/** Of one run. */
interface Story {
  planes: MemoryPlanes
  /** The phase is not over before. */
  until: number
  /** Git declares it. */
  isDeclared: boolean
  harmed: string[]
}

export interface ClusterScenario {
  readonly faults?: readonly FaultKind[]
  readonly module?: typeof clusterModule
}

/** A time to live is wall time: when the clock of the world jumps by a day, the day is over for everyone. */
const FAULTS = ALL_FAULTS.filter((fault) => fault !== 'WallJump')

export function clusterSimulation({ faults = FAULTS, module = clusterModule }: ClusterScenario = {}): Simulation {
  const story = newStory()
  return {
    kinds,
    actors: () => {
      Object.assign(story, newStory())
      return [controller(story, module), defender]
    },
    phases: phasesOf(story),
    invariants: {
      'what lives is not taken away': (_, world) => {
        const [first] = story.harmed.splice(0)
        return first === undefined ? undefined : `${first} at ${timestamp(world.clock.now())}`
      },
      'git alone takes away what git declares': (commit) =>
        commit.type === 'DELETED' && commit.kind === CLUSTERS && commit.key.endsWith(`/${KEPT}`) && story.isDeclared
          ? `${KEPT} was deleted`
          : undefined,
    },
    faults,
    faultyMs: 20_000,
    quietMs: QUIET_MS,
    settleMs: 4 * HOUR_MS,
    isPending: (world) => world.clock.now() < story.until,
    counted: [CLUSTERS],
    state: (world) => ({ clusters: shown(world), planes: story.planes.shown(), secrets: namesOf(world) }),
  }
}

const CLUSTERS = `${clusterType.group}/${clusterType.plural}`

/** All runs have the same, or no two of them would have the same bytes. */
const PAIR = planePair(VIRTUAL_EPOCH_MS)
const newStory = (): Story => ({ planes: new MemoryPlanes(PAIR), until: 0, isDeclared: true, harmed: [] })

function controller(story: Story, module: typeof clusterModule): Actor {
  return {
    name: 'cluster',
    start: ({ client, cacheClient, clock, random, log, signal }) => {
      const informers = createInformers({ client: cacheClient, clock, random, log })
      const inside = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1), kinds: ownKinds })
      const context: ClusterContext = {
        client,
        informers,
        clock,
        random,
        log,
        metrics: createMetrics(),
        events: { record: () => undefined, flush: async () => undefined },
        hosts: [story.planes],
        connect: () => inside.client({ actor: 'inside' }),
        addons: async () => addonsOf('none', [], []),
      }
      const running = module.setup(context)
      for (const c of running.controllers) c.start()
      for (const part of running.parts ?? []) void part.start(signal)
      informers.start()
    },
  }
}

/** Grants whatever is asked for a second later, and releases what is reported. */
const defender: Actor = {
  name: 'defender',
  isFaulty: false,
  start: ({ client, cacheClient, clock, random, signal }) => {
    const permits = createInformer({ client: cacheClient, type: operationPermit, clock, random })
    const answer = async ({ metadata: { name = '' } }: OperationPermit) => {
      await clock.sleep(1_000)
      const found = await client.get(operationPermit, { name })
      if (found === undefined) return
      const isOver = Object.keys(found.spec.results ?? {}).length > 0
      const phase = isOver ? 'Released' : 'Granted'
      if (found.status?.phase === phase) return
      const verdicts = found.spec.targets.map(({ uid }) => ({ target: uid, gate: 'Ledger', verdict: 'Granted' }))
      const status = { phase, decidedAt: timestamp(clock.now()), granted: verdicts.length, verdicts }
      await outcomeOf(() =>
        client.update(operationPermit, { ...found, status } as OperationPermit, { subresource: 'status' }),
      )
    }
    permits.addHandler((_, now) => void (now !== undefined && answer(now)))
    void permits.run(signal)
  },
}

const find = (world: World, name: string) => world.fake.peek(clusterType, key(name)) as Cluster | undefined

const shown = (world: World) =>
  (world.fake.all(clusterType) as readonly Cluster[]).map(({ metadata, status }) => ({
    name: metadata.name,
    finalizers: metadata.finalizers ?? [],
    phase: status?.phase,
    waits: status?.waitingFor?.predicate,
    conditions: (status?.conditions ?? []).map(({ type, reason }) => `${type} ${reason}`),
  }))

const namesOf = (world: World) => world.fake.all(secrets).map(({ metadata }) => metadata.name)

function declare(world: World, name: string, isFromGit: boolean): void {
  world.fake.plant(clusterType, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Cluster',
    metadata: { ...key(name), ...(isFromGit && { annotations: { [ANNOTATIONS.source]: 'kubenode-system/fleet' } }) },
    spec: { version: '1.36.0', controlPlane: { flavor: 'embedded' }, deletionPolicy: 'Delete', ttl: '1h' },
  })
}

/** What a person reads of the declaration: the time of its creation, and of the holds. */
function livesUntil(world: World, id: string): number {
  const name = id.slice(SYSTEM_NAMESPACE.length + 1)
  const found = find(world, name)
  if (found === undefined || found.metadata.deletionTimestamp !== undefined) return 0
  const hours = Number.parseInt(found.spec.ttl ?? '0', 10)
  const own = Date.parse(found.metadata.creationTimestamp ?? '') + hours * HOUR_MS
  const holds = world.fake.all(operationalHold) as readonly OperationalHold[]
  return Math.max(own, ...holds.filter((h) => h.spec.target.name === name).map((h) => Date.parse(h.spec.until)))
}

const phasesOf = (story: Story): readonly Phase[] => {
  const passes = (ms: number) => (world: World) => void (story.until = world.clock.now() + ms)
  const begin = (world: World): void => {
    story.planes.onHarm = (what, id) => {
      const until = livesUntil(world, id)
      if (world.clock.now() < until) story.harmed.push(`${what} of ${id}, which lives until ${timestamp(until)}`)
    }
    declare(world, KEPT, true)
    declare(world, LOST, false)
  }
  const setTtl = (ttl: string) => (world: World) => void world.fake.poke(clusterType, key(KEPT), { spec: { ttl } })
  return [
    { name: 'both are declared for an hour', act: begin },
    { name: 'the end comes near', act: passes(50 * MINUTE_MS) },
    {
      name: 'one is extended by two hours',
      act: (world) =>
        void world.fake.plant(operationalHold, {
          apiVersion: 'kubenode.io/v1alpha1',
          kind: 'OperationalHold',
          metadata: { name: 'longer' },
          spec: {
            target: { kind: 'Cluster', ...key(KEPT) },
            effect: 'Extend',
            reason: 'a demo',
            author: 'ada',
            until: timestamp(world.clock.now() + 2 * HOUR_MS),
          },
        }),
    },
    { name: 'the hour is over', act: passes(HOUR_MS) },
    { name: 'the extension is over', act: passes(2 * HOUR_MS) },
    { name: 'a commit gives it a longer time', act: setTtl('24h') },
    { name: 'the commit is reverted', act: setTtl('1h') },
    { name: 'and the revert is reverted', act: setTtl('24h') },
    {
      name: 'git declares it no longer',
      act: (world) => {
        story.isDeclared = false
        world.fake.uproot(clusterType, key(KEPT))
      },
    },
    {
      name: 'and declares it again',
      act: (world) => {
        world.fake.uproot(operationalHold, { name: 'longer' })
        declare(world, KEPT, true)
        story.isDeclared = true
      },
    },
    {
      name: 'it ends in its tombstone',
      act: passes(HOUR_MS + MINUTE_MS),
    },
    {
      name: 'a tombstone is deleted too',
      act: (world) => {
        story.isDeclared = false
        world.fake.uproot(clusterType, key(KEPT))
      },
    },
  ]
}

// Two candidates, one ledger. Whatever is paused, cut off or killed: no write of a former leader undoes one of its successor.
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { compareAndSwap } from '#runtime/compare-and-swap.ts'
import { fencedClient } from '#runtime/fenced-client.ts'
import { DEFAULT_LEADER_TIMES, type LeaderContext, LeaderElection } from '#runtime/leader.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { inFull } from '#test/support/tools/full.ts'
import { seeds } from '#test/support/clocks/scheduler.ts'
import { describe, expect, test } from 'vitest'
import { type Invariant, type Simulation, checkSeeds, firstViolation } from './harness.ts'
import type { Actor, SimProcess } from './process.ts'
import { World } from './world.ts'

interface Ledger extends KubeObject {
  readonly data?: { readonly count: string; readonly term: string; readonly by: string }
}

const ledgerType: ResourceType<Ledger> = coreKind('ConfigMap')
const LEDGER = { namespace: 'default', name: 'ledger' }
const LEASE = { namespace: 'kubenode-system', name: 'defender' }
/** So often that a pause has a fair chance to fall between a read and its write. */
const EVERY_MS = 100
const SEEDS = inFull(100, 6)

type Book = (process: SimProcess, term: LeaderContext) => Promise<unknown>

/** One more in the ledger, unless a later term has written there already. */
const book: Book = ({ client, clock, random, name }, term) =>
  compareAndSwap(
    client,
    ledgerType,
    LEDGER,
    (current) => {
      const { count = '0', term: last = '0' } = current?.data ?? {}
      if (Number(last) > term.term) return { kind: 'Refuse', reason: 'a later leader was here' }
      const data = { count: String(Number(count) + 1), term: String(term.term), by: name }
      return { kind: 'Write', object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: LEDGER, ...current, data } }
    },
    { clock, random, mayWrite: term.isLeader, attempts: 2 },
  )

/** The same without looking: reads, and writes what it makes of it over whatever is there by now. */
const bookBlindly: Book = async ({ client, name }, term) => {
  const current = await client.get(ledgerType, LEDGER)
  const data = { count: String(Number(current?.data?.count ?? 0) + 1), term: String(term.term), by: name }
  if (current === undefined)
    return client.create(ledgerType, { apiVersion: 'v1', kind: 'ConfigMap', metadata: LEDGER, data })
  return client.patch(ledgerType, LEDGER, { type: 'merge', value: { data } })
}

function candidate(name: string, write: Book, leading: Map<string, () => boolean>): Actor {
  return {
    name,
    start: (process) => {
      const { client, clock, random, log, life } = process
      const onElected = async (term: LeaderContext) => {
        while (term.isLeader()) {
          await write(process, term).catch(() => undefined)
          await clock.sleep(EVERY_MS)
        }
      }
      const election = new LeaderElection({
        client,
        clock,
        random,
        log,
        lease: LEASE,
        identity: `${name}-${life}`,
        onElected: (term) => void onElected(term),
        onLost: () => undefined,
      })
      leading.set(name, () => election.isLeader())
      election.start()
    },
  }
}

/** Every write of the ledger continues from the one before, and terms never go back. */
const continues: Invariant = ({ kind, object, previous }) => {
  if (kind !== '/configmaps') return undefined
  const now = (object as Ledger).data
  const before = previous === undefined ? undefined : (previous as Ledger).data
  if (Number(now?.count) !== Number(before?.count ?? 0) + 1) return `count ${now?.count} follows ${before?.count}`
  if (Number(now?.term) < Number(before?.term ?? 0)) return `term ${now?.term} follows ${before?.term}`
  return undefined
}

function simulation(write: Book): Simulation {
  const leading = new Map<string, () => boolean>()
  return {
    kinds: [],
    actors: () => ['a', 'b'].map((name) => candidate(name, write, leading)),
    phases: ['first', 'second', 'third'].map((name) => ({ name, act: () => undefined })),
    invariants: { continues },
    faults: ['Pause', 'Partition', 'Crash', 'LostReply', 'Refuse', 'WallJump'],
    faultyMs: 60_000,
    settleMs: 60_000,
    restMs: 10_000,
    heartbeats: ['coordination.k8s.io/leases', '/configmaps'],
    state: (world) => {
      const [last] = world.commits.filter((c) => c.kind === '/configmaps').slice(-1)
      const leaders = [...leading.values()].filter((isLeader) => isLeader()).length
      return { leaders, isAtWork: last?.call !== undefined && leading.get(last.call.actor)?.() === true }
    },
  }
}

describe('F15 two candidates', () => {
  test(`${SEEDS} seeds of pauses, partitions and crashes: one leader in the end, and no booking undone`, async () => {
    await checkSeeds(simulation(book), seeds(SEEDS))
  })

  test('a leader that writes without fence and version is found within 100 seeds', async () => {
    const found = await firstViolation(simulation(bookBlindly), simulation(book), seeds(100))
    expect(found?.violation.oracle).toBe('O3')
  })
})

const nodeType = coreKind('Node')

/** A leader that is stopped between its decision to delete a node and the request's arrival. */
async function pausedInDelete(whileAway: (world: World) => void) {
  const world = new World(1, [])
  const leading = new Map<string, () => boolean>()
  const node = world.fake.plant(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } })
  const outcomes: string[] = []
  const reap: Book = async ({ client, name }, term) => {
    if (name !== 'a' || outcomes.length > 0) return
    outcomes.push('asked')
    const outcome = await deleteExactly(fencedClient(client, term), nodeType, node)
    outcomes.push(outcome.kind)
  }
  world.start(candidate('a', reap, leading))
  await world.scheduler.run({ forMs: 60_000, until: () => outcomes.length > 0 })
  world.pause('a')
  world.start(candidate('b', book, leading))
  await world.scheduler.run({ forMs: 60_000 })
  expect(leading.get('b')?.()).toBe(true)
  whileAway(world)
  world.resume('a')
  await world.scheduler.run({ forMs: 5_000 })
  return { world, outcomes, isLeader: (name: string) => leading.get(name)?.() }
}

describe('F15 an ex-leader that was stopped in the middle of a delete', () => {
  test.each([
    [
      'changed',
      'Conflict',
      (world: World) => void world.fake.poke(nodeType, { name: 'n' }, { metadata: { labels: { by: 'b' } } }),
    ],
    [
      'deleted and made again',
      'Stale',
      (world: World) => {
        world.fake.uproot(nodeType, { name: 'n' })
        world.fake.plant(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } })
      },
    ],
  ])('deletes nothing that was %s meanwhile, and leads no more', async (_, kind, whileAway) => {
    const { world, outcomes, isLeader } = await pausedInDelete(whileAway)
    expect(outcomes).toEqual(['asked', kind])
    expect(world.fake.peek(nodeType, { name: 'n' })).toBeDefined()
    expect([isLeader('a'), isLeader('b')]).toEqual([false, true])
  })
})

/** A client with a limited number of requests in flight, as over a few connections. */
function congested(client: KubeClient, lanes: number, each: () => Promise<void>): KubeClient {
  let free = lanes
  const queue: (() => void)[] = []
  const lane = async <T>(call: () => Promise<T>): Promise<T> => {
    if (free > 0) free--
    else await new Promise<void>((go) => queue.push(go))
    await each()
    try {
      return await call()
    } finally {
      const next = queue.shift()
      if (next === undefined) free++
      else next()
    }
  }
  return {
    ...client,
    get: (type, key, options) => lane(() => client.get(type, key, options)),
    create: (type, object, options) => lane(() => client.create(type, object, options)),
    update: (type, object, options) => lane(() => client.update(type, object, options)),
  }
}

describe('F14 ten thousand queued writes', () => {
  const WRITES = 10_000

  async function storm(share: boolean) {
    const world = new World(1, [])
    const lost: string[] = []
    let left = WRITES
    world.start({
      name: 'a',
      start: ({ client, clock, random, log }) => {
        const busy = congested(client, 4, () => clock.sleep(40))
        const onElected = () => {
          for (let i = 0; i < WRITES; i++) {
            const object = { apiVersion: 'v1', kind: 'Node', metadata: { name: `n${i}` } }
            void busy.create(nodeType, object).then(() => left--)
          }
        }
        const election = new LeaderElection({
          client: share ? busy : client,
          clock,
          random,
          log,
          lease: LEASE,
          identity: 'a',
          onElected,
          onLost: (reason) => lost.push(reason),
        })
        election.start()
      },
    })
    const until = () => left === 0 || lost.length > 0
    await world.scheduler.run({ forMs: 600_000, mostSteps: 1_000_000, until })
    return { lost, left, tookMs: world.clock.monotonic() }
  }

  test('do not starve the renewals of a lease that has a client of its own', async () => {
    const { lost, left, tookMs } = await storm(false)
    expect([lost, left]).toEqual([[], 0])
    expect(tookMs).toBeGreaterThan(5 * DEFAULT_LEADER_TIMES.leaseMs)
  })

  test('would cost a leader its lease that renews through the same queue', async () => {
    expect((await storm(true)).lost).toEqual(['renew deadline exceeded'])
  })
})

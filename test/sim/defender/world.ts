// A cluster whose machines five requesters want to disrupt at once, and two Defenders that both believe to be the leader. The truth that the invariants
// are held against is what the requesters really do and when, by the world's own stopwatch.
import type { DefenderLedger } from '#api/kinds/defender-ledger.ts'
import { defenderLedger } from '#api/kinds/defender-ledger.ts'
import { approval } from '#api/kinds/approval.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { fleetBrake } from '#api/kinds/fleet-brake.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { API_GROUP_VERSION, type ApiKind } from '#api/kind.ts'
import { SYSTEM_NAMESPACE, agentLeaseName } from '#api/names.ts'
import { microTimestamp } from '#lib/clock.ts'
import type { FakeKind } from '#test/doubles/kube/kinds.ts'
import { createCaches } from '#defender/caches.ts'
import { DefenderLoop, type LoopOptions } from '#defender/loop.ts'
import { permitAnswer, renewPermit, reportResults, requestPermit } from '#permits/permits.ts'
import { createInformers } from '#runtime/informers.ts'
import { leaseType } from '#runtime/lease.ts'
import { condition } from '#test/support/fleets/defender-objects.ts'
import { VIRTUAL_EPOCH_MS } from '#test/support/clocks/virtual-clock.ts'
import type { Invariant, Phase, Simulation } from '../harness.ts'
import type { Actor, SimProcess } from '../process.ts'
import type { FaultKind } from '../sim-faults.ts'
import type { World } from '../world.ts'

const KINDS: readonly ApiKind[] = [
  machine,
  defenderPolicy,
  defenderLedger,
  operationPermit,
  maintenanceEvent,
  fleetBrake,
  operationalHold,
  inventory,
  approval,
  machineComponentSet,
  machineComponent,
]

const kinds: readonly FakeKind[] = KINDS.map((kind) => ({
  type: kind,
  schema: kind.schema,
  status: kind.definition.status !== undefined,
}))

const MACHINES = 6
const REQUESTERS = 5
const ITEMS = 2
const MOST_AT_ONCE = 2
const MOST_A_MINUTE = 6
const MINUTE_MS = 60_000

export type DefenderParts = Partial<Pick<LoopOptions, 'decide' | 'swap' | 'serverNow'>>

export function defender(name: string, parts: () => DefenderParts = () => ({})): Actor {
  return {
    name,
    start: ({ client, cacheClient, clock, random, log, signal, life }) => {
      const informers = createInformers({ client: cacheClient, clock, random, log, startSpreadMs: 0 })
      const caches = createCaches(informers, { withClusters: false })
      const loop = new DefenderLoop({
        client,
        caches,
        clock,
        random,
        log,
        identity: `${name}-${life}`,
        cluster: undefined,
        serverNow: () => VIRTUAL_EPOCH_MS + clock.monotonic(),
        ...parts(),
      })
      informers.start()
      void informers.synced(signal).then(() => loop.start())
    },
  }
}

/** What is really being disrupted right now; recorded by the world, which no stale cache can mislead. */
interface Truth {
  readonly working: Map<string, number>
  readonly grantedAt: number[]
  done: number
}

const POLL_MS = 700
const RENEW_MS = 20_000

/** Asks for one machine after the other, and works on it as soon as the permit says so. */
function requester(i: number, truth: Truth): Actor {
  return {
    name: `requester-${i}`,
    isFaulty: false,
    start: (process) => void work(i, truth, process),
  }
}

async function work(i: number, truth: Truth, process: SimProcess): Promise<void> {
  const { clock } = process
  for (let item = 0; item < ITEMS; item++) {
    const name = `m-${(i + item * 2) % MACHINES}`
    for (let attempt = 0; ; attempt++) {
      const permit = `r-${i}-${item}-${attempt}`
      const isFirst = item === 0 && attempt === 0
      const wish = { permit, name, fails: isFirst && i === 0, isSleepy: isFirst && i === 4 }
      const ended = await tryOnce(wish, truth, process)
      if (ended === 'Done') break
      await clock.sleep(POLL_MS)
    }
    truth.done++
  }
}

interface Item {
  readonly permit: string
  readonly name: string
  /** Reports a failure, which opens the breaker. */
  readonly fails: boolean
  /** Works on long after its lease, and renews nothing. */
  readonly isSleepy: boolean
}

async function tryOnce(
  { permit, name, fails, isSleepy }: Item,
  truth: Truth,
  { client, clock, random }: SimProcess,
): Promise<'Done' | 'Again'> {
  const target = await client.get(machine, { name })
  if (target === undefined) return 'Again'
  const uid = target.metadata.uid ?? ''
  const tools = { client, fieldManager: 'kubenode-remedyjob' } as const
  await requestPermit(tools, permit, {
    operations: ['SwitchComponent'],
    component: { name: 'beacon', version: '1.0.0' },
    targets: [{ kind: 'Machine', name, uid }],
    requester: { manager: 'kubenode-componentset', kind: 'MachineComponentSet', name: permit },
    reason: 'simulated',
    // All of them lie: no set goes back to anything here.
    recovery: true,
    leaseSeconds: isSleepy ? 15 : 60,
  })
  const read = () => client.get(operationPermit, { name: permit })
  for (;;) {
    const answer = permitAnswer(await read(), uid)
    if (answer.kind === 'Granted') break
    if (answer.kind !== 'Waiting') return 'Again'
    await clock.sleep(POLL_MS)
  }
  truth.working.set(name, (truth.working.get(name) ?? 0) + 1)
  await setPhase(name, 'Repairing', client)
  const until = clock.monotonic() + (isSleepy ? 60_000 : 2_000 + random.below(6_000))
  while (clock.monotonic() < until) {
    await clock.sleep(Math.min(RENEW_MS, until - clock.monotonic()))
    const now = await read()
    if (now !== undefined && !isSleepy) await renewPermit(tools, now, clock.now())
  }
  const left = (truth.working.get(name) ?? 1) - 1
  truth.working.set(name, left)
  // Two may work on one machine; it is up again when both are done.
  if (left === 0) await setPhase(name, 'Ready', client)
  if (truth.working.get(name) === 0) truth.working.delete(name)
  for (;;) {
    const now = await read()
    if (now === undefined) return 'Done'
    const outcome = await reportResults(tools, now, { [uid]: fails ? 'Failed' : 'Succeeded' })
    if (outcome.kind === 'Applied') return 'Done'
    await clock.sleep(POLL_MS)
  }
}

async function setPhase(name: string, phase: 'Repairing' | 'Ready', client: SimProcess['client']): Promise<void> {
  await client.patch(machine, { name }, { type: 'merge', value: { status: { phase } } }, { subresource: 'status' })
}

/** Heartbeats of all agents. */
const agents: Actor = {
  name: 'agents',
  isFaulty: false,
  start: ({ client, clock }) => {
    const beat = async (): Promise<void> => {
      for (;;) {
        await clock.sleep(10_000)
        for (let i = 0; i < MACHINES; i++) {
          const name = agentLeaseName(`m-${i}`)
          const spec = { holderIdentity: name, renewTime: microTimestamp(clock.now()) }
          const key = { namespace: SYSTEM_NAMESPACE, name }
          const patched = await client.patch(leaseType, key, { type: 'merge', value: { spec } }).then(
            () => true,
            () => false,
          )
          if (!patched)
            await client
              .create(leaseType, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: key, spec })
              .catch(() => undefined)
        }
      }
    }
    void beat()
  },
}

function plantAll(world: World): void {
  for (let i = 0; i < MACHINES; i++) {
    const status: Machine['status'] = {
      phase: 'Ready',
      conditions: [condition('Ready', 'True'), condition('AgentReachable', 'True')],
    }
    world.fake.plant(machine, {
      apiVersion: API_GROUP_VERSION,
      kind: 'Machine',
      metadata: { name: `m-${i}` },
      spec: { channel: 'Agent' },
    })
    world.fake.poke(machine, { name: `m-${i}` }, { status }, 'status')
  }
  world.fake.plant(defenderPolicy, {
    apiVersion: API_GROUP_VERSION,
    kind: 'DefenderPolicy',
    metadata: { name: 'p' },
    spec: {
      budgets: [{ max: MOST_AT_ONCE, of: 'concurrent', per: 'cluster' }],
      rates: [{ window: '1m', max: MOST_A_MINUTE, per: 'cluster' }],
      breaker: { failures: 1, of: 5, window: '1h', halfOpenAfter: '90s', widen: 2 },
      mode: 'Enforce',
    },
  })
}

/** Longer than any wait: a breaker is half open after 90 s, a lease is over after 60 s. */
const QUIET_MS = 100_000

const phases: readonly Phase[] = [{ name: 'work', act: plantAll, counts: 'AtMost' }]

const LEDGERS = 'kubenode.io/defenderledgers'
const PERMITS = 'kubenode.io/operationpermits'

type Grants = NonNullable<DefenderLedger['spec']['grants']>
const slots = (ledger: DefenderLedger | undefined): Grants => ledger?.spec.grants ?? []
const isOpen = (ledger: unknown): boolean =>
  (ledger as DefenderLedger | undefined)?.spec.breakers?.some((b) => b.state === 'Open') === true
const keyOf = (g: Grants[number]): string => `${g.target}\n${g.permitUid}`

function invariants(truth: Truth): Readonly<Record<string, Invariant>> {
  return {
    'at most so many slots': ({ kind, object }) => {
      if (kind !== LEDGERS) return undefined
      const targets = new Set(slots(object as DefenderLedger).map((g) => g.target)).size
      return targets > MOST_AT_ONCE ? `${targets} targets have slots` : undefined
    },
    'at most so many grants in any minute': ({ kind, object, previous }, world) => {
      if (kind !== LEDGERS) return undefined
      const known = new Set(slots(previous as DefenderLedger | undefined).map(keyOf))
      const now = world.clock.monotonic()
      for (const g of slots(object as DefenderLedger)) if (!known.has(keyOf(g))) truth.grantedAt.push(now)
      const within = truth.grantedAt.filter((t) => t > now - MINUTE_MS).length
      return within > MOST_A_MINUTE ? `${within} grants within a minute` : undefined
    },
    'nothing new while the breaker is open': ({ kind, object, previous }) => {
      if (kind !== LEDGERS || !isOpen(previous) || !isOpen(object)) return undefined
      const known = new Set(slots(previous as DefenderLedger).map(keyOf))
      const fresh = slots(object as DefenderLedger).find((g) => !known.has(keyOf(g)))
      return fresh === undefined ? undefined : `${fresh.permit} was granted`
    },
    'at most so many really disrupted': () =>
      truth.working.size > MOST_AT_ONCE ? `${[...truth.working.keys()].join(', ')} are down` : undefined,
    'no permit says more than the ledger': ({ kind, object }, world) => {
      if (kind !== PERMITS) return undefined
      const { metadata, spec, status } = object as OperationPermit
      if (status?.phase !== 'Granted') return undefined
      const ledger = world.fake.peek(defenderLedger, { name: 'cluster' }) as DefenderLedger | undefined
      const held = new Set(
        slots(ledger)
          .filter((g) => g.permitUid === metadata.uid)
          .map((g) => g.target),
      )
      const loose = (status.verdicts ?? []).find(
        (v) => v.verdict === 'Granted' && spec.results?.[v.target] === undefined && !held.has(v.target),
      )
      return loose === undefined ? undefined : `${metadata.name} says Granted, the ledger does not`
    },
  }
}

const DEFENDER_FAULTS: readonly FaultKind[] = [
  'Crash',
  'LostReply',
  'Refuse',
  'Pause',
  'WallJump',
  'Stale',
  'Events',
  'Missed',
]

export function defenderSimulation(parts: () => DefenderParts = () => ({}), faults = DEFENDER_FAULTS): Simulation {
  const truth: Truth = { working: new Map(), grantedAt: [], done: 0 }
  const start = (): readonly Actor[] => {
    truth.working.clear()
    truth.grantedAt.length = 0
    truth.done = 0
    return [
      defender('a', parts),
      defender('b', parts),
      agents,
      ...Array.from({ length: REQUESTERS }, (_, i) => requester(i, truth)),
    ]
  }
  return {
    faults,
    kinds,
    actors: start,
    phases,
    invariants: invariants(truth),
    counted: [],
    faultyMs: 60_000,
    settleMs: 400_000,
    restMs: 60_000,
    quietMs: QUIET_MS,
    heartbeats: ['coordination.k8s.io/leases'],
    state: (world) => ({
      done: truth.done,
      slots: slots(world.fake.peek(defenderLedger, { name: 'cluster' }) as DefenderLedger | undefined).length,
    }),
  }
}

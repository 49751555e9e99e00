// A day of a vendor: events that are announced for a whole rack while a rollout runs, moved, cancelled, missed, unplanned and said by two sources; two host
// doctors that both believe to lead, and the real Defender. What must hold is checked at every write.
import { KINDS } from '#api/kinds.ts'
import { type DefenderLedger, defenderLedger } from '#api/kinds/defender-ledger.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { type MaintenanceEvent, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { SYSTEM_NAMESPACE, agentLeaseName } from '#api/names.ts'
import { act } from '#controllers/hostdoctor/act.ts'
import { plan } from '#controllers/hostdoctor/plan.ts'
import { type DoctorParts, hostDoctorOf } from '#controllers/hostdoctor/reconcile.ts'
import { microTimestamp, timestamp } from '#lib/clock.ts'
import { cordonOwners } from '#nodes/cordon.ts'
import { type Node, nodeType, podType } from '#nodes/objects.ts'
import { permitAnswer, renewPermit, reportResults, requestPermit } from '#permits/permits.ts'
import type { HostMaintenance } from '#providers/port.ts'
import { createInformers } from '#runtime/informers.ts'
import { leaseType } from '#runtime/lease.ts'
import { createMetrics } from '#runtime/metrics.ts'
import type { FakeKind } from '#test/doubles/kube/kinds.ts'
import {
  type Announcements,
  announced,
  maintenanceProvider,
  noAnnouncements,
  say,
} from '#test/doubles/providers/maintenance-double.ts'
import { type DefenderParts, defender } from '../defender/world.ts'
import type { Invariant, Phase, Simulation } from '../harness.ts'
import type { Actor } from '../process.ts'
import type { FaultKind } from '../sim-faults.ts'
import type { World } from '../world.ts'

const kinds: readonly FakeKind[] = KINDS.map((k) => ({
  type: k,
  schema: k.schema,
  status: k.definition.status !== undefined,
}))

const MACHINES = 6
const RACK_SIZE = 3
/** Of a rack, at the same time. */
const MOST_OF_RACK = 1
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const nameOf = (n: number): string => `m-${n}`
const rackOf = (name: string): string => (Number(name.slice(2)) < RACK_SIZE ? 'r1' : 'r2')
const idOf = (n: number): string => `cloud://${nameOf(n)}`

const condition = (world: World, type: string, status: string) => ({
  type,
  status,
  reason: 'Reported',
  message: '',
  lastTransitionTime: timestamp(world.clock.now()),
})

function plantFleet(world: World): void {
  for (let n = 0; n < MACHINES; n++) {
    const name = nameOf(n)
    const node = world.fake.plant(nodeType, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name },
      status: { conditions: [condition(world, 'Ready', 'True')] },
    })
    plantPod(world, name)
    const planted = world.fake.plant(machineType, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name },
      spec: { rack: rackOf(name), pool: 'workers', providerID: idOf(n), provider: { name: 'cloud' } },
    })
    world.fake.poke(
      machineType,
      { name },
      {
        status: {
          phase: 'Ready',
          nodeRef: { name, uid: node.metadata.uid },
          bootID: `${name}-boot-1`,
          conditions: ['Ready', 'AgentReachable'].map((type) => condition(world, type, 'True')),
        },
      },
      'status',
    )
    world.fake.plant(leaseType, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: agentLeaseName(name), namespace: SYSTEM_NAMESPACE },
      spec: { holderIdentity: planted.metadata.uid ?? '', renewTime: microTimestamp(world.clock.now()) },
    })
  }
  world.fake.plant(defenderPolicy, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'DefenderPolicy',
    metadata: { name: 'racks' },
    spec: { budgets: [{ max: MOST_OF_RACK, of: 'concurrent', per: 'rack' }] },
  })
}

const plantPod = (world: World, node: string): void =>
  void world.fake.plant(podType, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `web-${node}`, namespace: 'default' },
    spec: { nodeName: node },
    status: { phase: 'Running' },
  })

interface DoctorStory {
  readonly vendor: Announcements
  /** The second source, which knows of the same events under other names. */
  readonly other: Announcements
}

function doctor(name: string, story: DoctorStory, parts: () => DoctorParts): Actor {
  return {
    name,
    start: ({ client, cacheClient, clock, random, log }) => {
      const informers = createInformers({ client: cacheClient, clock, random, log, startSpreadMs: 0 })
      const running = hostDoctorOf(parts()).setup({
        client,
        informers,
        clock,
        random,
        log,
        metrics: createMetrics(),
        events: { record: () => undefined, flush: async () => undefined },
        config: {
          cluster: 'sim',
          providers: {
            cloud: maintenanceProvider({ clock, name: 'cloud' }, story.vendor),
            other: maintenanceProvider({ clock, name: 'other' }, story.other),
          },
          join: {
            server: 'https://api',
            caData: 'Q0E=',
            artifactBase: 'file:///a/',
            trust: { sequence: 1, threshold: 1, keys: [] },
          },
        },
      })
      for (const part of [...running.controllers, ...(running.parts ?? [])])
        void part.start(new AbortController().signal)
      informers.start()
    },
  }
}

/** A rollout and a repair that want every machine in turn, for as long as they are granted it. */
function worker(kind: 'MachineComponentSet' | 'RemedyOperationJob', everyMs: number): Actor {
  return {
    name: `worker-${kind.toLowerCase()}`,
    isFaulty: false,
    start: ({ client, clock, signal }) => {
      const tools = { client, fieldManager: 'kubenode-remedyjob' } as const
      const once = async (turn: number): Promise<void> => {
        const name = nameOf(turn % MACHINES)
        const target = await client.get(machineType, { name })
        if (target === undefined) return
        const uid = target.metadata.uid ?? ''
        const permit = `${kind.toLowerCase()}-${turn}`
        await requestPermit(tools, permit, {
          operations: [kind === 'RemedyOperationJob' ? 'Reboot' : 'SwitchComponent'],
          targets: [{ kind: 'Machine', name, uid }],
          requester: { manager: 'kubenode-remedyjob', kind, name: permit },
          reason: 'simulated',
          leaseSeconds: 600,
        })
        for (let look = 0; look < LOOKS; look++) {
          await clock.sleep(LOOK_MS, signal)
          const read = await client.get(operationPermit, { name: permit })
          if (read === undefined) return
          const isGranted = permitAnswer(read, uid).kind === 'Granted'
          if (isGranted && look < LOOKS - 1) await renewPermit(tools, read, clock.now())
          if (isGranted || look === LOOKS - 1) {
            await clock.sleep(LOOK_MS, signal)
            const fresh = await client.get(operationPermit, { name: permit })
            if (fresh !== undefined) await reportResults(tools, fresh, { [uid]: isGranted ? 'Succeeded' : 'Released' })
            return
          }
        }
      }
      const run = async (): Promise<void> => {
        for (let turn = 0; turn < MOST_TURNS && !signal.aborted; turn++) {
          await once(turn).catch(() => undefined)
          await clock.sleep(everyMs, signal)
        }
      }
      void run().catch(() => undefined)
    },
  }
}

const LOOK_MS = 2 * MINUTE
const LOOKS = 4
/** They end before the last phase does, so that the world can come to rest. */
const MOST_TURNS = 18

/** What the vendor really does: the host goes, and comes back with another boot. */
function goes(world: World, story: DoctorStory, n: number, event: HostMaintenance): void {
  const name = nameOf(n)
  say(story.vendor, { ...event, state: 'Executing' })
  setReady(world, name, false)
  world.clock.after(10 * MINUTE, () => {
    setReady(world, name, true)
    const now = world.fake.peek(machineType, { name }) as { status?: { bootID?: string } } | undefined
    world.fake.poke(machineType, { name }, { status: { ...now?.status, bootID: `${name}-${event.eventId}` } }, 'status')
    say(story.vendor, { ...event, state: 'Executed' })
    if (world.fake.peek(podType, { name: `web-${name}`, namespace: 'default' }) === undefined) plantPod(world, name)
  })
}

function setReady(world: World, name: string, isReady: boolean): void {
  world.fake.poke(
    nodeType,
    { name },
    { status: { conditions: [condition(world, 'Ready', isReady ? 'True' : 'False')] } },
    'status',
  )
  const machine = world.fake.peek(machineType, { name }) as { status?: object } | undefined
  const conditions = [condition(world, 'Ready', isReady ? 'True' : 'False'), condition(world, 'AgentReachable', 'True')]
  world.fake.poke(
    machineType,
    { name },
    { status: { ...machine?.status, phase: isReady ? 'Ready' : 'NotReady', conditions } },
    'status',
  )
}

const at = (world: World, ms: number): string => timestamp(world.clock.now() + ms)

/** Announced, and done at its time. */
function comes(world: World, story: DoctorStory, n: number, eventId: string, inMs: number): HostMaintenance {
  const event = announced({ eventId, providerID: idOf(n), notBefore: at(world, inMs) })
  say(story.vendor, event)
  world.clock.after(inMs + 5 * MINUTE, () => {
    const said = story.vendor.events.find((e) => e.eventId === eventId)
    if (said?.state === 'Scheduled' && said.notBefore === event.notBefore) goes(world, story, n, event)
  })
  return event
}

const phasesOf = (story: DoctorStory): readonly Phase[] => [
  { name: 'a fleet', act: plantFleet, counts: 'AtMost' },
  { name: 'one event', act: (world) => void comes(world, story, 0, 'one', 3 * HOUR) },
  {
    name: 'a whole rack',
    act: (world) => {
      for (let n = 0; n < RACK_SIZE; n++) comes(world, story, n, `wave-${n}`, 2 * HOUR + n * 10 * MINUTE)
    },
  },
  {
    name: 'one that is moved while its node is drained',
    act: (world) => {
      const event = comes(world, story, 3, 'moved', 2 * HOUR)
      world.clock.after(HOUR, () => {
        const later = { ...event, notBefore: at(world, 3 * HOUR) }
        say(story.vendor, later)
        world.clock.after(3 * HOUR + 5 * MINUTE, () => goes(world, story, 3, later))
      })
    },
  },
  {
    name: 'one that is cancelled, and one that vanishes',
    act: (world) => {
      const event = comes(world, story, 4, 'cancelled', 2 * HOUR)
      comes(world, story, 0, 'vanished', 2 * HOUR)
      world.clock.after(HOUR, () => say(story.vendor, { ...event, state: 'Cancelled' }))
      world.clock.after(30 * MINUTE, () => {
        const left = story.vendor.events.filter((e) => e.eventId !== 'vanished')
        story.vendor.events.splice(0, story.vendor.events.length, ...left)
      })
    },
  },
  {
    name: 'one without notice, and lists that fail',
    act: (world) => {
      story.vendor.failures = 2
      goes(world, story, 5, announced({ eventId: 'unplanned', providerID: idOf(5), isUnplanned: true }))
    },
  },
  {
    name: 'one that two sources say, one of them twice',
    act: (world) => {
      const event = comes(world, story, 1, 'doubled', 3 * HOUR)
      story.vendor.events.push(event)
      say(story.other, { ...event, eventId: 'its-other-name', notBefore: at(world, 3 * HOUR + 4 * MINUTE) })
      world.clock.after(3 * HOUR + 10 * MINUTE, () => void story.other.events.splice(0))
    },
  },
]

/** What is granted and what is booked never exceed a budget by a grant; of what is booked itself, only what is away counts. */
function overBudget(): Invariant {
  let before: ReadonlySet<string> = new Set()
  return ({ kind, object }) => {
    if (kind !== `${defenderLedger.group}/${defenderLedger.plural}`) return undefined
    const { grants = [], reservations = [] } = (object as DefenderLedger).spec
    const known = before
    before = new Set(grants.map((g) => `${g.permitUid} ${g.target}`))
    const booked = new Map(reservations.map((r) => [r.target, r]))
    for (const grant of grants.filter((g) => !known.has(`${g.permitUid} ${g.target}`))) {
      const isBooked = booked.has(grant.target) && grant.operations.includes('Drain')
      const counted = reservations.filter((r) => !isBooked || r.notBefore === undefined)
      const away = new Set(
        [...grants, ...counted].filter((x) => rackOf(x.name) === rackOf(grant.name)).map((x) => x.target),
      )
      if (away.size > MOST_OF_RACK && !(booked.has(grant.target) && !isBooked && away.size <= MOST_OF_RACK))
        return `${grant.permit} was granted ${grant.name} as number ${away.size} of its rack`
    }
    return undefined
  }
}

/** A repair and the preparation for work never hold one machine at once. */
function twoDoctors(): Invariant {
  return ({ kind, object }, world) => {
    if (kind !== `${defenderLedger.group}/${defenderLedger.plural}`) return undefined
    const { grants = [] } = (object as DefenderLedger).spec
    const permits = new Map(
      (world.fake.all(operationPermit) as readonly OperationPermit[]).map((p) => [p.metadata.uid, p]),
    )
    const kindsOf = (target: string) =>
      new Set(grants.filter((g) => g.target === target).map((g) => permits.get(g.permitUid)?.spec.requester.kind))
    const bad = grants.find(
      (g) => kindsOf(g.target).has('RemedyOperationJob') && kindsOf(g.target).has('MaintenanceEvent'),
    )
    return bad && `${bad.name} is repaired and prepared at once`
  }
}

/** A node is cordoned for an event once for each time that was announced for it, and only under a grant. */
function drainedTwice(): Invariant {
  const seen = new Map<string, number>()
  const had = new Map<string, ReadonlySet<string>>()
  return ({ kind, object }, world) => {
    if (kind !== `${nodeType.group}/${nodeType.plural}`) return undefined
    const node = object as Node
    const read = cordonOwners(node)
    const owners = new Set(read.kind === 'Owners' ? Object.keys(read.owners) : [])
    const name = node.metadata.name ?? ''
    const before = had.get(name) ?? new Set()
    had.set(name, owners)
    for (const owner of owners) {
      if (before.has(owner) || !owner.startsWith('maintenance/')) continue
      const event = world.fake.peek(maintenanceEvent, { name: owner.slice('maintenance/'.length) }) as
        | MaintenanceEvent
        | undefined
      const permit = world.fake.peek(operationPermit, { name: event?.status?.permitRef ?? '' }) as
        | OperationPermit
        | undefined
      if (permit?.status?.phase !== 'Granted') return `${name} is cordoned for ${owner} without a grant`
      const key = `${owner} ${event?.status?.plannedFor}`
      seen.set(key, (seen.get(key) ?? 0) + 1)
      if ((seen.get(key) ?? 0) > 1) return `${name} is drained twice for ${key}`
    }
    return undefined
  }
}

/** Two sources, one event: whatever was written down twice is prepared for once. */
const oneEvent: Invariant = ({ kind }, world) => {
  if (kind !== `${maintenanceEvent.group}/${maintenanceEvent.plural}`) return undefined
  const acted = (world.fake.all(maintenanceEvent) as readonly MaintenanceEvent[]).filter(
    (e) => ['doubled', 'its-other-name'].includes(e.spec.eventId) && e.status?.permitRef !== undefined,
  )
  return acted.length > 1 ? `one event is prepared for as ${acted.map((e) => e.spec.eventId).join(' and ')}` : undefined
}

const FAULTS: readonly FaultKind[] = ['Crash', 'Pause', 'LostReply', 'Refuse', 'Missed', 'Stale']

export interface Variant {
  readonly parts?: () => DoctorParts
  readonly defenderParts?: () => DefenderParts
  readonly faults?: readonly FaultKind[]
}

export function doctorSimulation({
  parts = () => ({ plan, act }),
  defenderParts,
  faults = FAULTS,
}: Variant = {}): Simulation {
  const story: DoctorStory = { vendor: noAnnouncements(), other: noAnnouncements() }
  let invariants: Readonly<Record<string, Invariant>> = {}
  const reset = (): void => {
    for (const source of [story.vendor, story.other]) {
      source.events.splice(0)
      source.answers.splice(0)
      source.reboots.splice(0)
      source.failures = 0
    }
    invariants = {
      'O3 budget': overBudget(),
      'O3 doctors': twoDoctors(),
      'O3 drain': drainedTwice(),
      'O3 one event': oneEvent,
    }
  }
  return {
    kinds,
    actors: () => {
      reset()
      return [
        defender('defender', defenderParts),
        doctor('doctor-a', story, parts),
        doctor('doctor-b', story, parts),
        worker('MachineComponentSet', 25 * MINUTE),
        worker('RemedyOperationJob', 40 * MINUTE),
      ]
    },
    phases: phasesOf(story),
    invariants: {
      all: (commit, world) => {
        for (const [name, check] of Object.entries(invariants)) {
          const wrong = check(commit, world)
          if (wrong !== undefined) return `${name}: ${wrong}`
        }
        return undefined
      },
    },
    faults,
    faultyMs: 2 * HOUR,
    settleMs: 6 * HOUR,
    quietMs: 80 * MINUTE,
    mostSteps: 300_000,
    heartbeats: [
      `${leaseType.group}/${leaseType.plural}`,
      `${operationPermit.group}/${operationPermit.plural}`,
      `${defenderLedger.group}/${defenderLedger.plural}`,
      `${defenderPolicy.group}/${defenderPolicy.plural}`,
    ],
    counted: [`${maintenanceEvent.group}/${maintenanceEvent.plural}`],
    state: (world) => ({
      events: (world.fake.all(maintenanceEvent) as readonly MaintenanceEvent[])
        .map((e) => `${e.spec.eventId} ${e.spec.machine} ${e.status?.phase}`)
        .toSorted(),
      taints: (world.fake.all(nodeType) as readonly Node[])
        .filter((n) => (n.spec?.taints ?? []).length > 0)
        .map((n) => n.metadata.name),
    }),
  }
}

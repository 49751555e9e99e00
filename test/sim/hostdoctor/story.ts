// A vendor and its hosts for the simulation of the host doctor: six machines in two racks, what the vendor announces and does, a kubelet that ends evicted pods,
// and a rollout and a repair that want every machine in turn.
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { SYSTEM_NAMESPACE, agentLeaseName } from '#api/names.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { microTimestamp, timestamp } from '#lib/clock.ts'
import { type Node, isNodeReady, nodeType, podType } from '#nodes/objects.ts'
import { permitAnswer, renewPermit, reportResults, requestPermit } from '#permits/permits.ts'
import type { HostMaintenance } from '#providers/port.ts'
import { leaseType } from '#runtime/lease.ts'
import { type Announcements, announced, noAnnouncements, say } from '#test/doubles/providers/maintenance-double.ts'
import type { Actor } from '../process.ts'
import type { World } from '../world.ts'

const MACHINES = 6
/** Machines of the chapter in which all hosts seem to be reclaimed. */
export const MASS_PREFIX = 's-'
export const RACK_SIZE = 3
/** Of a rack, at the same time. */
export const MOST_OF_RACK = 1
export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
/** What a host needs for a reboot. */
const AWAY_MS = 10 * MINUTE
/** The vendor is late, as vendors are. */
const LATE_MS = 5 * MINUTE
/** A container ends a moment after its eviction. */
const GRACE_MS = 20_000
/** A node that takes pods again gets one. */
const SCHEDULED_MS = MINUTE

const nameOf = (n: number): string => `m-${n}`
export const rackOf = (name: string): string =>
  name.startsWith('m-') ? (Number(name.slice(2)) < RACK_SIZE ? 'r1' : 'r2') : `of-${name}`
const hostOf = (name: string): string => `cloud://${name}`
export const idOf = (n: number): string => hostOf(nameOf(n))
export const at = (world: World, ms: number): string => timestamp(world.clock.now() + ms)

export interface DoctorStory {
  readonly vendor: Announcements
  /** The second source, which knows of the same events under other names. */
  readonly other: Announcements
  /** What the vendor still has to do in this phase: until then it is not over, however quiet it is. */
  pending: number
  /** Turns that each worker may have had by now. */
  turns: number
}

export const newStory = (): DoctorStory => ({
  vendor: noAnnouncements(),
  other: noAnnouncements(),
  pending: 0,
  turns: 0,
})

export function resetStory(story: DoctorStory): void {
  for (const source of [story.vendor, story.other]) {
    source.events.splice(0)
    source.answers.splice(0)
    source.reboots.splice(0)
    source.failures = 0
    source.hiddenOnce.clear()
    source.listed.clear()
  }
  story.pending = 0
  story.turns = 0
}

const condition = (world: World, type: string, status: string) => ({
  type,
  status,
  reason: 'Reported',
  message: '',
  lastTransitionTime: timestamp(world.clock.now()),
})

export function plantFleet(world: World): void {
  for (let n = 0; n < MACHINES; n++) plantMachine(world, nameOf(n))
  world.fake.plant(defenderPolicy, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'DefenderPolicy',
    metadata: { name: 'racks' },
    spec: { budgets: [{ max: MOST_OF_RACK, of: 'concurrent', per: 'rack' }] },
  })
  runPods(world)
  heartbeats(world)
}

export function plantMachine(world: World, name: string): void {
  const node = world.fake.plant(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name } })
  world.fake.poke(nodeType, { name }, { status: { conditions: [condition(world, 'Ready', 'True')] } }, 'status')
  plantPod(world, name)
  const planted = world.fake.plant(machineType, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name },
    spec: { rack: rackOf(name), pool: 'workers', providerID: hostOf(name), provider: { name: 'cloud' } },
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

/** Its host was deleted, and a controller deletes its Node and its Machine. */
export function vanishes(world: World, name: string): void {
  const pod = podOf(name)
  // At once: pods of a deleted host are not evicted.
  if (world.fake.peek(podType, pod) !== undefined) world.fake.uproot(podType, pod, { gracePeriodSeconds: 0 })
  world.fake.uproot(nodeType, { name })
  world.fake.uproot(machineType, { name })
}

/** Agents renew every ten seconds; in a day half a minute makes no difference. */
const HEARTBEAT_MS = MINUTE / 2

/** The agent of a host that is there is heard: without it a slot that lost its holder would be taken for ever. */
function heartbeats(world: World): void {
  const beat = (): void => {
    for (const { metadata } of world.fake.all(machineType)) {
      const { name = '' } = metadata
      const node = world.fake.peek(nodeType, { name })
      const lease = { name: agentLeaseName(name), namespace: SYSTEM_NAMESPACE }
      if (node !== undefined && isNodeReady(node))
        world.fake.poke(leaseType, lease, { spec: { renewTime: microTimestamp(world.clock.now()) } })
    }
    world.clock.after(HEARTBEAT_MS, beat)
  }
  world.clock.after(HEARTBEAT_MS, beat)
}

const podOf = (node: string) => ({ name: `web-${node}`, namespace: 'default' })

function plantPod(world: World, node: string): void {
  const metadata = { ...podOf(node), labels: { app: 'web', on: node } }
  world.fake.plant(podType, { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName: node } })
  const status = { phase: 'Running', conditions: [condition(world, 'Ready', 'True')] }
  world.fake.poke(podType, podOf(node), { status }, 'status')
}

/** No pod of the node may be evicted: what nothing can drain is missed. */
export function forbidEvictions(world: World, n: number): void {
  world.fake.plant(coreKind('PodDisruptionBudget'), {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: `keep-${nameOf(n)}`, namespace: 'default' },
    spec: { maxUnavailable: 0, selector: { matchLabels: { on: nameOf(n) } } },
  })
}

/** Kubelet and scheduler: an evicted pod ends, and a node that takes pods gets one. */
function runPods(world: World): void {
  const { fake, clock } = world
  fake.onCommit(({ kind, type, object }) => {
    const { name = '', deletionTimestamp } = object.metadata
    if (kind === `${podType.group}/${podType.plural}` && type === 'MODIFIED' && deletionTimestamp !== undefined)
      clock.after(GRACE_MS, () => {
        const pod = { name, namespace: 'default' }
        if (fake.peek(podType, pod) !== undefined) fake.uproot(podType, pod, { gracePeriodSeconds: 0 })
      })
    if (kind !== `${nodeType.group}/${nodeType.plural}`) return
    clock.after(SCHEDULED_MS, () => {
      const node: Node | undefined = fake.peek(nodeType, { name })
      const isOpen = node !== undefined && (node.spec?.taints ?? []).length === 0
      if (isOpen && fake.peek(podType, podOf(name)) === undefined) plantPod(world, name)
    })
  })
}

/** Done later, and not forgotten before the phase ends. */
export function later(world: World, story: DoctorStory, inMs: number, act: () => void): void {
  story.pending++
  world.clock.after(inMs, () => {
    story.pending--
    act()
  })
}

/** What the vendor really does: the host goes, and comes back with another boot. */
export function goes(world: World, story: DoctorStory, n: number, event: HostMaintenance): void {
  const name = nameOf(n)
  say(story.vendor, { ...event, state: 'Executing' })
  setReady(world, name, false)
  later(world, story, AWAY_MS, () => {
    setReady(world, name, true)
    const now = world.fake.peek(machineType, { name }) as { status?: { bootID?: string } } | undefined
    world.fake.poke(machineType, { name }, { status: { ...now?.status, bootID: `${name}-${event.eventId}` } }, 'status')
    say(story.vendor, { ...event, state: 'Executed' })
  })
}

export function setReady(world: World, name: string, isReady: boolean): void {
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

/** Announced, and done at its time unless it is said otherwise before. */
export function comes(world: World, story: DoctorStory, n: number, eventId: string, inMs: number): HostMaintenance {
  const event = announced({ eventId, providerID: idOf(n), notBefore: at(world, inMs) })
  say(story.vendor, event)
  later(world, story, inMs + LATE_MS, () => {
    const said = story.vendor.events.find((e) => e.eventId === eventId)
    if (said?.state === 'Scheduled' && said.notBefore === event.notBefore) goes(world, story, n, event)
  })
  return event
}

const LOOK_MS = 2 * MINUTE
const LOOKS = 3
const IDLE_MS = MINUTE

/** A rollout or a repair that wants every machine in turn, and holds what it is granted for some minutes. */
export function worker(kind: 'MachineComponentSet' | 'RemedyOperationJob', everyMs: number, story: DoctorStory): Actor {
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
        for (let turn = 0; !signal.aborted;) {
          if (turn < story.turns) await once(turn++).catch(() => undefined)
          await clock.sleep(turn < story.turns ? everyMs : IDLE_MS, signal)
        }
      }
      void run().catch(() => undefined)
    },
  }
}

// What must hold at every write of the simulated day, read from the objects on the server: no cache of the programs can mislead it.
import { type DefenderLedger, defenderLedger } from '#api/kinds/defender-ledger.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { type MaintenanceEvent, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { bookedFrom } from '#nodes/faults/maintenance.ts'
import { cordonOwners } from '#nodes/cordon.ts'
import { type Node, type Pod, nodeType, podType } from '#nodes/objects.ts'
import { type Announcements, noAnnouncements } from '#test/doubles/providers/maintenance-double.ts'
import type { Invariant } from '../harness.ts'
import type { World } from '../world.ts'
import { MASS_PREFIX, MOST_OF_RACK, rackOf as rackOfStory } from './story.ts'

const eventsIn = (world: World) => world.fake.all(maintenanceEvent) as readonly MaintenanceEvent[]
const isLedger = (kind: string): boolean => kind === `${defenderLedger.group}/${defenderLedger.plural}`
const permitsIn = (world: World): readonly OperationPermit[] =>
  world.fake.all(operationPermit) as readonly OperationPermit[]

/** The Defender asks the server right before it grants; a request is under way for seconds at most. */
const UNDER_WAY_MS = 60_000

/** Machines that their vendor takes, by what the events on the server say: from when, and whether the host is away already. */
class Booked {
  readonly #events = new Map<
    string,
    { readonly event: MaintenanceEvent; readonly from: number; readonly writtenAt: number }
  >()

  written(event: MaintenanceEvent, now: number): void {
    const from = bookedFrom(event) ?? Infinity
    const known = this.#events.get(event.metadata.name ?? '')
    this.#events.set(event.metadata.name ?? '', {
      event,
      from,
      writtenAt: known?.from === from ? known.writtenAt : now,
    })
  }

  at(now: number, world: World): readonly { readonly name: string; readonly isAhead: boolean }[] {
    const before = now - UNDER_WAY_MS
    return [...this.#events.values()]
      .filter(({ from, writtenAt }) => from <= before && writtenAt <= before)
      .filter(({ event }) => eventNamed(world, event.metadata.name ?? '') !== undefined)
      .map(({ event: { spec } }) => ({ name: spec.machine, isAhead: Date.parse(spec.notBefore ?? '') > before }))
  }
}

/**
 * Granted and booked machines of a rack never exceed its budget because of a grant. What the vendor takes by itself may: then nothing more is granted there. A
 * grant counts once its permit shows it: no program acts on one that a stopped Defender wrote late and revoked.
 */
function overBudget(rackOf: (machine: string) => string): Invariant {
  let before: ReadonlySet<string> = new Set()
  const events = new Booked()
  const wrong = new Map<string, { readonly permitUid: string; readonly message: string }>()
  return ({ kind, object }, world) => {
    if (kind === `${operationPermit.group}/${operationPermit.plural}`) {
      const { metadata, status } = object as OperationPermit
      if (status?.phase !== 'Granted') return undefined
      return [...wrong.values()].find(({ permitUid }) => permitUid === metadata.uid)?.message
    }
    const now = world.clock.now()
    if (kind === `${maintenanceEvent.group}/${maintenanceEvent.plural}`) events.written(object as MaintenanceEvent, now)
    if (!isLedger(kind)) return undefined
    const { grants = [] } = (object as DefenderLedger).spec
    const known = before
    before = new Set(grants.map((g) => `${g.permitUid} ${g.target}`))
    for (const key of wrong.keys()) if (!before.has(key)) wrong.delete(key)
    const booked = events.at(now, world)
    for (const grant of grants.filter((g) => !known.has(`${g.permitUid} ${g.target}`))) {
      // A machine that will be away anyway may be drained while others of its rack are only booked, and not away yet.
      const isPrepared = grant.operations.includes('Drain')
      // Of a machine that was deleted nothing is away any longer, whether or not its event was ended yet.
      const counted = booked.filter(
        (b) => (!isPrepared || !b.isAhead) && world.fake.peek(machineType, { name: b.name }) !== undefined,
      )
      const away = new Set(
        [...grants, ...counted].filter((x) => rackOf(x.name) === rackOf(grant.name)).map((x) => x.name),
      )
      if (away.size > MOST_OF_RACK)
        wrong.set(`${grant.permitUid} ${grant.target}`, {
          permitUid: grant.permitUid,
          message: `${grant.permit} was granted ${grant.name} as number ${away.size} of its rack`,
        })
    }
    return undefined
  }
}

/** A repair and the preparation for work never hold one machine at once. */
const twoDoctors: Invariant = ({ kind, object }, world) => {
  if (!isLedger(kind)) return undefined
  const { grants = [] } = (object as DefenderLedger).spec
  const requesterOf = new Map(permitsIn(world).map((p) => [p.metadata.uid, p.spec.requester.kind]))
  const kindsOf = (target: string) =>
    new Set(grants.filter((g) => g.target === target).map((g) => requesterOf.get(g.permitUid)))
  const bad = grants.find(
    (g) => kindsOf(g.target).has('RemedyOperationJob') && kindsOf(g.target).has('MaintenanceEvent'),
  )
  return bad && `${bad.name} is repaired and prepared at once`
}

const eventNamed = (world: World, name: string): MaintenanceEvent | undefined =>
  world.fake.peek(maintenanceEvent, { name }) as MaintenanceEvent | undefined

const isGranted = (world: World, event: MaintenanceEvent | undefined): boolean =>
  permitsIn(world).some(
    ({ metadata, spec, status }) =>
      metadata.name === event?.status?.permitRef &&
      spec.requester.uid === event?.metadata.uid &&
      status?.phase === 'Granted',
  )

const ownersOf = (node: Node | undefined): ReadonlySet<string> => {
  const read = node && cordonOwners(node)
  return new Set(read?.kind === 'Owners' ? Object.keys(read.owners).filter((o) => o.startsWith('maintenance/')) : [])
}

/** A node is cordoned for an event once for each time that was announced for it and each permit, and only under a grant that the event names. */
function cordonedTwice(): Invariant {
  const seen = new Map<string, number>()
  const had = new Map<string, ReadonlySet<string>>()
  return ({ kind, object }, world) => {
    if (kind !== `${nodeType.group}/${nodeType.plural}`) return undefined
    const owners = ownersOf(object)
    const name = object.metadata.name ?? ''
    const before = had.get(name) ?? new Set()
    had.set(name, owners)
    for (const owner of owners) {
      if (before.has(owner)) continue
      const event = eventNamed(world, owner.slice('maintenance/'.length))
      if (!isGranted(world, event)) return `${name} is cordoned for ${owner} without a grant`
      const key = `${owner} ${event?.status?.plannedFor} ${event?.status?.permitRef}`
      seen.set(key, (seen.get(key) ?? 0) + 1)
      if ((seen.get(key) ?? 0) > 1) return `${name} is drained twice for ${key}`
    }
    return undefined
  }
}

/** A pod is evicted only from a node that is cordoned for an event with a grant. */
function evictedWithoutGrant(): Invariant {
  const evicted = new Set<string>()
  return ({ kind, object }, world) => {
    const { name, uid = '', deletionTimestamp } = object.metadata
    if (kind !== `${podType.group}/${podType.plural}` || deletionTimestamp === undefined || evicted.has(uid))
      return undefined
    evicted.add(uid)
    const node = world.fake.peek(nodeType, { name: (object as Pod).spec?.nodeName ?? '' })
    const isAllowed = [...ownersOf(node)].some((o) =>
      isGranted(world, eventNamed(world, o.slice('maintenance/'.length))),
    )
    return isAllowed ? undefined : `pod ${name} is evicted without a grant`
  }
}

/** No event counts as prepared while a pod that has to move is on its node. */
const preparedWithPods: Invariant = ({ kind, object }, world) => {
  if (kind !== `${maintenanceEvent.group}/${maintenanceEvent.plural}`) return undefined
  const { spec, status, metadata } = object as MaintenanceEvent
  if (status?.phase !== 'Prepared' || status.waitingFor !== undefined) return undefined
  const pods = world.fake.all(podType).filter((p) => (p as Pod).spec?.nodeName === spec.machine)
  return pods.length === 0 ? undefined : `${metadata.name} is prepared, and ${pods[0]?.metadata.name} still runs`
}

/** An ended event has left nothing on its node at the moment its slot is released. */
const uncordonedFirst: Invariant = ({ kind, object }, world) => {
  if (kind !== `${operationPermit.group}/${operationPermit.plural}`) return undefined
  const { spec } = object as OperationPermit
  if (spec.requester.kind !== maintenanceEvent.kind || Object.keys(spec.results ?? {}).length === 0) return undefined
  const event = eventNamed(world, spec.requester.name ?? '')
  const node = world.fake.peek(nodeType, { name: event?.spec.machine ?? '' })
  return ownersOf(node).has(`maintenance/${spec.requester.name}`) && event?.status?.permitRef === object.metadata.name
    ? `the slot of ${object.metadata.name} is given back while its node is cordoned`
    : undefined
}

/** One event that two sources report, each under its own id. */
const TWINS = [
  ['doubled', 'its-other-name'],
  ['reclaimed', 'its-spot-notice'],
]
export const isTwin = ({ spec }: MaintenanceEvent): boolean => TWINS.flat().includes(spec.eventId)
/** Of twins the same one for both. */
export const storyName = ({ spec }: MaintenanceEvent): string =>
  TWINS.find((ids) => ids.includes(spec.eventId))?.[0] ?? spec.eventId

/** Two sources, one event: whatever was written down twice is prepared for once. */
const oneEvent: Invariant = ({ kind }, world) => {
  if (kind !== `${maintenanceEvent.group}/${maintenanceEvent.plural}`) return undefined
  const acted = eventsIn(world).filter((e) => e.status?.permitRef !== undefined)
  const double = TWINS.map((ids) => acted.filter((e) => ids.includes(e.spec.eventId))).find((twins) => twins.length > 1)
  return double && `one event is prepared for as ${double.map((e) => e.spec.eventId).join(' and ')}`
}

/** What is for people asks for no permit and cordons nothing. */
const forPeople: Invariant = ({ kind, object }, world) => {
  const notices = eventsIn(world).filter((e) => e.spec.kind === 'Notice')
  if (notices.length === 0) return undefined
  const names = new Set(notices.map((e) => e.metadata.name ?? ''))
  const { requester } =
    kind === `${operationPermit.group}/${operationPermit.plural}` ? (object as OperationPermit).spec : {}
  if (names.has(requester?.name ?? '')) return `${requester?.name} is for people, and asks for a permit`
  return undefined
}

/** Reports of half of all machines at once are not believed: what came before there were that many is all that is drained for. */
const MOST_OF_MASS = 9
const noMass: Invariant = ({ kind }, world) => {
  if (kind !== `${maintenanceEvent.group}/${maintenanceEvent.plural}`) return undefined
  const mass = eventsIn(world).filter((e) => e.spec.machine.startsWith(MASS_PREFIX))
  return mass.length > MOST_OF_MASS ? `${mass.length} hosts are believed to be reclaimed at once` : undefined
}

const DAY_MS = 86_400_000

/** A bill is paid by people: until a day before its end no permit is asked for it, and nothing answers it. */
const billsArePaid =
  (vendor: Pick<Announcements, 'answers'>): Invariant =>
  ({ kind, object }, world) => {
    if (kind !== `${maintenanceEvent.group}/${maintenanceEvent.plural}`) return undefined
    const { metadata, spec, status } = object as MaintenanceEvent
    if (spec.bill !== true) return undefined
    if (vendor.answers.some((a) => a.eventId === spec.eventId)) return `the bill ${spec.eventId} is answered`
    const isEarly = status?.permitRef !== undefined && world.clock.now() < Date.parse(spec.notBefore ?? '') - DAY_MS
    return isEarly ? `${metadata.name} asks for a permit more than a day before its bill ends` : undefined
  }

/** What loses data is drained for once a person approved it. */
const dataIsApproved: Invariant = ({ kind, object }) => {
  if (kind !== `${operationPermit.group}/${operationPermit.plural}`) return undefined
  const { metadata, spec, status } = object as OperationPermit
  const isLost = spec.requester.kind === maintenanceEvent.kind && spec.operations.includes('Replace')
  return isLost && status?.phase === 'Granted' && status.approvedBy === undefined
    ? `${metadata.name} is granted without an approval`
    : undefined
}

export const doctorInvariants = (
  rackOf = rackOfStory,
  vendor: Pick<Announcements, 'answers'> = noAnnouncements(),
): Readonly<Record<string, Invariant>> => ({
  budget: overBudget(rackOf),
  'two doctors': twoDoctors,
  cordon: cordonedTwice(),
  eviction: evictedWithoutGrant(),
  prepared: preparedWithPods,
  'given back': uncordonedFirst,
  'one event': oneEvent,
  'for people': forPeople,
  'no mass': noMass,
  bills: billsArePaid(vendor),
  data: dataIsApproved,
})

// Decides what a complete list of a source changes: new events and changed events. Two sources of one event share one object. Pure.
import type { Machine } from '#api/kinds/machine.ts'
import {
  type MaintenanceEvent,
  type MaintenanceEventInput,
  type MaintenanceSpec,
  PEOPLE,
} from '#api/kinds/maintenance-event.ts'
import { isOver } from '#nodes/faults/maintenance.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import { shortened } from '#lib/shortened.ts'
import type { Host, HostMaintenance } from '#providers/port.ts'
import { timeOf } from '../notices/time-of.ts'
import { sha256OfJson } from '#lib/sha256.ts'

/** Two sources rarely agree to the minute about one event, and two events of a kind rarely follow each other this closely. */
const SAME_WITHIN_MS = 10 * 60_000
/** New objects per list. If a vendor lists more at once, the rest follows with the next lists. */
const MOST_NEW = 500
/**
 * Open events of one machine from one source. A source that invents ids, or whose time does not advance so that nothing counts as absent, must not
 * fill the cluster.
 */
const MOST_OPEN = 32
/** The limit of spec.description. */
const MOST_DESCRIPTION = 1_024

export interface PollInput {
  readonly source: string
  readonly listed: readonly HostMaintenance[]
  /** By providerID. */
  readonly machineOf: (providerID: string) => Machine | undefined
  /** All known events, from all sources. */
  readonly known: readonly MaintenanceEvent[]
}

export interface PollPlan {
  readonly create: readonly WantedEvent[]
  readonly update: readonly { readonly event: MaintenanceEvent; readonly spec: MaintenanceSpec }[]
  /** Names of known events in the list, also under another id. */
  readonly present: ReadonlySet<string>
  /** Events not recorded because their machine has too many. */
  readonly left: number
}

export interface WantedEvent {
  readonly name: string
  readonly spec: MaintenanceEventInput['spec']
}

const ENDED: ReadonlySet<string> = new Set(['Executed', 'Avoided', 'Cancelled', 'Failed'])

const eventName = (kind: string, source: string, eventId: string, providerID: string): string =>
  `${kind.toLowerCase()}-${sha256OfJson([source, eventId, providerID]).slice(0, 16)}`

export function planPoll({ source, listed, machineOf, known }: PollInput): PollPlan {
  const create = new Map<string, WantedEvent>()
  const update = new Map<string, { readonly event: MaintenanceEvent; readonly spec: MaintenanceSpec }>()
  const present = new Set<string>()
  const byMachine = Map.groupBy(known, (e) => e.spec.machine)
  const open = new Map<string, number>()
  for (const { spec } of known.filter((e) => e.spec.source === source && !isOver(e)))
    open.set(spec.machine, (open.get(spec.machine) ?? 0) + 1)
  let left = 0
  for (const announced of listed) {
    const machine = machineOf(announced.providerID)
    const name = machine?.metadata.name
    if (machine === undefined || name === undefined) continue
    const ofMachine = byMachine.get(name) ?? []
    // Match its own id first. A twin that a cache still shows as open would make the event count as absent.
    const same =
      ofMachine.find((e) => e.spec.eventId === announced.eventId && isSameEvent(e, source, announced)) ??
      ofMachine.find((e) => isSameEvent(e, source, announced))
    if (same !== undefined) {
      const isOfOther = same.spec.source !== source
      if (!isOfOther || !ENDED.has(announced.state)) present.add(same.metadata.name ?? '')
      // The first source's data stays. The second source only keeps the event from being created twice, and from ending while it is still listed.
      if (isOfOther || isOver(same)) continue
      const spec = specOf(same.spec, announced)
      if (!jsonEqual(spec, same.spec)) update.set(same.metadata.name ?? '', { event: same, spec })
      continue
    }
    // Already over when first listed: nothing to do.
    if (ENDED.has(announced.state) || create.size >= MOST_NEW) continue
    const wanted = newEvent(source, machine, announced)
    if (create.has(wanted.name)) continue
    const count = open.get(name) ?? 0
    // A host is reclaimed only once, within minutes.
    if (count >= MOST_OPEN && announced.kind !== 'Reclaim') {
      left++
      continue
    }
    open.set(name, count + 1)
    create.set(wanted.name, wanted)
  }
  return { create: [...create.values()], update: [...update.values()], present, left }
}

type AnnouncedEvent = Pick<HostMaintenance, 'eventId' | 'providerID' | 'kind' | 'notBefore'>

/** The ids are equal. Between two sources: the same kind of work on the same host at about the same time. */
export function isSameEvent(event: MaintenanceEvent, source: string, announced: AnnouncedEvent): boolean {
  const { spec } = event
  if (spec.source === PEOPLE) return false
  if (spec.host !== undefined && spec.host.id !== announced.providerID) return false
  // A host is reclaimed only once, whatever the sources call it and whether or not they give a time.
  if (spec.kind === 'Reclaim' && announced.kind === 'Reclaim' && !isOver(event)) return true
  if (spec.source === source) return spec.eventId === announced.eventId
  return spec.eventId === announced.eventId || (!isOver(event) && isAlike(spec, announced))
}

type Alike = Pick<MaintenanceSpec, 'kind' | 'notBefore'>

function isAlike(a: Alike, b: Alike): boolean {
  const [from, to] = [timeOf(a.notBefore), timeOf(b.notBefore)]
  return a.kind === b.kind && from !== undefined && to !== undefined && Math.abs(from - to) <= SAME_WITHIN_MS
}

/** Two lists at the same time create two objects. Of one event, only the older object is acted upon. */
export function twinOf(event: MaintenanceEvent, ofMachine: readonly MaintenanceEvent[]): string | undefined {
  const rank = ({ metadata }: MaintenanceEvent) => `${metadata.creationTimestamp ?? ''} ${metadata.name ?? ''}`
  const { spec } = event
  if (spec.source === PEOPLE) return undefined
  return ofMachine.find(
    (e) =>
      e.spec.source !== spec.source &&
      e.spec.source !== PEOPLE &&
      !isOver(e) &&
      rank(e) < rank(event) &&
      (e.spec.eventId === spec.eventId ||
        (e.spec.kind === 'Reclaim' && spec.kind === 'Reclaim') ||
        isAlike(e.spec, spec)),
  )?.metadata.name
}

const fingerprint = ({
  kind,
  state,
  isUnplanned,
  losesData,
  isBill,
  notBefore,
  notAfter,
  answers,
  description,
}: HostMaintenance) => ({
  kind,
  state,
  unplanned: isUnplanned,
  dataLoss: losesData,
  ...(isBill === true && { bill: true }),
  ...(notBefore !== undefined && { notBefore: wholeSeconds(notBefore) }),
  // Ignore an end that a vendor reports before the start.
  ...(notAfter !== undefined &&
    !(Date.parse(notAfter) < Date.parse(notBefore ?? '')) && { notAfter: wholeSeconds(notAfter) }),
  ...(answers.length > 0 && { answers: [...new Set(answers)] }),
  ...(description !== '' && { description: shortened(description, MOST_DESCRIPTION) }),
})

function specOf(
  { machine, host, source, eventId, initialNotBefore }: MaintenanceSpec,
  announced: HostMaintenance,
): MaintenanceSpec {
  const first = initialNotBefore ?? (announced.notBefore === undefined ? undefined : wholeSeconds(announced.notBefore))
  return {
    machine,
    ...defined({ host }),
    source,
    eventId,
    ...fingerprint(announced),
    ...defined({ initialNotBefore: first }),
  }
}

function newEvent(source: string, { metadata, spec }: Machine, announced: HostMaintenance): WantedEvent {
  const { providerID, eventId, notBefore } = announced
  return {
    name: eventName(announced.kind, source, eventId, providerID),
    spec: {
      machine: metadata.name ?? '',
      host: {
        id: providerID,
        ...defined({ rack: spec.rack, zone: spec.zone }),
      },
      source,
      eventId,
      ...fingerprint(announced),
      ...(notBefore !== undefined && { initialNotBefore: wholeSeconds(notBefore) }),
    },
  }
}

/** The provider knows the location better than the declaration does. */
export const withPlace = (wanted: WantedEvent, place: Host['place']): WantedEvent => {
  const { host } = wanted.spec
  if (host === undefined || place === undefined) return wanted
  const known = defined({ hostId: place.hostId, rack: place.rack })
  return { ...wanted, spec: { ...wanted.spec, host: { ...host, ...known } } }
}

/** The time format of our kinds. */
const wholeSeconds = (text: string): string => `${new Date(Date.parse(text)).toISOString().slice(0, 19)}Z`

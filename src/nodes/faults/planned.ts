// Maintenance that people plan: which machines, when, the events for it, and the write that ends one.
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Machine } from '#api/kinds/machine.ts'
import {
  type MaintenanceEvent,
  type MaintenanceEventInput,
  PEOPLE,
  maintenanceEvent,
} from '#api/kinds/maintenance-event.ts'
import { LEAST_LEAD_MS, LONGEST_PLANNED_DAYS, isOver, phaseOfEvent } from './maintenance.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { instantMs } from '#lib/instant.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { maintenanceErrors } from './maintenance-errors.ts'
import { sha256OfJson } from '#lib/sha256.ts'

/** A rack or a small zone. A whole data center is planned in parts that budgets can bear. */
const MOST_MACHINES = 500
const DAY_MS = 86_400_000
/** The limit of spec.description. */
const LONGEST_REASON = 1_024
const PLACES = ['rack', 'zone'] as const

export type Place = { readonly kind: 'machine' | 'node' | (typeof PLACES)[number]; readonly name: string }

/** The kind that has the word as one of its names. */
type KindOf = (word: string) => string | undefined

const placeKind = (word: string, kindOf: KindOf): Place['kind'] | undefined => {
  const kind = kindOf(word)
  return kind === 'Machine' ? 'machine' : kind === 'Node' ? 'node' : PLACES.find((k) => k === word)
}

/** Several `kind/name`, or a kind followed by names. */
export function placesOf(words: readonly string[], kindOf: KindOf): readonly Place[] {
  const [first = '', ...names] = words
  const isKindFirst = names.length > 0 && placeKind(first, kindOf) !== undefined && !words.some((w) => w.includes('/'))
  const all = isKindFirst ? names.map((name) => `${first}/${name}`) : words
  return all.map((word) => placeOf(word, kindOf))
}

function placeOf(word: string, kindOf: KindOf): Place {
  const [kind = '', name = '', ...rest] = word.split('/')
  const found = placeKind(kind, kindOf)
  if (found === undefined || name === '' || rest.length > 0)
    throw new KubeNodeError(maintenanceErrors.KN1325_maintenance({ what: JSON.stringify(word) }))
  return { kind: found, name }
}

export interface Span {
  /** Absent: as soon as the node is drained. */
  readonly from?: string
  readonly until: string
}

/** A duration counts from `from`, or from now. */
export function spanOf(
  { from, until }: { readonly from?: string | undefined; readonly until: string },
  now: number,
): Span {
  const start = from === undefined ? now : timeOf(from, '--from')
  const length = durationMs(until)
  const end = length === undefined ? timeOf(until, '--until') : start + length
  if (end <= start || end <= now)
    throw new KubeNodeError(maintenanceErrors.KN1002_plannedEnd({ until: timestamp(end) }))
  // It would count as started at once, and the node would never be drained.
  if (from !== undefined && start <= now)
    throw new KubeNodeError(maintenanceErrors.KN1002_past({ from: timestamp(start) }))
  if (end - start > LONGEST_PLANNED_DAYS * DAY_MS)
    throw new KubeNodeError(maintenanceErrors.KN1002_tooLong({ until: timestamp(end), days: LONGEST_PLANNED_DAYS }))
  return { ...(from !== undefined && { from: timestamp(start) }), until: timestamp(end) }
}

/** In UTC: a time without an offset was read in this machine's time zone. */
export const spanText = ({ from, until }: Span): string =>
  `${from === undefined ? 'from now' : `from ${from}`} until ${until}`

export const isDrainedNow = ({ from }: Span, now: number): boolean =>
  from === undefined || Date.parse(from) - now <= LEAST_LEAD_MS

function timeOf(text: string, option: string): number {
  const ms = instantMs(text)
  if (ms === undefined)
    throw new KubeNodeError(maintenanceErrors.KN1002_planned({ text: JSON.stringify(text), option }))
  return ms
}

export function machinesIn(places: readonly Place[], machines: readonly Machine[]): readonly Machine[] {
  const found = places.flatMap((place) => {
    const there = machines.filter((m) => isAt(m, place))
    if (there.length === 0)
      throw new KubeNodeError(maintenanceErrors.KN1313_machines({ what: `${place.kind}/${place.name}` }))
    return there
  })
  const once = [...new Map(found.map((m) => [m.metadata.name, m])).values()]
  if (once.length > MOST_MACHINES)
    throw new KubeNodeError(maintenanceErrors.KN1684({ count: once.length, most: MOST_MACHINES }))
  return once
}

const isAt = ({ metadata, spec, status }: Machine, { kind, name }: Place): boolean => {
  if (kind === 'machine') return metadata.name === name
  return kind === 'node' ? status?.nodeRef?.name === name : spec[kind] === name
}

/** The reason in one line, for everyone who finds the node drained. */
export function reasonOf(text: string): string {
  const reason = text.replaceAll(/\s+/gu, ' ').trim()
  if (reason === '') throw new KubeNodeError(maintenanceErrors.KN1002_maintenanceReason())
  if (reason.length > LONGEST_REASON)
    throw new KubeNodeError(maintenanceErrors.KN1002_reasonTooLong({ count: reason.length, most: LONGEST_REASON }))
  return reason
}

/** The same request twice has the same name, so it is planned once. `again`: how many with the name are already over. */
export function plannedEvent(
  { metadata, spec }: Machine,
  { from, until }: Span,
  { reason, by }: { readonly reason: string; readonly by: string },
  again = 0,
): MaintenanceEventInput {
  const machine = metadata.name ?? ''
  const eventId = sha256OfJson([machine, metadata.uid ?? '', from ?? '', until, ...(again > 0 ? [again] : [])]).slice(
    0,
    16,
  )
  return {
    apiVersion: API_GROUP_VERSION,
    kind: maintenanceEvent.kind,
    metadata: { name: `people-${eventId}` },
    spec: {
      machine,
      ...(spec.providerID !== undefined && {
        host: {
          id: spec.providerID,
          ...defined({ rack: spec.rack, zone: spec.zone }),
        },
      }),
      source: PEOPLE,
      eventId,
      kind: 'Stop',
      state: 'Scheduled',
      ...(from !== undefined && { notBefore: from, initialNotBefore: from }),
      notAfter: until,
      description: reason,
      plannedBy: by,
    },
  }
}

/** The event after a planner's `done` or `cancel`. Undefined: it is already over. */
export function withVerb(event: MaintenanceEvent, verb: 'done' | 'cancel', by: string): MaintenanceEvent | undefined {
  const { metadata, spec } = event
  const name = metadata.name ?? ''
  if (spec.source !== PEOPLE)
    throw new KubeNodeError(
      maintenanceErrors.KN1685({ verb: verb === 'done' ? 'end' : verb, name, source: spec.source }),
    )
  if (isOver(event) || spec.state === 'Executed' || spec.state === 'Cancelled') return undefined
  const phase = phaseOfEvent(event)
  if (verb === 'cancel' && (phase === 'InProgress' || phase === 'Missed' || phase === 'Verifying'))
    throw new KubeNodeError(maintenanceErrors.KN1685_begun({ name }))
  return { ...event, spec: { ...spec, state: verb === 'done' ? 'Executed' : 'Cancelled', endedBy: by } }
}

/** What follows from the end of an event, from its state when it was read. */
export function endText(event: MaintenanceEvent, verb: 'done' | 'cancel'): string {
  const past = verb === 'done' ? 'done' : 'cancelled'
  if (phaseOfEvent(event) === 'Announced') return `${past}; nothing was drained for it`
  return verb === 'done'
    ? 'done; the node is uncordoned once the machine is well'
    : 'cancelled; the node is being uncordoned'
}

/** For a person who starts the work in phase InProgress: pods may still run on a node whose drain did not finish. */
export function phaseText(event: MaintenanceEvent): string {
  const { missedAt, drainedAt } = event.status ?? {}
  const phase = phaseOfEvent(event)
  const isMissed = missedAt !== undefined && drainedAt === undefined
  return isMissed && (phase === 'Missed' || phase === 'InProgress') ? `${phase}, not drained` : phase
}

/** The host doctor writes the same object every few seconds while it drains. */
const MOST_TRIES = 5

/** False: it had already ended. */
export async function recordOnce(
  client: KubeClient,
  found: MaintenanceEvent,
  changed: (event: MaintenanceEvent) => MaintenanceEvent | undefined,
): Promise<boolean> {
  for (let event = found, tries = 1; ; tries++) {
    const wanted = changed(event)
    if (wanted === undefined) return false
    const written = await outcomeOf(() => client.update(maintenanceEvent, wanted, { fieldManager: 'kubenode-cli' }))
    if (written.kind === 'Applied') return true
    const fresh =
      written.kind === 'Conflict' && tries < MOST_TRIES
        ? await client.get(maintenanceEvent, { name: event.metadata.name ?? '' })
        : undefined
    if (fresh === undefined || fresh.metadata.uid !== event.metadata.uid) throw written.error
    event = fresh
  }
}

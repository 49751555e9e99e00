// The story of a rack or a zone in lines: whether it is blamed for failures of its machines, what waits for that and until when, which of its machines
// are unavailable, and the work on its hosts. Pure.
import type { DefenderLedger, LedgerSpec } from '#api/kinds/defender-ledger.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { REMEMBERED_MS } from '#defender/blame/failing.ts'
import { maintenanceText } from '#nodes/faults/maintenance.ts'
import { shortWord } from '#api/nouns.ts'
import { counted } from '#lib/counted.ts'
import { formatDuration } from '#lib/duration.ts'
import { maintenanceStory, shownMaintenance } from './maintenance-story.ts'
import { notesOf, type Story, type Finding } from './finding.ts'
import { waitFindings } from './wait.ts'
import { someOf } from '#lib/some-of.ts'

export interface PlaceNamed {
  readonly kind: 'rack' | 'zone'
  readonly name: string
}

export interface PlaceSeen {
  /** Machines of the whole cluster. */
  readonly machines: readonly Machine[]
  readonly events: readonly MaintenanceEvent[]
  readonly permits: readonly OperationPermit[]
  readonly ledger: DefenderLedger | undefined
}

type Blame = NonNullable<LedgerSpec['blames']>[number]
type Grant = NonNullable<LedgerSpec['grants']>[number]
type Reservation = NonNullable<LedgerSpec['reservations']>[number]

/** Limit of listed names; the count has the total. */
const MOST_NAMED = 20

export const machinesAt = (machines: readonly Machine[], { kind, name }: PlaceNamed): readonly Machine[] =>
  machines.filter(({ spec }) => spec[kind] === name)

export function placeStory(place: PlaceNamed, seen: PlaceSeen, now: number): Story {
  const here = machinesAt(seen.machines, place)
  const names = here.map((m) => m.metadata.name ?? '')
  const blame = seen.ledger?.spec.blames?.find((b) => b.kind.toLowerCase() === place.kind && b.value === place.name)
  const events = names.flatMap((name) => shownMaintenance(seen.events, name, now))
  const word = `${place.kind}/${place.name}`
  return {
    object: word,
    text: `${word} has ${counted(here.length, 'machine')}${blame === undefined ? '' : ' and is blamed'}`,
    below: [
      blame === undefined
        ? { text: 'Not blamed: its machines do not fail together.' }
        : blameFinding(blame, waitingFor(here, seen.permits), now),
      { text: `Machines: ${listed(names)}` },
      ...awayFindings(here, seen.ledger?.spec, now),
      ...events.map((e) => ({
        text: `Work on a host: ${maintenanceText(e)}`,
        below: [
          ...notesOf(maintenanceStory(e)),
          ...waitFindings(e.status?.waitingFor, { now }, `maintenanceevent/${e.metadata.name ?? ''}`),
        ],
      })),
    ],
  }
}

function blameFinding(blame: Blame, waiting: readonly OperationPermit[], now: number): Finding {
  const { since, seenAt, failing, members, failingElsewhere, elsewhere, machines = [] } = blame
  const ago = (at: string) => formatDuration(Math.max(0, now - Date.parse(at)))
  const isRepair = ({ spec }: OperationPermit) => spec.requester.kind === 'RemedyOperationJob'
  const wait = (what: string, permits: readonly OperationPermit[]) =>
    permits.length === 0 ? [`no ${what} waits for it`] : [`${what} that waits: ${listed(permits.map(requestOf))}`]
  const text = `Blamed for ${ago(since)}: ${failing} of ${members} fail, ${failingElsewhere} of ${elsewhere} elsewhere${machines.length === 0 ? '' : `: ${machines.join(', ')}`}`
  const lines = [
    'repairs of single machines in it and rollouts to them wait',
    ...wait('repair', waiting.filter(isRepair)),
    ...wait(
      'rollout',
      waiting.filter((p) => !isRepair(p)),
    ),
    `failures were counted last ${ago(seenAt)} ago`,
  ]
  const ends = `fewer than one in twenty of its machines fail for ${formatDuration(REMEMBERED_MS)}`
  return { text, urgency: 'Waiting', ends, below: notesOf(lines) }
}

/** Machines that reduce its remaining budgets: those with a granted operation, and those unavailable because of work on their hosts. */
function awayFindings(here: readonly Machine[], ledger: LedgerSpec | undefined, now: number): readonly Finding[] {
  const uids = new Set(here.map((m) => m.metadata.uid ?? ''))
  const granted = (ledger?.grants ?? []).filter((g) => uids.has(g.target) && g.exempt === undefined)
  const reserved = (ledger?.reservations ?? []).filter((r) => uids.has(r.target))
  const away = new Set([...granted, ...reserved].map((each) => each.target)).size
  const all = ledger?.reservationCount ?? 0
  const unlisted = all - (ledger?.reservations ?? []).length
  const shortened =
    unlisted > 0 ? [`the ledger lists ${all - unlisted} of ${counted(all, 'booking')}: here may be more`] : []
  const lines = [...granted.map((g) => grantLine(g, now)), ...reserved.map((r) => reservationLine(r, now))]
  const more = lines.length > MOST_NAMED ? [`and ${lines.length - MOST_NAMED} more`] : []
  if (lines.length + shortened.length === 0) return [{ text: 'Counted as away by the Defender: none of its machines.' }]
  return [
    {
      text: `Counted as away by the Defender: ${away === 0 ? 'none of those that its ledger lists' : `${away} of ${counted(here.length, 'machine')}`}`,
      below: notesOf([...lines.slice(0, MOST_NAMED), ...more, ...shortened]),
    },
  ]
}

const grantLine = (g: Grant, now: number): string =>
  `${g.name}: ${g.operations.join(', ')}${g.component === undefined ? '' : ` of ${g.component}`} was granted ${formatDuration(Math.max(0, now - Date.parse(g.grantedAt)))} ago (permit/${g.permit})${g.state === 'Orphaned' ? '; its result is unknown' : ''}`

function reservationLine({ name, event, from, notBefore }: Reservation, now: number): string {
  const work = notBefore === undefined ? 'has begun' : `begins at ${notBefore}`
  return `${name}: has counted for ${formatDuration(Math.max(0, now - Date.parse(from)))}; the work of maintenanceevent/${event} ${work}`
}

/** Requests for machines in this place that the blame gate blocks. */
const waitingFor = (here: readonly Machine[], permits: readonly OperationPermit[]): readonly OperationPermit[] => {
  const uids = new Set(here.map((m) => m.metadata.uid ?? ''))
  return permits.filter(
    ({ status }) =>
      status?.phase === 'Requested' &&
      (status.verdicts ?? []).some((v) => v.gate === 'Blame' && v.verdict === 'Waiting' && uids.has(v.target ?? '')),
  )
}

const requestOf = ({ metadata, spec: { requester } }: OperationPermit): string =>
  requester.kind === undefined || requester.name === undefined
    ? `permit/${metadata.name ?? ''}`
    : shortWord(`${requester.kind.toLowerCase()}/${requester.name}`)

const listed = (names: readonly string[]): string => someOf(names, MOST_NAMED)

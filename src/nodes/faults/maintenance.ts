// The effects of an open MaintenanceEvent on others: repairs of its machine stand off, and budgets reserve its place. Pure.
import { type MaintenanceEvent, PEOPLE } from '#api/kinds/maintenance-event.ts'
import { maintenanceTable, type MaintenancePhase } from '#api/protocol/maintenance.ts'
import { durationMs } from '#lib/duration.ts'

/** A bill is for people, who can pay it. On the last day before the host ends, its node is drained. */
export const BILL_LEAD_MS = 86_400_000

/** Minimum lead before notBefore: a drain that was never measured may take this long. */
export const LEAST_LEAD_MS = 2 * 3_600_000

export const phaseOfEvent = ({ status }: Pick<MaintenanceEvent, 'status'>): MaintenancePhase =>
  status?.phase ?? 'Announced'

export const isOver = (event: Pick<MaintenanceEvent, 'status'>): boolean =>
  (maintenanceTable.terminal as readonly string[]).includes(phaseOfEvent(event))

/** The cause of the node's state is known, so no repair of it starts. An event that is weeks away explains nothing. */
export const standsOff = (event: Pick<MaintenanceEvent, 'status' | 'spec'>): boolean =>
  !isOver(event) && (phaseOfEvent(event) !== 'Announced' || (event.spec.unplanned && takesHostAway(event)))

/** Machine → the text about maintenance of its host, while that explains its node's state. */
export const maintainedBy = (events: readonly MaintenanceEvent[]): ReadonlyMap<string, string> =>
  new Map(events.flatMap((e) => (standsOff(e) ? [[e.spec.machine, maintenanceText(e)] as const] : [])))

/** A bill without an end has no last day. */
export const takesHostAway = ({ spec }: Pick<MaintenanceEvent, 'spec'>): boolean =>
  spec.kind !== 'Notice' && (spec.bill !== true || spec.notBefore !== undefined)

/** The longest time before notBefore at which anything happens. */
export const mostLeadMs = ({ bill }: Pick<MaintenanceEvent['spec'], 'bill'>): number =>
  bill === true ? BILL_LEAD_MS : Infinity

export const leadMs = ({ status }: Pick<MaintenanceEvent, 'status'>): number =>
  Math.max(LEAST_LEAD_MS, durationMs(status?.lead ?? '') ?? 0)

/** In these phases the machine is unavailable or about to be, whatever the clock shows. */
const AWAY: ReadonlySet<MaintenancePhase> = new Set(['Missed', 'InProgress', 'Verifying'])

/** The time from which budgets count the machine as unavailable, whether or not its drain was granted. Undefined: never. */
export function bookedFrom(event: Pick<MaintenanceEvent, 'status' | 'spec'>): number | undefined {
  if (isOver(event) || !takesHostAway(event)) return undefined
  const { notBefore, unplanned } = event.spec
  if (AWAY.has(phaseOfEvent(event)) || unplanned) return 0
  const at = Date.parse(notBefore ?? '')
  return Number.isNaN(at) ? undefined : at - leadMs(event)
}

/** Repairs of the node stand off while a provider works on its host. If that never seems to end, it must be noticed. */
const LONGEST_WORK_MS = 86_400_000
/** An end mistyped by a year must not disable repairs for that long. */
export const LONGEST_PLANNED_DAYS = 31

/** People give an end, unless they write the object by hand. A provider's last report only has the start. */
export function isOverrun(event: Pick<MaintenanceEvent, 'status' | 'spec'>, now: number): boolean {
  const { spec, status } = event
  const phase = phaseOfEvent(event)
  if (isOver(event) || phase === 'Verifying') return false
  const isPlanned = spec.source === PEOPLE && spec.notAfter !== undefined
  if (isPlanned && Date.parse(spec.notAfter) < now) return true
  const longest = isPlanned ? LONGEST_PLANNED_DAYS * 86_400_000 : LONGEST_WORK_MS
  const since = Date.parse(status?.phaseSince ?? '')
  if (phase === 'InProgress') return now - since > longest
  // A provider that never starts keeps the node drained.
  const latest = Date.parse(spec.notAfter ?? spec.notBefore ?? '')
  return phase === 'Prepared' && now - Math.max(since, Number.isNaN(latest) ? since : latest) > longest
}

/** Who takes the host: the person who planned it, or the source. */
export const plannerOf = ({ plannedBy, source }: MaintenanceEvent['spec']): string => plannedBy ?? source

/** One sentence for people. */
export const maintenanceText = ({ metadata, spec, status }: MaintenanceEvent): string =>
  `maintenanceevent/${metadata.name} (${spec.kind} by ${plannerOf(spec)}) is ${status?.phase ?? 'Announced'}`

// The story of work on a host in lines: what, by whom, when, how far its node is prepared, and the command that ends it. Pure.
import { type MaintenanceEvent, PEOPLE } from '#api/kinds/maintenance-event.ts'
import { BILL_LEAD_MS, isOver, phaseOfEvent, plannerOf, standsOff, takesHostAway } from '#nodes/faults/maintenance.ts'
import { timestamp } from '#lib/clock.ts'

const DAY_MS = 86_400_000

/** Unfinished work, next first, and work of the last day after which the machine was not healthy. */
export function shownMaintenance(
  events: readonly MaintenanceEvent[],
  machine: string,
  now: number,
): readonly MaintenanceEvent[] {
  const hasFailedLately = (e: MaintenanceEvent): boolean =>
    phaseOfEvent(e) === 'Failed' && now - Date.parse(e.status?.endedAt ?? '') < DAY_MS
  return events
    .filter((e) => e.spec.machine === machine && (!isOver(e) || hasFailedLately(e)))
    .toSorted((a, b) => startOf(a) - startOf(b))
}

/** Without a time, the work may begin at any moment. */
const startOf = ({ spec }: MaintenanceEvent): number => Date.parse(spec.notBefore ?? '') || 0

/** Adds to what it waits for, which its status shows. */
export function maintenanceStory(event: MaintenanceEvent): readonly string[] {
  const { spec, status = {} } = event
  const reason = spec.description === undefined ? '' : `: ${spec.description}`
  return [
    `${spec.kind} by ${plannerOf(spec)}, ${timesOf(event)}${reason}`,
    ...(takesHostAway(event) ? [] : ['a notice for people: nothing is done']),
    ...(spec.bill === true ? [billText(event)] : []),
    ...(spec.dataLoss ? ["it destroys the data on the host's own disks"] : []),
    ...(status.approvedBy === undefined ? [] : [`approved by ${status.approvedBy.join(', ')}`]),
    ...(spec.endedBy === undefined
      ? []
      : [`${spec.state === 'Cancelled' ? 'called off' : 'ended'} by ${spec.endedBy}`]),
    ...(status.missedAt === undefined ? [] : [`it began before the node was drained, at ${status.missedAt}`]),
    ...(status.drainedAt === undefined ? [] : [`the node was drained at ${status.drainedAt}`]),
    ...(standsOff(event) ? ['repairs of the node stand off until it is over'] : []),
    ...(isOver(event) && status.message !== undefined ? [status.message] : []),
    ...commandLines(event),
  ]
}

function billText(event: MaintenanceEvent): string {
  const cause = 'what was paid for ends: pay the bill at the provider, or renew the host'
  if (!takesHostAway(event)) return cause
  const from = timestamp(Date.parse(event.spec.notBefore ?? '') - BILL_LEAD_MS)
  return `${cause}; nothing is done before ${from}`
}

function timesOf({ spec }: MaintenanceEvent): string {
  if (spec.notBefore === undefined && spec.source === PEOPLE)
    return `as soon as the node is drained${spec.notAfter === undefined ? '' : `, until ${spec.notAfter}`}`
  if (spec.notBefore === undefined) return 'at a time that its source does not name'
  // Work planned by people has an end; work announced by a provider has a latest start.
  if (spec.notAfter === undefined) return `not before ${spec.notBefore}`
  return spec.source === PEOPLE
    ? `from ${spec.notBefore} until ${spec.notAfter}`
    : `to begin between ${spec.notBefore} and ${spec.notAfter}`
}

/** Only the announcer of the work can end it. After it has begun, its wait names the command. */
function commandLines(event: MaintenanceEvent): readonly string[] {
  const { metadata, spec } = event
  const isBegun = !['Announced', 'Preparing', 'Prepared'].includes(phaseOfEvent(event))
  if (spec.source !== PEOPLE || spec.state !== 'Scheduled' || isBegun) return []
  const name = metadata.name ?? ''
  return [`to call it off: kubenode maintenance cancel ${name}`]
}

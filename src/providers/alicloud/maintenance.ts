// System events of Alibaba Cloud as maintenance of hosts, the answers it takes, and reports of faults. A restart from inside of a host answers no event: it has to be ordered here.
import { timestamp } from '#lib/clock.ts'
import { allPages } from '../cloud/pages.ts'
import type { CloudApi, CloudHost, CloudMaintenance } from '../cloud/cloud-provider.ts'
import { listIn, textIn } from '../cloud/json.ts'
import type { FaultCategory, MaintenanceAnswer, MaintenanceKind, MaintenanceState } from '../port.ts'
import { ECS_STATES, ecsEvent } from './event-words.ts'
import { type Ask, type Order, unreadable } from './query.ts'
import { defined } from '#lib/defined.ts'
import { shortened } from '#lib/shortened.ts'

interface Tools {
  readonly ask: Ask
  readonly order: Order
  readonly place: string
}

/** Without being named, only ended ones are listed. */
const EVERY_STATE = Object.fromEntries(Object.keys(ECS_STATES).map((s, i) => [`InstanceEventCycleStatus.${i + 1}`, s]))

const PAGE = '100'

export function ecsMaintenance({
  ask,
  order,
  place,
}: Tools): Pick<CloudApi, 'maintenance' | 'respond' | 'reportFault'> {
  const events = (params: Readonly<Record<string, string>>, signal?: AbortSignal) =>
    allPages(`the events in ${place}`, async (next) => {
      const body = await ask(
        'DescribeInstanceHistoryEvents',
        { ...EVERY_STATE, MaxResults: PAGE, ...params, ...defined({ NextToken: next }) },
        { signal },
      )
      const items = listIn(body, 'InstanceSystemEventSet', 'InstanceSystemEventType')
      if (items === undefined) throw unreadable('DescribeInstanceHistoryEvents', place, 'it has no list of events')
      return { items: items.flatMap((e) => eventOf(e) ?? []), next: textIn(body, 'NextToken') }
    })
  return {
    async maintenance(hosts, signal) {
      const ours = new Map(hosts.map((h) => [h.id, h]))
      const announced = (await events({}, signal)).filter((e) => ours.has(e.id))
      return [...announced, ...hosts.filter((h) => h.isReclaimed === true).map(reclaimOf)]
    },
    async respond(eventId, answer, signal) {
      const [event] = (await events({ 'EventId.1': eventId }, signal)).filter((e) => e.eventId === eventId)
      if (event === undefined) return 'Gone'
      if (!event.answers.includes(answer.kind)) return 'Refused'
      const ordered = await answered(event, answer, signal)
      return ordered === 'Missing' ? 'Gone' : ordered
    },
    reportFault: (id, category, text, signal) =>
      order(
        'ReportInstancesStatus',
        { 'InstanceId.1': id, Reason: REASONS[category], Description: text.slice(0, DESCRIPTION_CHARS) },
        { signal },
      ),
  }

  function answered({ eventId, id, kind }: CloudMaintenance, answer: MaintenanceAnswer, signal?: AbortSignal) {
    if (answer.kind === 'Accept') return order('AcceptInquiredSystemEvent', { EventId: eventId }, { signal })
    if (answer.kind === 'Postpone') {
      const until = timestamp(Date.parse(answer.until))
      return order('ModifySystemEventAttribute', { EventId: eventId, InstanceId: id, NotBefore: until }, { signal })
    }
    return kind === 'Redeploy'
      ? order('RedeployInstance', { InstanceId: id, ForceStop: 'false' }, { signal, once: true })
      : order('RebootInstance', { InstanceId: id, ForceStop: 'false' }, { signal, once: true })
  }
}

/** Undefined for events that are not about an instance. */
function eventOf(event: unknown): CloudMaintenance | undefined {
  const [eventId, id] = [textIn(event, 'EventId'), textIn(event, 'InstanceId')]
  const type = textIn(event, 'EventType', 'Name') ?? ''
  if (eventId === undefined || id === undefined) return undefined
  const { kind, state, isUnplanned, losesData, isBill } = ecsEvent(type, textIn(event, 'EventCycleStatus', 'Name'))
  const notBefore = textIn(event, 'NotBefore')
  return {
    id,
    eventId,
    kind,
    state,
    isUnplanned,
    losesData,
    ...(isBill === true && { isBill }),
    ...defined({ notBefore }),
    answers: isBill === true ? [] : answersTo(kind, state),
    description: shortened(`${type}: ${textIn(event, 'Reason') ?? 'no reason given'}`, DESCRIPTION_CHARS),
  }
}

function answersTo(kind: MaintenanceKind, state: MaintenanceState): CloudMaintenance['answers'] {
  if (state === 'Inquiring') return ['Accept']
  if (state !== 'Scheduled') return []
  return kind === 'Reboot' || kind === 'Redeploy' ? ['Start', 'Postpone'] : []
}

/** About five minutes before the vendor takes a spot host back. */
const reclaimOf = ({ id }: CloudHost): CloudMaintenance => ({
  id,
  eventId: `reclaim-${id}`,
  kind: 'Reclaim',
  // Announced, and not begun: what runs there can still be moved.
  state: 'Scheduled',
  isUnplanned: true,
  losesData: true,
  answers: [],
  description: 'the vendor reclaims the spot host',
})

const DESCRIPTION_CHARS = 200

const REASONS: Readonly<Record<FaultCategory, string>> = {
  Hang: 'instance-hang',
  Network: 'abnormal-network',
  // Its own reason wants the vendor's id of the disk.
  Disk: 'others',
  Cpu: 'others',
  Memory: 'others',
  Power: 'others',
  Accelerator: 'others',
  Other: 'others',
}

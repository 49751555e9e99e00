// Scheduled events of EC2 as maintenance of hosts, the answers it takes, and reports of faults. Events of spot hosts come to the host itself only: its agent sees them.
import { timestamp } from '#lib/clock.ts'
import type { CloudApi, CloudMaintenance } from '../cloud/cloud-provider.ts'
import { allPages } from '../cloud/pages.ts'
import type { FaultCategory } from '../port.ts'
import { EC2_CODES, ec2Event } from './event-words.ts'
import { type Ask, filters, type Order, unreadable } from './query.ts'
import { type Xml, xmlItems, xmlText } from './xml.ts'
import { defined } from '#lib/defined.ts'
import { shortened } from '#lib/shortened.ts'

const PAGE = '1000'

export function ec2Maintenance({
  ask,
  order,
}: {
  readonly ask: Ask
  readonly order: Order
}): Pick<CloudApi, 'maintenance' | 'respond' | 'reportFault'> {
  const events = (signal?: AbortSignal) =>
    allPages('the events of EC2', async (next) => {
      const body = await ask(
        'DescribeInstanceStatus',
        {
          IncludeAllInstances: 'true',
          MaxResults: PAGE,
          ...filters([['event.code', EC2_CODES]]),
          ...defined({ NextToken: next }),
        },
        { signal },
      )
      const statuses = xmlItems(body, 'instanceStatusSet')
      if (statuses === undefined) throw unreadable('DescribeInstanceStatus', 'it has no list')
      const items = statuses.flatMap((s) => (xmlItems(s, 'eventsSet') ?? []).flatMap((e) => eventOf(s, e) ?? []))
      return { items, next: xmlText(body, 'nextToken') }
    })
  return {
    async maintenance(hosts, signal) {
      const ours = new Set(hosts.map((h) => h.id))
      return (await events(signal)).filter((e) => ours.has(e.id))
    },
    async respond(eventId, answer, signal) {
      const event = (await events(signal)).find((e) => e.eventId === eventId)
      if (event === undefined) return 'Gone'
      if (!event.answers.includes(answer.kind)) return 'Refused'
      const { id } = event
      const ordered =
        answer.kind === 'Postpone'
          ? await order(
              'ModifyInstanceEventStartTime',
              { InstanceId: id, InstanceEventId: eventId, NotBefore: timestamp(Date.parse(answer.until)) },
              { signal },
            )
          : await order('RebootInstances', { 'InstanceId.1': id }, { signal, once: true })
      return ordered === 'Missing' ? 'Gone' : ordered
    },
    reportFault: (id, category, text, signal) =>
      order(
        'ReportInstanceStatus',
        {
          'InstanceId.1': id,
          Status: 'impaired',
          'ReasonCode.1': REASONS[category],
          Description: text.slice(0, DESCRIPTION_CHARS),
        },
        { signal },
      ),
  }
}

/** Undefined for events of a form that is not known. */
function eventOf(status: Xml, event: Xml): CloudMaintenance | undefined {
  const [id, eventId, code] = [
    xmlText(status, 'instanceId'),
    xmlText(event, 'instanceEventId'),
    xmlText(event, 'code') ?? '',
  ]
  if (id === undefined || eventId === undefined) return undefined
  const description = xmlText(event, 'description') ?? ''
  const { kind, state, losesData } = ec2Event(code, description)
  const [notBefore, notAfter] = [xmlText(event, 'notBefore'), xmlText(event, 'notAfter')]
  return {
    id,
    eventId,
    kind,
    state,
    isUnplanned: false,
    losesData,
    ...defined({ notBefore, notAfter }),
    answers: state === 'Scheduled' ? (ANSWERS[code] ?? []) : [],
    description: shortened(`${code}: ${description}`, DESCRIPTION_CHARS),
  }
}

/** A restart of the instance answers one of the instance; that of the hardware is the vendor's. */
const ANSWERS: Readonly<Record<string, CloudMaintenance['answers']>> = {
  'instance-reboot': ['Start', 'Postpone'],
  'system-reboot': ['Postpone'],
}

const DESCRIPTION_CHARS = 200

const REASONS: Readonly<Record<FaultCategory, string>> = {
  Hang: 'unresponsive',
  Network: 'performance-network',
  Disk: 'performance-instance-store',
  Cpu: 'other',
  Memory: 'other',
  Power: 'other',
  Accelerator: 'other',
  Other: 'other',
}

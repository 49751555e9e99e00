// What AWS' metadata service reports to a host about its end: spot interruptions, planned maintenance, rebalance recommendations.
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { parsed } from '../cloud/credentials.ts'
import { textIn } from '../cloud/json.ts'
import {
  idOf,
  MAINTENANCE_EVERY_MS,
  type MetadataService,
  type Notice,
  sentence,
  SPOT_EVERY_MS,
  timeIn,
} from '../cloud/metadata.ts'
import { AWS_SESSION } from './credentials.ts'
import { ec2Event } from './event-codes.ts'

function interruption(text: string): readonly Notice[] | undefined {
  const listed = parsed(text)
  const notBefore = timeIn(textIn(listed, 'time'))
  const action = textIn(listed, 'action')
  if (notBefore === undefined || action === undefined) return undefined
  return [
    {
      id: `spot-${notBefore}`,
      kind: 'Reclaim',
      state: 'Scheduled',
      dataLoss: action === 'terminate',
      notBefore,
      description: sentence(`the spot host is interrupted: ${action}`),
    },
  ]
}

/** A higher risk, not an end: it informs people and their autoscalers, and drains no node. */
function rebalance(text: string): readonly Notice[] | undefined {
  const at = timeIn(textIn(parsed(text), 'noticeTime'))
  if (at === undefined) return undefined
  const description = 'the spot host is at a higher risk of interruption'
  return [{ id: `rebalance-${at}`, kind: 'Notice', state: 'Scheduled', description }]
}

function maintenance(text: string): readonly Notice[] | undefined {
  const list = parsed(text)
  if (!Array.isArray(list) || !list.every(isObject)) return undefined
  return list.flatMap((event): readonly Notice[] => {
    const id = idOf(textIn(event, 'EventId'))
    if (id === undefined) return []
    const code = textIn(event, 'Code') ?? ''
    const words = textIn(event, 'Description') ?? ''
    const { kind, state, losesData } = ec2Event(code, words)
    const [notBefore, notAfter] = [timeIn(textIn(event, 'NotBefore')), timeIn(textIn(event, 'NotAfter'))]
    return [
      {
        id,
        kind,
        state,
        ...(losesData && { dataLoss: true }),
        ...defined({ notBefore, notAfter }),
        description: sentence(`${code}: ${words}`),
      },
    ]
  })
}

export const AWS_METADATA: MetadataService = {
  cloud: 'AWS',
  ...AWS_SESSION,
  pages: [
    { path: '/latest/meta-data/spot/instance-action', everyMs: SPOT_EVERY_MS, notices: interruption },
    { path: '/latest/meta-data/events/recommendations/rebalance', everyMs: MAINTENANCE_EVERY_MS, notices: rebalance },
    { path: '/latest/meta-data/events/maintenance/scheduled', everyMs: MAINTENANCE_EVERY_MS, notices: maintenance },
  ],
}

// What Alibaba Cloud's metadata service reports to a host about its end: spot reclaims and hardware events.
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
import { ALICLOUD_SESSION } from './credentials.ts'
import { ecsEvent } from './event-types.ts'

/** The page is the time as text. */
function reclaim(text: string): readonly Notice[] | undefined {
  const notBefore = timeIn(text.trim())
  if (notBefore === undefined) return undefined
  return [
    {
      id: `spot-${notBefore}`,
      kind: 'Reclaim',
      state: 'Scheduled',
      dataLoss: true,
      notBefore,
      description: 'the vendor reclaims the spot host',
    },
  ]
}

/** The vendor writes names as text here, and as objects in its API; accept both. */
const word = (event: unknown, name: string): string | undefined => textIn(event, name) ?? textIn(event, name, 'Name')

function events(text: string): readonly Notice[] | undefined {
  if (text.trim() === '') return []
  const list = parsed(text)
  if (!Array.isArray(list) || !list.every(isObject)) return undefined
  return list.flatMap((event): readonly Notice[] => {
    const id = idOf(textIn(event, 'EventId'))
    if (id === undefined) return []
    const type = word(event, 'EventType') ?? ''
    const { kind, state, isUnplanned, losesData, isBill } = ecsEvent(type, word(event, 'EventCycleStatus'))
    const notBefore = timeIn(textIn(event, 'NotBefore'))
    return [
      {
        id,
        kind,
        state,
        ...(isUnplanned && { unplanned: true }),
        ...(losesData && { dataLoss: true }),
        ...(isBill === true && { bill: true }),
        ...defined({ notBefore }),
        description: sentence(`${type}: ${textIn(event, 'Reason') ?? 'no reason given'}`),
      },
    ]
  })
}

export const ALICLOUD_METADATA: MetadataService = {
  cloud: 'Alicloud',
  ...ALICLOUD_SESSION,
  pages: [
    { path: '/latest/meta-data/instance/spot/termination-time', everyMs: SPOT_EVERY_MS, notices: reclaim },
    { path: '/latest/maintenance/active-system-events', everyMs: MAINTENANCE_EVERY_MS, notices: events },
  ],
}

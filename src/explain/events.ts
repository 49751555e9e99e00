// Events of objects as rows, newest last, sorted like kubectl.
import { API_GROUP } from '#api/kind.ts'
import { formatAge } from '#lib/duration.ts'
import { printableLine } from '#lib/printable.ts'
import type { KubeClient } from '#kube/client.ts'
import type { BuiltIn } from '#kube/built-in.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { listAll } from '#kube/list-all.ts'
import type { KubeObject } from '#api/schema/object.ts'

/** More than anyone reads; older events are left out. */
const MOST_ROWS = 500

export const eventType = coreKind('Event')
export type Event = BuiltIn['Event']

/** Undefined: events of KubeNode kinds and of Nodes. */
export type About = readonly KubeObject[] | undefined

export const isAbout = (event: Event, objects: About): boolean =>
  objects === undefined ? isOurs(event) : objects.some((o) => event.involvedObject.uid === o.metadata.uid)

export async function eventsOf(client: KubeClient, objects: About): Promise<readonly Event[]> {
  if (objects === undefined) return (await listAll(client, eventType)).filter(isOurs)
  const pages = await Promise.all(
    objects.map((o) => listAll(client, eventType, { fieldSelector: `involvedObject.uid=${o.metadata.uid ?? ''}` })),
  )
  return pages.flat()
}

const isOurs = ({ involvedObject: { kind, apiVersion } }: Event): boolean =>
  kind === 'Node' || apiVersion?.startsWith(`${API_GROUP}/`) === true

/** Newer event kinds set unused times to null. */
const stampOf = (event: Event): string =>
  event.lastTimestamp || event.eventTime || (event.metadata.creationTimestamp ?? '')

export function eventRows(events: readonly Event[], now: number): readonly (readonly string[])[] {
  const sorted = events.toSorted((a, b) => Date.parse(stampOf(a)) - Date.parse(stampOf(b)))
  return sorted.slice(-MOST_ROWS).map((event) => {
    const { kind = '', name = '' } = event.involvedObject
    const at = Date.parse(stampOf(event))
    const count = event.count !== undefined && event.count > 1 ? ` (${event.count} times)` : ''
    return [
      `${Number.isNaN(at) ? '' : formatAge(now - at)}${count}`,
      event.type ?? '',
      `${kind.toLowerCase()}/${name}`,
      event.reason ?? '',
      event.message ?? '',
    ].map(printableLine)
  })
}

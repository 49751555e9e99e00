// Events of objects as rows, the newest last, as kubectl sorts them.
import { API_GROUP } from '#api/kind.ts'
import { formatAge } from '#lib/duration.ts'
import { isObject } from '#lib/json.ts'
import { printableLine } from '#lib/printable.ts'
import { textOf } from '#lib/fields.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { listAll } from '#kube/list-all.ts'
import type { KubeObject } from '#api/schema/object.ts'

/** More than anyone reads; older ones are left out. */
const MOST_ROWS = 500

export const eventType = coreKind('Event')

/** Undefined: those of our own kinds and of Nodes. */
export type About = readonly KubeObject[] | undefined

export const isAbout = (event: KubeObject, objects: About): boolean =>
  objects === undefined ? isOurs(event) : objects.some((o) => about(event)['uid'] === o.metadata.uid)

export async function eventsOf(client: KubeClient, objects: About): Promise<readonly KubeObject[]> {
  if (objects === undefined) return (await listAll(client, eventType)).filter(isOurs)
  const pages = await Promise.all(
    objects.map((o) => listAll(client, eventType, { fieldSelector: `involvedObject.uid=${o.metadata.uid ?? ''}` })),
  )
  return pages.flat()
}

const about = (event: KubeObject): Readonly<Record<string, unknown>> =>
  isObject(event['involvedObject']) ? event['involvedObject'] : {}

const isOurs = (event: KubeObject): boolean =>
  textOf(about(event)['kind']) === 'Node' || textOf(about(event)['apiVersion']).startsWith(`${API_GROUP}/`)

const stampOf = (event: KubeObject): string =>
  textOf(event['lastTimestamp']) || textOf(event['eventTime']) || (event.metadata.creationTimestamp ?? '')

export function eventRows(events: readonly KubeObject[], now: number): readonly (readonly string[])[] {
  const sorted = events.toSorted((a, b) => Date.parse(stampOf(a)) - Date.parse(stampOf(b)))
  return sorted.slice(-MOST_ROWS).map((event) => {
    const { kind, name } = about(event)
    const at = Date.parse(stampOf(event))
    const count = typeof event['count'] === 'number' && event['count'] > 1 ? ` (${event['count']} times)` : ''
    return [
      `${Number.isNaN(at) ? '' : formatAge(now - at)}${count}`,
      textOf(event['type']),
      `${textOf(kind).toLowerCase()}/${textOf(name)}`,
      textOf(event['reason']),
      textOf(event['message']),
    ].map(printableLine)
  })
}

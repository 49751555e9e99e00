// `kubenode events`: reported events of objects and, with `--watch`, each new one until Ctrl-C. Nothing is printed twice.
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { KubeClient } from '#kube/client.ts'
import { isGone } from '#kube/errors.ts'
import { GAP, alignedRow, widthsOf } from '#lib/terminal/rows.ts'
import type { Io } from '#lib/terminal/io.ts'
import { type About, type Event, eventRows, eventType, eventsOf, isAbout } from '#explain/events.ts'
import { wrapped } from '#lib/terminal/wrap.ts'

const HEAD = ['LAST SEEN', 'TYPE', 'OBJECT', 'REASON', 'MESSAGE'] as const

export interface EventsWanted {
  readonly objects: About
  /** Undefined: all types. */
  readonly types: readonly string[] | undefined
  readonly isFollowed: boolean
}

export async function showEvents(client: KubeClient, wanted: EventsWanted, io: Io): Promise<void> {
  const { objects, types, isFollowed } = wanted
  const isWanted = (event: Event): boolean =>
    isAbout(event, objects) && (types === undefined || types.some((type) => type === event.type))
  // Read before the list: events reported in between show up in both and are printed once.
  let from = isFollowed ? (await client.list(eventType, { limit: 1 })).resourceVersion : ''
  const printed = new Map<string, string | undefined>()
  const news = (events: readonly Event[]): readonly Event[] => {
    const fresh = events.filter(isWanted).filter(({ metadata: m }) => printed.get(m.uid ?? '') !== m.resourceVersion)
    for (const { metadata: m } of fresh) printed.set(m.uid ?? '', m.resourceVersion)
    return fresh
  }
  const print = printer(io)
  const first = news(await eventsOf(client, objects))
  if (first.length > 0 || isFollowed) print(first)
  else io.err('no events; the server keeps them for about an hour\n')
  const isOver = (): boolean => !isFollowed || io.signal?.aborted === true
  while (!isOver()) {
    try {
      const watch = { resourceVersion: from, ...defined({ signal: io.signal }) }
      for await (const event of client.watch(eventType, watch)) {
        if (event.type === 'BOOKMARK') from = event.resourceVersion
        else if (event.type === 'DELETED') printed.delete(event.object.metadata.uid ?? '')
        else print(news([event.object]))
      }
    } catch (e) {
      if (isOver()) return
      if (!isGone(e)) throw e
      from = (await client.list(eventType, { limit: 1 })).resourceVersion
      print(news(await eventsOf(client, objects)))
    }
  }
}

/** Names stay whole so that users can copy them; a long message gets its own line. Later rows keep the first rows' columns. */
function printer(io: Io): (events: readonly Event[]) => void {
  let widths: readonly number[] | undefined
  return (events) => {
    const rows = eventRows(events, systemClock.now())
    const shown = widths === undefined ? [HEAD, ...rows] : rows
    widths ??= widthsOf([HEAD, ...rows])
    for (const row of shown) for (const line of linesOf(row, widths, io.width?.())) io.out(`${line}\n`)
  }
}

const MESSAGE_INDENT = 4

export function linesOf(row: readonly string[], widths: readonly number[], most?: number): readonly string[] {
  const whole = alignedRow(row, widths)
  if (most === undefined || whole.length <= most) return [whole]
  const [message = '', before] = [row.at(-1), row.slice(0, -1)]
  const aligned = alignedRow(before, widths)
  // Decided by column widths, not per row. Otherwise short rows would have columns and long ones none.
  const hasColumns = widths.slice(0, -1).reduce((sum, w) => sum + w + GAP, -GAP) <= most
  const start = hasColumns && aligned.length <= most ? [aligned] : wrapped(before.join('  '), most)
  return [...start, ...wrapped(`${' '.repeat(MESSAGE_INDENT)}${message}`, most)]
}

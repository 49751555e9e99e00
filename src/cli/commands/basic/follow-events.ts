// `kubenode events`: what was reported of objects, and with `--watch` each new event, until Ctrl-C. Nothing is printed twice.
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
  // Before the list: what is reported in between is in both, and printed once.
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

/** Names stay whole, to be copied; a message that does not fit is below them. Later rows keep the columns of the first ones. */
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
  // By the widths and not by the row: else short rows have columns and long ones none.
  const hasColumns = widths.slice(0, -1).reduce((sum, w) => sum + w + GAP, -GAP) <= most
  const start = hasColumns && aligned.length <= most ? [aligned] : wrapped(before.join('  '), most)
  return [...start, ...wrapped(`${' '.repeat(MESSAGE_INDENT)}${message}`, most)]
}

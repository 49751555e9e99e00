// `--at TIME`: explains a moment of recorded history like the present, from what was known at that time.
import type { KubeObject } from '#api/schema/object.ts'
import { formatDuration } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { KubeClient } from '#kube/client.ts'
import { findOne, shownNamespace } from '#explain/objects/find-object.ts'
import { momentText } from '#explain/past/timeline.ts'
import { pastClient } from '#history/ask/past-client.ts'
import type { HistoryReader } from '#history/ask/reader.ts'
import { momentIn } from '#history/ask/when.ts'
import { historyErrors } from '#history/history-errors.ts'
import { GAP_REASONS } from '#history/store/writer.ts'
import { withReaders } from './histories.ts'
import type { AtOptions } from './history-options.ts'
import { kindCalled, namedAll } from './target.ts'

/** A cluster at that time, and the requested object. */
export interface PastObject {
  readonly cluster: string
  readonly client: KubeClient
  readonly object: KubeObject
  readonly at: number
}

/** Kinds to try for an object named without one, the likeliest first. */
const SEARCHED = ['machine', 'node', 'set', 'machineset', 'rule', 'job', 'permit', 'release', 'cluster']

/** Every recorded cluster in which one of the names existed at that time. Prints the gaps of that moment first. */
export async function inThePast(
  words: readonly string[],
  options: AtOptions,
  io: Io,
  use: (found: readonly PastObject[]) => Promise<void>,
): Promise<void> {
  const at = momentIn(options.at, Date.now())
  if (words.length === 0) throw new KubeNodeError(historyErrors.KN17010_at({ at: options.at }))
  await withReaders(options, io, async (readers) => {
    const found: PastObject[] = []
    for (const reader of readers) {
      if (options.context !== undefined && reader.cluster !== options.context) continue
      for (const word of namedAll(words)) {
        const one = await foundIn(reader, word, { at, namespace: options.namespace })
        if (one === undefined) continue
        for (const line of doubts(reader, at, one.object.kind)) io.err(shownLine(line))
        found.push(one)
      }
    }
    if (found.length === 0)
      throw new KubeNodeError(
        historyErrors.KN17005_at({
          what: words.join(' '),
          at: momentText(at),
          known: readers.map((r) => `${r.cluster} ${spanText(r)}`).join(', '),
        }),
      )
    await use(found)
  })
}

const spanText = (reader: HistoryReader): string => {
  const span = reader.span()
  return span === undefined ? 'nothing' : `from ${momentText(span.begins)} to ${momentText(span.ends)}`
}

async function foundIn(
  reader: HistoryReader,
  word: ReturnType<typeof namedAll>[number],
  { at, namespace }: { readonly at: number; readonly namespace: string | undefined },
): Promise<PastObject | undefined> {
  const client = pastClient(reader, at)
  const types = word.type === undefined ? SEARCHED.map(kindCalled) : [word.type]
  for (const type of types) {
    const object = await findOne(client, type, { name: word.name, namespace: shownNamespace(namespace, undefined) })
    if (object !== undefined) return { cluster: reader.cluster, client, object, at }
  }
  return undefined
}

/** A gap must not look like a known state. */
function doubts(reader: HistoryReader, at: number, kind: string): readonly string[] {
  const span = reader.span()
  const gaps = reader
    .gaps({ from: at, to: at + 1 })
    .filter((g) => g.subject === undefined && (g.kind === undefined || g.kind === kind))
  return [
    `as recorded in cluster ${reader.cluster} at ${momentText(at)}`,
    ...gaps.map(
      (g) =>
        `warning: not recorded from ${momentText(g.starts)}${g.ends === undefined ? '' : ` to ${momentText(g.ends)}`} (${GAP_REASONS[g.why]}); what follows was known before`,
    ),
    ...(span !== undefined && at > span.ends
      ? [`warning: the history ends ${formatDuration(at - span.ends)} before; what follows was known then`]
      : []),
  ]
}

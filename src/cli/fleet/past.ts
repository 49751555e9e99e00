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
import type { HistoryReader, RecordedGap } from '#history/ask/reader.ts'
import { momentIn } from '#history/ask/when.ts'
import { historyErrors } from '#history/history-errors.ts'
import { GAP_REASONS } from '#history/store/writer.ts'
import { readersOf, withReaders } from './histories.ts'
import type { AtOptions } from './history-options.ts'
import { kindCalled, namedAll } from './target.ts'

/** A cluster at that time, and the requested object. */
export interface PastObject {
  readonly cluster: string
  readonly client: KubeClient
  readonly object: KubeObject
  readonly at: number
  readonly notRecorded: readonly RecordedGap[]
}

/** What every `--at` prints for programs. */
export interface PastAnswer {
  readonly cluster: string
  readonly at: string
  /** `node/n-17`. */
  readonly object: string
  /** Gaps around that moment: the answer was known before the first of them. */
  readonly notRecorded: readonly { readonly from: string; readonly to?: string; readonly why: string }[]
  readonly answer: unknown
}

export const answerAt = ({ cluster, at, object, notRecorded }: PastObject, answer: unknown): PastAnswer => ({
  cluster,
  at: momentText(at),
  object: `${object.kind.toLowerCase()}/${object.metadata.name ?? ''}`,
  notRecorded: notRecorded.map(({ starts, ends, why }) => ({
    from: momentText(starts),
    ...(ends !== undefined && { to: momentText(ends) }),
    why: GAP_REASONS[why],
  })),
  answer,
})

/** Kinds to try for an object named without one, the likeliest first. */
const SEARCHED = ['machine', 'node', 'set', 'machineset', 'rule', 'job', 'permit', 'release', 'cluster']

/** Every recorded cluster in which one of the names existed at that time. Prints the gaps of that moment first. */
export async function inThePast(
  words: readonly string[],
  options: AtOptions,
  io: Io,
  use: (found: readonly PastObject[]) => Promise<void>,
): Promise<void> {
  const now = Date.now()
  const at = momentIn(options.at, now)
  if (words.length === 0) throw new KubeNodeError(historyErrors.KN17010_at({ at: options.at }))
  await withReaders(options, io, async (all) => {
    const readers = readersOf(all, options.context)
    refuseUnrecorded(readers, at, now)
    const found: PastObject[] = []
    for (const reader of readers) {
      for (const word of namedAll(words)) {
        const one = await foundIn(reader, word, { at, now, namespace: options.namespace })
        if (one === undefined) continue
        for (const line of doubts(reader, one)) io.err(shownLine(line))
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

/** A time that no recorder can have observed is a mistake of the question, not an object that did not exist. */
function refuseUnrecorded(readers: readonly HistoryReader[], at: number, now: number): void {
  const spans = readers.flatMap((r) => r.span() ?? [])
  const known = readers.map((r) => `${r.cluster} ${spanText(r)}`).join(', ')
  if (at > now && spans.every(({ ends }) => ends <= at))
    throw new KubeNodeError(historyErrors.KN17006_future({ at: momentText(at), known }))
  if (spans.every(({ begins }) => at < begins))
    throw new KubeNodeError(historyErrors.KN17006_before({ at: momentText(at), known }))
}

const spanText = (reader: HistoryReader): string => {
  const span = reader.span()
  return span === undefined ? 'nothing' : `from ${momentText(span.begins)} to ${momentText(span.ends)}`
}

async function foundIn(
  reader: HistoryReader,
  word: ReturnType<typeof namedAll>[number],
  { at, now, namespace }: { readonly at: number; readonly now: number; readonly namespace: string | undefined },
): Promise<PastObject | undefined> {
  const client = pastClient(reader, at)
  const types = word.type === undefined ? SEARCHED.map(kindCalled) : [word.type]
  for (const type of types) {
    const object = await findOne(client, type, { name: word.name, namespace: shownNamespace(namespace, undefined) })
    if (object !== undefined)
      return { cluster: reader.cluster, client, object, at, notRecorded: gapsAt(reader, object.kind, at, now) }
  }
  return undefined
}

const gapsAt = (reader: HistoryReader, kind: string, at: number, now: number): readonly RecordedGap[] =>
  reader
    .gapsUntil(now, { from: at, to: at + 1 })
    .filter((g) => g.subject === undefined && (g.kind === undefined || g.kind === kind))

/** A gap must not look like a known state. */
function doubts(reader: HistoryReader, { at, notRecorded }: PastObject): readonly string[] {
  const span = reader.span()
  return [
    `as recorded in cluster ${reader.cluster} at ${momentText(at)}`,
    ...notRecorded.map(
      (g) =>
        `warning: not recorded from ${momentText(g.starts)}${g.ends === undefined ? '' : ` to ${momentText(g.ends)}`} (${GAP_REASONS[g.why]}); what follows was known before`,
    ),
    ...(span !== undefined && at > span.ends && notRecorded.every(({ why }) => why !== 'NotWritten')
      ? [`warning: the history ends ${formatDuration(at - span.ends)} before; what follows was known then`]
      : []),
  ]
}

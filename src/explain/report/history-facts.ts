// What a recorded history adds to a report: faults that ended, and objects that were deleted. It reads only.
import type { KubeObject } from '#api/schema/object.ts'
import { type Fact, objectFrom } from '#history/facts/facts.ts'
import { shapeOfKind } from '#history/facts/shapes.ts'
import type { HistoryReader } from '#history/ask/reader.ts'
import type { Fault } from './facts.ts'
import { recordedFaults } from './faults.ts'

export interface PastFacts {
  readonly faults: readonly Fault[]
  /** The last recorded form of each, whether or not it still exists. */
  readonly jobs: readonly KubeObject[]
  readonly permits: readonly KubeObject[]
  readonly releases: readonly KubeObject[]
  readonly unknown: readonly string[]
}

interface Range {
  readonly from: number
  readonly to: number
}

/** Repairs of the day before explain which ones came back. */
const BEFORE_MS = 86_400_000

export function pastFacts(reader: HistoryReader, { from, to }: Range, timeText: (ms: number) => string): PastFacts {
  const span = reader.span()
  const gaps = reader.gaps({ from, to }).filter((g) => g.subject === undefined)
  return {
    faults: recordedFaults(reader.rows({ from, to }), from),
    jobs: lastKnown(reader, 'RemedyOperationJob', { from: from - BEFORE_MS, to }),
    permits: lastKnown(reader, 'OperationPermit', { from: from - BEFORE_MS, to }),
    releases: lastKnown(reader, 'Release', { from: from - BEFORE_MS, to }),
    unknown: [
      ...(span === undefined ? ['the history is empty'] : []),
      ...(span !== undefined && span.begins > from
        ? [`what was before ${timeText(span.begins)}: the history begins then`]
        : []),
      ...(span !== undefined && span.ends < to - STALE_MS
        ? [`what was after ${timeText(span.ends)}: the history ends then`]
        : []),
      ...(gaps.length === 0
        ? []
        : [`what happened in ${gaps.length} gaps of the history, the last from ${timeText(gaps.at(-1)?.starts ?? 0)}`]),
    ],
  }
}

/** A recorder that runs says every few seconds that it does. */
const STALE_MS = 300_000

/** Each object with the last recorded value of each part, also one that was deleted since. */
function lastKnown(reader: HistoryReader, kind: string, { from, to }: Range): readonly KubeObject[] {
  const shape = shapeOfKind(kind)
  if (shape === undefined) return []
  return reader.subjects(kind).flatMap((subject) => {
    const facts = new Map<string, Fact>()
    let isOfRange = false
    for (const { topic, value, said, heard } of reader.rowsOf(subject, { from: 0, to })) {
      isOfRange ||= heard >= from
      if (value !== undefined) facts.set(topic, { topic, value, said })
    }
    const namespace = subject.namespace === '' ? undefined : subject.namespace
    const object = isOfRange ? objectFrom({ ...subject, namespace, facts: [...facts.values()] }, shape) : undefined
    return object === undefined ? [] : [object]
  })
}

// What a recorded history adds to a report: faults that ended, and objects that were deleted. It reads only.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Release } from '#api/kinds/release.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { MIB } from '#lib/bytes.ts'
import { timestamp } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { Steps } from '#lib/steps.ts'
import { type Fact, objectFrom } from '#history/facts/facts.ts'
import { shapeOfKind } from '#history/facts/shapes.ts'
import { historyErrors } from '#history/history-errors.ts'
import type { HistoryReader, Range } from '#history/ask/reader.ts'
import type { Subject } from '#history/store/names.ts'
import type { Fault } from './facts.ts'
import { recordedFaults } from './faults.ts'

export interface PastFacts {
  /** Undefined if the reader may not see Nodes. */
  readonly faults: readonly Fault[] | undefined
  /** The last recorded form of each, whether or not it still exists. */
  readonly jobs: readonly RemedyOperationJob[]
  readonly rules: readonly NodeRemedier[]
  /** Those of the jobs. */
  readonly permits: readonly OperationPermit[]
  readonly releases: readonly Release[]
  readonly unknown: readonly string[]
}

/** Repairs of the day before explain which ones came back. */
const BEFORE_MS = 86_400_000
/** Characters of the objects of one kind, and faults: years of a large cluster. A recorded cluster may have others, and a console reports about many. */
const MOST_CHARS = 64 * MIB
const MOST_FAULTS = 500_000

interface Most {
  readonly chars: number
  readonly faults: number
}

/** `isShown`: which kinds the report may be made of. */
export function* pastFacts(
  reader: HistoryReader,
  { from, to }: Range,
  isShown: (kind: string) => boolean = () => true,
  most: Most = { chars: MOST_CHARS, faults: MOST_FAULTS },
): Steps<PastFacts> {
  const span = reader.span()
  const gaps = reader
    .gaps({ from, to })
    .filter((g) => g.subject === undefined && (g.kind === undefined || isShown(g.kind)))
  const tooMuch = (kind: string, count: number, of: string) =>
    new KubeNodeError(historyErrors.KN17004_most({ cluster: reader.cluster, kind, most: count, of }))
  const faults = isShown('Node')
    ? yield* recordedFaults(reader.rowPages(['Node'], { from, to }), from, (count) => {
        if (count > most.faults) throw tooMuch('Node', most.faults, 'faults')
      })
    : undefined
  const inTime = yield* changedSubjects(reader, KINDS_OF_REPORT.filter(isShown), { from: from - BEFORE_MS, to })
  const sizeCheck = (kind: string) => (chars: number) => {
    if (chars > most.chars) throw tooMuch(kind, most.chars, 'characters')
  }
  const changed = function* (kind: string): Steps<readonly KubeObject[]> {
    return yield* lastKnown(reader, kind, inTime.get(kind) ?? [], { to, check: sizeCheck(kind) })
  }
  const jobs = (yield* changed('RemedyOperationJob')) as readonly RemedyOperationJob[]
  // Every switch of a component has a permit: only those of repairs are read.
  const granted = isShown('OperationPermit')
    ? jobs.flatMap(({ status }) =>
        status?.permitRef === undefined ? [] : reader.subjects('OperationPermit', status.permitRef),
      )
    : []
  return {
    faults,
    jobs,
    rules: (yield* changed('NodeRemedier')) as readonly NodeRemedier[],
    permits: (yield* lastKnown(reader, 'OperationPermit', granted, {
      to,
      check: sizeCheck('OperationPermit'),
    })) as readonly OperationPermit[],
    releases: (yield* changed('Release')) as readonly Release[],
    unknown: [
      ...(span === undefined ? ['the history is empty'] : []),
      ...(span !== undefined && span.begins > from
        ? [`what was before ${timestamp(span.begins)}: the history begins then`]
        : []),
      ...(span !== undefined && span.ends < to - STALE_MS
        ? [`what was after ${timestamp(span.ends)}: the history ends then`]
        : []),
      ...(gaps.length === 0
        ? []
        : [
            `what happened in ${gaps.length} gaps of the history, the last from ${timestamp(gaps.at(-1)?.starts ?? 0)}`,
          ]),
    ],
  }
}

/** A recorder that runs says every few seconds that it does. */
const STALE_MS = 300_000

const KINDS_OF_REPORT = ['RemedyOperationJob', 'NodeRemedier', 'Release']

/** The objects of which something was recorded in a time, by kind. */
function* changedSubjects(
  reader: HistoryReader,
  kinds: readonly string[],
  range: Range,
): Steps<ReadonlyMap<string, readonly Subject[]>> {
  const found = new Map<string, Map<number, Subject>>(kinds.map((kind) => [kind, new Map()]))
  for (const page of reader.rowPages(kinds, range)) {
    for (const { subject } of page) found.get(subject.kind)?.set(subject.id, subject)
    yield
  }
  return new Map([...found].map(([kind, all]) => [kind, [...all.values()].toSorted(byName)]))
}

const byName = (a: Subject, b: Subject): number => a.name.localeCompare(b.name) || a.id - b.id

/** Each object with the last recorded value of each part, also one that was deleted since. */
function* lastKnown(
  reader: HistoryReader,
  kind: string,
  subjects: readonly Subject[],
  { to, check }: { readonly to: number; readonly check: (chars: number) => void },
): Steps<readonly KubeObject[]> {
  const shape = shapeOfKind(kind)
  const out: KubeObject[] = []
  let chars = 0
  if (shape === undefined) return out
  for (const subject of subjects) {
    const facts = new Map<string, Fact>()
    for (const { topic, value, reported } of reader.rowsOf(subject, { from: 0, to }))
      if (value !== undefined) facts.set(topic, { topic, value, reported })
    for (const { value } of facts.values()) chars += value.length
    check(chars)
    const namespace = subject.namespace === '' ? undefined : subject.namespace
    const object = objectFrom({ ...subject, namespace, facts: [...facts.values()] }, shape)
    if (object !== undefined) out.push(object)
    yield
  }
  return out
}

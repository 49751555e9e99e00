// Collects the history of one object: its own rows, the rows of related objects, and its states over time. Decides which objects are related.
import { KubeNodeError } from '#lib/errors.ts'
import { fieldsOf } from '#lib/fields.ts'
import type { Steps } from '#lib/steps.ts'
import type { DeedLine } from '../deeds/chain.ts'
import { SHAPES } from '../facts/shapes.ts'
import { historyErrors } from '../history-errors.ts'
import type { Subject } from '../store/names.ts'
import { isGoodWhenTrue, isNeutral, isWork, phaseMeaning } from './meaning.ts'
import type { HistoryReader, Range, RecordedGap, Transition } from './reader.ts'

export interface Life {
  readonly cluster: string
  /** `node/n-17`. */
  readonly object: string
  readonly range: Range
  /** In the order of observation, including the facts known before the range. */
  readonly rows: readonly Transition[]
  /** The oldest rows of the range that `rows` has no place for; the facts that were known after them are there. */
  readonly leftOut: number
  /** Each lane is one bar of states over time. */
  readonly lanes: readonly Lane[]
  readonly gaps: readonly RecordedGap[]
  readonly deeds: readonly DeedLine[]
}

export interface Lane {
  readonly name: string
  /** Each state lasts until the next one; the last until the end of the range. */
  readonly states: readonly LaneState[]
}

export interface LaneState {
  readonly from: number
  readonly state: 'Good' | 'Bad' | 'Busy' | 'Unknown' | 'Absent'
  readonly text: string
}

/** More objects than anyone reads about; the newest are kept. */
const MAX_RELATED = 200
/** Objects of one name, and values of one fact: a cluster may make and change the same without an end. */
const MAX_OWN = 200
/** More rows than anyone reads; of each object the newest are kept. */
const MOST_ROWS = 100_000

/** Throws at its first step if no object of this name was recorded. What belongs to it is left out where `mayRead` says so of its kind. */
export function* lifeOf(
  reader: HistoryReader,
  kind: string,
  name: string,
  asked: Range,
  mayRead: (kind: string) => boolean = () => true,
): Steps<Life> {
  const own = reader.subjects(kind, name).slice(-MAX_OWN)
  if (own.length === 0)
    throw new KubeNodeError(historyErrors.KN17005({ what: `${kind.toLowerCase()}/${name}`, known: 'other objects' }))
  const range = recordedPart(reader, asked)
  const related = relatedTo(reader, kind, name, own)
    .filter((s) => mayRead(s.kind))
    .slice(-MAX_RELATED)
  const subjects = [...new Map([...own, ...related].map((s) => [s.id, s])).values()]
  const bySubject = new Map<number, readonly Transition[]>()
  let [left, leftOut] = [MOST_ROWS, 0]
  // The newest objects first, which are the last of each list, and its own before what belongs to them.
  for (const s of [...own.toReversed(), ...subjects.slice(own.length).toReversed()]) {
    const newest = reader.newestRowsOf(s, range.to, left)
    left -= newest.length
    if (left === 0) leftOut += reader.rowCountOf(s, range.to) - newest.length
    bySubject.set(s.id, newest)
    yield
  }
  const rows = subjects.flatMap((s) => bySubject.get(s.id) ?? []).toSorted((a, b) => a.observed - b.observed)
  const names = new Set(subjects.map((s) => s.name))
  return {
    cluster: reader.cluster,
    object: `${kind.toLowerCase()}/${name}`,
    range,
    rows,
    leftOut,
    lanes: lanesOf(rows, kind),
    gaps: reader.gaps(range).filter((g) => isGapOf(g, subjects)),
    deeds: reader.deedsAbout(names, range).filter((d) => mayRead(kindOfDeed(d))),
  }
}

/** Of a time in which nothing was recorded, nothing is left. */
export function recordedPart(reader: HistoryReader, asked: Range): Range {
  const span = reader.span()
  const from = Math.max(asked.from, span?.begins ?? 0)
  return { from, to: Math.max(from, Math.min(asked.to, span?.ends ?? asked.to)) }
}

/** A repair is written down at its node, and tells what its job did. */
export const kindOfDeed = ({ did, object }: DeedLine): string =>
  did === 'repaired'
    ? 'RemedyOperationJob'
    : (SHAPES.find(({ type }) => type.kind.toLowerCase() === object.slice(0, object.indexOf('/')))?.type.kind ?? '')

const isGapOf = ({ kind, subject }: RecordedGap, of: readonly Subject[]): boolean =>
  subject === undefined ? kind === undefined || of.some((s) => s.kind === kind) : of.some((s) => s.id === subject.id)

/** A node and its machine are one host. Repairs, permits, holds and maintenance refer to it. */
function relatedTo(reader: HistoryReader, kind: string, name: string, own: readonly Subject[]): readonly Subject[] {
  switch (kind) {
    case 'Node':
    case 'Machine': {
      const hosts = kind === 'Node' ? machinesOf(reader, name) : nodesOf(reader, own)
      const names = [name, ...hosts.map((h) => h.name)]
      const linked = (of: string) => names.flatMap((n) => reader.linkedTo(of, n, MAX_RELATED))
      return [
        ...hosts,
        ...linked('RemedyOperationJob').filter((s) => isJobOf(reader, s, names)),
        ...linked('OperationalHold'),
        ...linked('MaintenanceEvent'),
        ...linked('OperationPermit'),
      ]
    }
    case 'NodeRemedier':
      return reader.linkedTo('RemedyOperationJob', name, MAX_RELATED)
    case 'RemedyOperationJob':
      return reader.subjects('OperationPermit', name)
    default:
      return reader.linkedTo('OperationalHold', name, MAX_RELATED)
  }
}

const machinesOf = (reader: HistoryReader, node: string): readonly Subject[] => {
  const named = reader.subjects('Machine', node)
  return named.length > 0 ? named.slice(-MAX_OWN) : reader.linkedTo('Machine', node, MAX_OWN)
}

function nodesOf(reader: HistoryReader, machines: readonly Subject[]): readonly Subject[] {
  const names = machines.flatMap((m) =>
    reader.valuesOf(m, 'status/nodeRef', MAX_OWN).map((value) => String(fieldsOf(JSON.parse(value))['name'])),
  )
  return [...new Set(names)].flatMap((n) => reader.subjects('Node', n))
}

const isJobOf = (reader: HistoryReader, job: Subject, names: readonly string[]): boolean =>
  reader.valuesOf(job, 'spec', MAX_OWN).some((value) => {
    const spec = fieldsOf(JSON.parse(value))
    return names.includes(String(fieldsOf(spec['node'])['name'])) || names.includes(String(spec['machine']))
  })

/** One lane for Ready, one for the phase, and one for each problem in the range. */
function lanesOf(rows: readonly Transition[], kind: string): readonly Lane[] {
  const lanes = new Map<string, LaneState[]>()
  const put = (name: string, state: LaneState): void => {
    const states = lanes.get(name)
    if (states === undefined) lanes.set(name, [state])
    else if (states.at(-1)?.text !== state.text) states.push(state)
  }
  const hasNode = kind === 'Node' || kind === 'Machine'
  for (const { subject, topic, value, observed } of rows) {
    const isOwn = subject.kind === kind
    if (hasNode && subject.kind === 'Node' && topic === 'exists')
      put('Ready', {
        from: observed,
        state: value === undefined ? 'Absent' : 'Unknown',
        text: value === undefined ? 'deleted' : 'created',
      })
    if (topic === 'status/conditions/Ready' && (hasNode ? subject.kind === 'Node' : isOwn))
      put('Ready', conditionState(observed, value, true))
    if (topic === 'status/phase' && (isOwn || subject.kind === 'Machine') && value !== undefined)
      put(hasNode ? 'machine' : 'phase', phaseState(observed, value))
    const problem = subject.kind === 'Node' ? /^status\/conditions\/(?!Ready$)(.+)$/.exec(topic)?.[1] : undefined
    if (problem !== undefined && (lanes.has(problem) || value?.includes('"status":"True"') === true))
      put(
        problem,
        isNeutral(problem)
          ? working(conditionState(observed, value, isGoodWhenTrue(problem)))
          : conditionState(observed, value, isGoodWhenTrue(problem)),
      )
    const part = !hasNode && isOwn ? /^status\/(stages|clusters)\/(.+)$/.exec(topic) : null
    if (part !== null && value !== undefined)
      put(
        `${part[1] === 'stages' ? 'stage' : 'cluster'} ${part[2] ?? ''}`,
        phaseState(observed, JSON.stringify(fieldsOf(JSON.parse(value))['phase'] ?? '')),
      )
    if (subject.kind === 'RemedyOperationJob' && hasNode && topic === 'status/phase' && value !== undefined)
      put('repair', { from: observed, state: value === '"Done"' ? 'Absent' : 'Busy', text: String(JSON.parse(value)) })
  }
  return [...lanes].map(([name, states]) => ({ name, states }))
}

function conditionState(from: number, value: string | undefined, isGoodWhenTrue: boolean): LaneState {
  const { status = 'Unknown', reason = '' } = value === undefined ? {} : fieldsOf(JSON.parse(value))
  const isGood = (status === 'True') === isGoodWhenTrue
  return {
    from,
    state:
      value === undefined
        ? 'Absent'
        : status === 'Unknown'
          ? 'Unknown'
          : isGood
            ? 'Good'
            : isWork(reason)
              ? 'Busy'
              : 'Bad',
    text: `${String(status)} ${String(reason)}`.trim(),
  }
}

/** Planned work on the node, not a problem. */
const working = (state: LaneState): LaneState => (state.state === 'Bad' ? { ...state, state: 'Busy' } : state)

export function phaseState(from: number, value: string): LaneState {
  const phase = String(JSON.parse(value))
  const meaning = phaseMeaning(phase)
  return { from, state: meaning === 'Ended' ? 'Absent' : meaning, text: phase }
}

// The life of a whole cluster: how many nodes are ready, the phase of each set, running repairs, and who did what. It decides nothing.
import type { Subject } from '../store/names.ts'
import { fieldsOf } from '#lib/fields.ts'
import { type Lane, type LaneState, type Life, kindOfDeed, phaseState, recordedPart } from './lives.ts'
import type { HistoryReader, Range, Transition } from './reader.ts'

const READY = 'status/conditions/Ready'
const PHASE = 'status/phase'
/** What is drawn; the rest of a cluster is in the lives of its objects. */
const DRAWN: Readonly<Record<string, readonly string[]>> = {
  Node: ['exists', READY],
  MachineComponentSet: [PHASE],
  RemedyOperationJob: [PHASE],
}

export function clusterLifeOf(
  reader: HistoryReader,
  asked: Range,
  mayRead: (kind: string) => boolean = () => true,
): Life {
  const range = recordedPart(reader, asked)
  const kinds = Object.keys(DRAWN).filter(mayRead)
  const before = kinds.flatMap((kind) => stateBefore(reader, kind, range.from))
  const since = kinds.flatMap((kind) =>
    reader
      .rowsOfKind(kind, range)
      .filter(({ topic }) => DRAWN[kind]?.includes(topic))
      .toArray(),
  )
  const rows = [...before, ...since].toSorted((a, b) => a.observed - b.observed)
  return {
    cluster: reader.cluster,
    object: `cluster/${reader.cluster}`,
    range,
    rows,
    lanes: lanesOf(rows),
    gaps: reader.gaps(range).filter(({ subject }) => subject === undefined),
    deeds: reader
      .deeds(range)
      .filter((d) => mayRead(kindOfDeed(d)))
      .toArray(),
  }
}

const stateBefore = (reader: HistoryReader, kind: string, from: number): readonly Transition[] =>
  [...reader.statesAt(kind, from - 1)].flatMap(({ subject, facts }) =>
    facts
      .filter(({ topic }) => DRAWN[kind]?.includes(topic))
      .map(({ topic, value, reported }) => ({ observed: from - 1, reported, subject, topic, value })),
  )

function lanesOf(rows: readonly Transition[]): readonly Lane[] {
  const nodes = new NodeCounts()
  const running = new Set<number>()
  const lanes = new Map<string, LaneState[]>()
  const put = (name: string, state: LaneState): void => {
    const states = lanes.get(name) ?? []
    lanes.set(name, states)
    // Of several nodes that changed together, the last count is the one.
    if (states.at(-1)?.from === state.from) states.pop()
    if (states.at(-1)?.text !== state.text) states.push(state)
  }
  for (const { subject, topic, value, observed } of rows) {
    if (subject.kind === 'Node') {
      nodes.note(subject, topic, value)
      put('nodes', nodes.at(observed))
    } else if (subject.kind === 'MachineComponentSet' && value !== undefined)
      put(`set ${subject.name}`, phaseState(observed, value))
    else if (subject.kind === 'RemedyOperationJob') {
      if (value === undefined || value === '"Done"') running.delete(subject.id)
      else running.add(subject.id)
      const [state, text] =
        running.size === 0 ? (['Absent', 'none'] as const) : (['Busy', `${running.size} running`] as const)
      put('repairs', { from: observed, state, text })
    }
  }
  return [...lanes].map(([name, states]) => ({ name, states }))
}

interface NodeState {
  readonly isThere: boolean
  readonly isReady: boolean
}

/** Counts are updated with each row, not recomputed: a large cluster has many nodes and many rows. */
class NodeCounts {
  readonly #states = new Map<number, NodeState>()
  #there = 0
  #away = 0

  note({ id }: Subject, topic: string, value: string | undefined): void {
    const before = this.#states.get(id)
    const { isThere, isReady } = before ?? { isThere: true, isReady: false }
    const now =
      topic === READY
        ? { isThere, isReady: value !== undefined && fieldsOf(JSON.parse(value))['status'] === 'True' }
        : { isThere: value !== undefined, isReady }
    this.#states.set(id, now)
    if (before !== undefined) this.#count(before, -1)
    this.#count(now, 1)
  }

  at(from: number): LaneState {
    return this.#away === 0
      ? { from, state: this.#there === 0 ? 'Absent' : 'Good', text: `${this.#there} ready` }
      : { from, state: 'Bad', text: `${this.#away} of ${this.#there} not ready` }
  }

  #count({ isThere, isReady }: NodeState, by: number): void {
    if (!isThere) return
    this.#there += by
    if (!isReady) this.#away += by
  }
}

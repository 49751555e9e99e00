// The life of a whole cluster: how many nodes are ready, the phase of each set, running repairs, and who did what. It decides nothing.
import type { Subject } from '../store/names.ts'
import { fieldsOf } from '#lib/fields.ts'
import type { Steps } from '#lib/steps.ts'
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

/** The newest rows are kept, for lines; bars are made of all. */
const MOST_ROWS = 20_000
/** The newest lines of who did what. */
const MOST_DEEDS = 10_000
/** Bars have no finer resolution. */
const PARTS_OF_BAR = 2_000

export function* clusterLifeOf(
  reader: HistoryReader,
  asked: Range,
  mayRead: (kind: string) => boolean = () => true,
): Steps<Life> {
  const range = recordedPart(reader, asked)
  const kinds = Object.keys(DRAWN).filter(mayRead)
  const [rows, bars] = [new NewestRows(), new Bars(range)]
  for (const kind of kinds)
    for (const page of reader.statePagesAt(kind, range.from - 1)) {
      for (const { subject, facts } of page)
        for (const { topic, value, reported } of facts) {
          const row = { observed: range.from - 1, reported, subject, topic, value }
          if (!isDrawn(row)) continue
          rows.known(row)
          bars.note(row)
        }
      yield
    }
  for (const page of reader.rowPages(kinds, range)) {
    for (const row of page) {
      if (!isDrawn(row)) continue
      rows.add(row)
      bars.note(row)
    }
    yield
  }
  const deeds = yield* reader.newestDeeds(range, MOST_DEEDS)
  return {
    cluster: reader.cluster,
    object: `cluster/${reader.cluster}`,
    range,
    rows: rows.all(),
    leftOut: rows.leftOut,
    lanes: bars.lanes(),
    gaps: reader.gaps(range).filter(({ subject }) => subject === undefined),
    deeds: deeds.filter((d) => mayRead(kindOfDeed(d))),
  }
}

const isDrawn = ({ subject, topic }: Transition): boolean => DRAWN[subject.kind]?.includes(topic) === true

/** Bounded: of rows that are left out, the last of each fact is kept as known before. */
class NewestRows {
  readonly #known = new Map<string, Transition>()
  #rows: Transition[] = []
  leftOut = 0

  known(row: Transition): void {
    this.#known.set(`${row.subject.id} ${row.topic}`, row)
  }

  add(row: Transition): void {
    this.#rows.push(row)
    if (this.#rows.length < 2 * MOST_ROWS) return
    for (const old of this.#rows.slice(0, MOST_ROWS)) this.known(old)
    this.#rows = this.#rows.slice(MOST_ROWS)
    this.leftOut += MOST_ROWS
  }

  all(): readonly Transition[] {
    const [first] = this.#rows
    const before = this.leftOut === 0 || first === undefined ? undefined : first.observed - 1
    const known = [...this.#known.values()].map((row) => ({ ...row, observed: before ?? row.observed }))
    return [...known, ...this.#rows]
  }
}

/** Worst first: of a part of a bar with several states, the worst and the last are kept. */
const WORST: readonly LaneState['state'][] = ['Bad', 'Busy', 'Unknown', 'Good', 'Absent']
const isWorse = (a: LaneState, b: LaneState): boolean => WORST.indexOf(a.state) < WORST.indexOf(b.state)

class Bars {
  readonly #range: Range
  readonly #nodes = new NodeCounts()
  readonly #running = new Set<number>()
  readonly #lanes = new Map<string, LaneState[]>()

  constructor(range: Range) {
    this.#range = range
  }

  note({ subject, topic, value, observed }: Transition): void {
    if (subject.kind === 'Node') {
      this.#nodes.note(subject, topic, value)
      this.#put('nodes', this.#nodes.at(observed))
    } else if (subject.kind === 'MachineComponentSet' && value !== undefined)
      this.#put(`set ${subject.name}`, phaseState(observed, value))
    else if (subject.kind === 'RemedyOperationJob') {
      if (value === undefined || value === '"Done"') this.#running.delete(subject.id)
      else this.#running.add(subject.id)
      const count = this.#running.size
      const [state, text] = count === 0 ? (['Absent', 'none'] as const) : (['Busy', `${count} running`] as const)
      this.#put('repairs', { from: observed, state, text })
    }
  }

  lanes(): readonly Lane[] {
    return [...this.#lanes].map(([name, states]) => ({ name, states }))
  }

  #put(name: string, state: LaneState): void {
    const states = this.#lanes.get(name) ?? []
    this.#lanes.set(name, states)
    // Of several nodes that changed together, the last count is the one.
    if (states.at(-1)?.from === state.from) states.pop()
    if (states.at(-1)?.text === state.text) return
    const [worst, last] = [states.at(-2), states.at(-1)]
    if (worst !== undefined && last !== undefined && this.#part(worst) === this.#part(state)) {
      states.length -= 2
      states.push(isWorse(last, worst) ? { ...last, from: worst.from } : worst)
    }
    states.push(state)
  }

  #part({ from }: LaneState): number {
    return Math.floor(((from - this.#range.from) * PARTS_OF_BAR) / Math.max(1, this.#range.to - this.#range.from))
  }
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

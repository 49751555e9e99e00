// One cluster's machines as a topic: rows from the cache, plus repairs and blames from other objects. Keeps no machine state of its own.
import { nodeNameOf } from '#explain/attention/observed.ts'
import { MACHINE_COLUMNS } from '../machine-columns.ts'
import type { MachineCells, MachinesDelta, MachinesTopic, Topic } from '../protocol.ts'
import { topicOf } from '../topic-name.ts'
import type { ClusterState } from './cluster-cache.ts'
import { type MachineRow, shownOf } from './machine-row.ts'
import { TopicLog } from './topic-log.ts'
import { blameText } from './views/budgets.ts'

type Blame = Parameters<typeof blameText>[0]

/** Data about machines from other objects. */
interface Sides {
  readonly repairs: ReadonlyMap<string, string>
  readonly blames: readonly Blame[]
}

/** Old versions accumulate. Past this limit the list restarts, and every page rereads the snapshot. */
const MOST_WORDS = 50_000

/** A topic's texts, each sent once and then referred to by a small number. Pages append new ones. */
class Words {
  readonly #words: string[] = ['']
  readonly #places = new Map<string, number>([['', 0]])
  #sent = 1

  get all(): readonly string[] {
    return this.#words
  }

  get isFull(): boolean {
    return this.#words.length > MOST_WORDS
  }

  at(text: string): number {
    const known = this.#places.get(text)
    if (known !== undefined) return known
    const place = this.#words.push(text) - 1
    this.#places.set(text, place)
    return place
  }

  /** Words that no page has yet. */
  takeNew(): readonly string[] {
    const words = this.#words.slice(this.#sent)
    this.#sent = this.#words.length
    return words
  }
}

export class ClusterMachines {
  readonly topic: Topic
  readonly audience: string
  readonly #cluster: ClusterState
  readonly #start: string
  readonly #changed = new Set<string>()
  #words = new Words()
  #sides: Sides
  #areSidesTouched = false
  #log: TopicLog | undefined

  /** `audience`: users who may read the cluster as `readAs` shows it. */
  constructor(cluster: ClusterState, start: string, audience: string) {
    this.#cluster = cluster
    this.audience = audience
    this.#start = start
    this.topic = topicOf('machines', cluster.name)
    this.#sides = this.#readSides()
    this.#learnAllWords()
  }

  /** A Machine was created, deleted, or its row changed. */
  changed(name: string): void {
    this.#changed.add(name)
  }

  /** Repairs or blames may have changed. */
  touch(): void {
    this.#areSidesTouched = true
  }

  get log(): TopicLog | undefined {
    return this.#log
  }

  /** Call right after `takeChanges`: every change in it was sent. */
  snapshot(revision: string, at: number): MachinesTopic {
    const names: string[] = []
    const columns = MACHINE_COLUMNS.map((): number[] => [])
    for (const row of this.#cluster.list('machines')) {
      names.push(row.metadata.name ?? '')
      this.#cellsOf(row).forEach((cell, c) => columns[c]?.push(cell))
    }
    return {
      topic: this.topic,
      revision,
      at,
      words: [...this.#words.all],
      names,
      columns: Object.fromEntries(
        MACHINE_COLUMNS.map((column, c) => [column, columns[c]]),
      ) as unknown as MachinesTopic['columns'],
    }
  }

  /** The log follows `takeChanges`: call right after it. */
  logAt(revision: string, at: number): TopicLog {
    this.#log ??= new TopicLog(this.#start, this.snapshot(revision, at))
    return this.#log
  }

  /** The delta as sent; `Renewed` if the word list restarted, so that only a snapshot helps. */
  takeChanges(named: string, revision: number, at: number): { readonly json: string } | 'Nothing' | 'Renewed' {
    if (this.#areSidesTouched) this.#noteSides()
    if (this.#changed.size === 0) return 'Nothing'
    if (this.#words.isFull) {
      this.#changed.clear()
      this.#words = new Words()
      this.#learnAllWords()
      this.#log?.restart(this.snapshot(named, at))
      return 'Renewed'
    }
    const delta = this.#takeDelta()
    return { json: this.#log === undefined ? JSON.stringify(delta) : this.#log.put(delta, revision, at) }
  }

  #takeDelta(): MachinesDelta {
    const machines: (readonly [string, MachineCells])[] = []
    const removed: string[] = []
    for (const name of this.#changed) {
      const row = this.#cluster.machine(name)
      if (row === undefined) removed.push(name)
      else machines.push([name, this.#cellsOf(row)])
    }
    this.#changed.clear()
    return { topic: this.topic, words: this.#words.takeNew(), machines, removed }
  }

  /** A first snapshot contains all words, so no delta repeats them. */
  #learnAllWords(): void {
    for (const row of this.#cluster.list('machines')) this.#cellsOf(row)
    this.#words.takeNew()
  }

  #readSides(): Sides {
    const open = this.#cluster.list('jobs').filter((j) => j.status?.phase !== 'Done' && !j.spec.dryRun)
    const repairs = new Map(open.map((j) => [j.spec.machine ?? j.spec.node.name, j.status?.phase ?? 'Pending']))
    return { repairs, blames: this.#cluster.list('ledgers')[0]?.spec.blames ?? [] }
  }

  #noteSides(): void {
    this.#areSidesTouched = false
    const [before, now] = [this.#sides, this.#readSides()]
    const text = ({ repairs, blames }: Sides): string => JSON.stringify([[...repairs], blames.map(blameText)])
    if (text(before) === text(now)) return
    this.#sides = now
    for (const row of this.#cluster.list('machines')) {
      const { name = '' } = row.metadata
      const isSame = before.repairs.get(name) === now.repairs.get(name) && blameOf(before, row) === blameOf(now, row)
      if (!isSame) this.changed(name)
    }
  }

  /** A condition other than Ready, which the phase covers. Unknown does not mean no problems. */
  #conditionOf(row: MachineRow): string {
    const node = this.#cluster.node(nodeNameOf(row))
    return node === undefined ? 'Unknown' : (node.problems.find(({ type }) => type !== 'Ready')?.type ?? '')
  }

  #cellsOf(row: MachineRow): MachineCells {
    const repair = this.#sides.repairs.get(row.metadata.name ?? '') ?? ''
    const texts = { ...shownOf(row), repair, blame: blameOf(this.#sides, row), condition: this.#conditionOf(row) }
    return MACHINE_COLUMNS.map((column) => (column === 'since' ? row.since : this.#words.at(texts[column])))
  }
}

function blameOf({ blames }: Sides, { place, state }: MachineRow): string {
  const found = blames.find(
    ({ kind, component, value }) =>
      (kind === 'Zone' && value === place.zone) ||
      (kind === 'Rack' && value === place.rack) ||
      (kind === 'Component' && `,${state.versions},`.includes(`,${component}=${value},`)),
  )
  return found === undefined ? '' : blameText(found)
}

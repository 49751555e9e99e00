// The machines of one cluster in columns of numbers, and what changed since the last batch. The page draws the same columns.
import { MACHINE_COLUMNS, type MachineColumn } from '../machine-columns.ts'
import type { MachineCells, MachinesDelta, MachinesTopic } from '../protocol.ts'

/** All columns of a machine as texts; `since` is a number. */
export type MachineTexts = Readonly<Record<Exclude<MachineColumn, 'since'>, string>> & { readonly since: number }

/** Old versions stay in the dictionary. Past this many it is begun again, and every page reads the snapshot again. */
const MOST_WORDS = 50_000

const FIRST_ROOM = 256

export class MachineTable {
  readonly #topic: string
  #words: string[] = ['']
  #wordAt = new Map<string, number>([['', 0]])
  readonly #names: string[] = []
  readonly #places = new Map<string, number>()
  #columns = MACHINE_COLUMNS.map(() => new Uint32Array(FIRST_ROOM))
  readonly #changed = new Set<string>()
  readonly #gone = new Set<string>()
  #sentWords = 1
  #isRenewed = false

  constructor(topic: string) {
    this.#topic = topic
  }

  get size(): number {
    return this.#names.length
  }

  put(name: string, texts: MachineTexts): void {
    if (this.#words.length > MOST_WORDS) this.#renewWords()
    const known = this.#places.get(name)
    const place = known ?? this.#newPlace(name)
    let isChanged = known === undefined
    MACHINE_COLUMNS.forEach((column, c) => {
      const cells = this.#columns[c]
      const value = column === 'since' ? texts.since : this.#word(texts[column])
      if (cells === undefined || cells[place] === value) return
      cells[place] = value
      isChanged = true
    })
    if (!isChanged) return
    this.#changed.add(name)
    this.#gone.delete(name)
  }

  remove(name: string): void {
    const place = this.#places.get(name)
    if (place === undefined) return
    const last = this.#names.length - 1
    const moved = this.#names[last] ?? name
    this.#names[place] = moved
    for (const cells of this.#columns) cells[place] = cells[last] ?? 0
    this.#names.pop()
    this.#places.set(moved, place)
    this.#places.delete(name)
    this.#changed.delete(name)
    this.#gone.add(name)
  }

  snapshot(revision: string, at: number): MachinesTopic {
    const columns = MACHINE_COLUMNS.map((name, c) => [name, [...(this.#columns[c]?.subarray(0, this.size) ?? [])]])
    return {
      topic: this.#topic,
      revision,
      at,
      words: [...this.#words],
      names: [...this.#names],
      columns: Object.fromEntries(columns),
    }
  }

  /** What changed since the last call; `Renewed` when the words were begun again, so that only a snapshot helps. */
  takeDelta(): MachinesDelta | 'Renewed' | undefined {
    const machines = [...this.#changed].map((name) => [name, this.#cellsOf(name)] as const)
    const gone = [...this.#gone]
    const words = this.#words.slice(this.#sentWords)
    this.#changed.clear()
    this.#gone.clear()
    this.#sentWords = this.#words.length
    if (this.#isRenewed) {
      this.#isRenewed = false
      return 'Renewed'
    }
    return machines.length === 0 && gone.length === 0 ? undefined : { topic: this.#topic, words, machines, gone }
  }

  #cellsOf(name: string): MachineCells {
    const place = this.#places.get(name) ?? 0
    return this.#columns.map((cells) => cells[place] ?? 0)
  }

  #word(text: string): number {
    const known = this.#wordAt.get(text)
    if (known !== undefined) return known
    const at = this.#words.push(text) - 1
    this.#wordAt.set(text, at)
    return at
  }

  #newPlace(name: string): number {
    const place = this.#names.push(name) - 1
    this.#places.set(name, place)
    if (place >= (this.#columns[0]?.length ?? 0))
      this.#columns = this.#columns.map((cells) => {
        const more = new Uint32Array(cells.length * 2)
        more.set(cells)
        return more
      })
    return place
  }

  #renewWords(): void {
    const old = this.#words
    this.#words = ['']
    this.#wordAt = new Map([['', 0]])
    MACHINE_COLUMNS.forEach((column, c) => {
      const cells = this.#columns[c]
      if (column === 'since' || cells === undefined) return
      for (let place = 0; place < this.size; place++) cells[place] = this.#word(old[cells[place] ?? 0] ?? '')
    })
    this.#isRenewed = true
  }
}

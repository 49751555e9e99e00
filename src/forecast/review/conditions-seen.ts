// Counts how often each Node condition meant trouble, straight from the rows: conditions that no rule reads are followed too. Keeps one entry a condition type and one
// for each condition that is true now.
import { isObject } from '#lib/json.ts'
import type { HistoryLine } from '#history/lines/line.ts'

export interface ConditionSums {
  readonly type: string
  /** Different nodes on which it meant trouble. */
  readonly nodes: number
  readonly times: number
  readonly ms: number
  /** Nodes on which it means trouble at the end. */
  readonly now: number
}

interface Sums {
  readonly nodes: Set<number>
  times: number
  ms: number
}

const PREFIX = 'status/conditions/'

export class ConditionsSeen {
  readonly #nodes = new Set<number>()
  readonly #sums = new Map<string, Sums>()
  /** By type and subject: since when. */
  readonly #open = new Map<string, Map<number, number>>()
  readonly #blindMs: (from: number, to: number) => number
  #begins: number | undefined

  constructor(blindMs: (from: number, to: number) => number) {
    this.#blindMs = blindMs
  }

  take(line: HistoryLine): void {
    if (line.line === 'subject' && line.kind === 'Node') this.#nodes.add(line.id)
    if (line.line !== 'row') return
    this.#begins ??= line.observed
    if (!this.#nodes.has(line.subject)) return
    if (line.topic === 'exists' && line.value === undefined) {
      for (const type of this.#open.keys()) this.#close(type, line.subject, line.observed)
      return void this.#nodes.delete(line.subject)
    }
    if (!line.topic.startsWith(PREFIX)) return
    const type = line.topic.slice(PREFIX.length)
    const sums = this.#of(type)
    if (!isTrouble(type, line.value)) return this.#close(type, line.subject, line.observed)
    const open = this.#open.get(type) ?? new Map<number, number>()
    this.#open.set(type, open)
    if (open.has(line.subject)) return
    open.set(line.subject, line.observed)
    sums.times++
    sums.nodes.add(line.subject)
  }

  /** Whether any node ever had it, whatever its status. */
  has(type: string): boolean {
    return this.#sums.has(type)
  }

  result(end: number): readonly ConditionSums[] {
    const now = new Map([...this.#open].map(([type, open]) => [type, open.size]))
    for (const [type, open] of this.#open) for (const subject of open.keys()) this.#close(type, subject, end)
    return [...this.#sums]
      .map(([type, { nodes, times, ms }]) => ({ type, nodes: nodes.size, times, ms, now: now.get(type) ?? 0 }))
      .toSorted((a, b) => (a.type < b.type ? -1 : 1))
  }

  #of(type: string): Sums {
    const known = this.#sums.get(type) ?? { nodes: new Set<number>(), times: 0, ms: 0 }
    this.#sums.set(type, known)
    return known
  }

  #close(type: string, subject: number, at: number): void {
    const open = this.#open.get(type)
    const since = open?.get(subject)
    if (open === undefined || since === undefined) return
    open.delete(subject)
    const sums = this.#of(type)
    sums.ms += at - since - this.#blindMs(since, at)
    // Rows from before the window are all observed at its beginning: what ended before it did not happen in it.
    if (at > (this.#begins ?? 0) || since !== at) return
    sums.times--
    sums.nodes.delete(subject)
  }
}

/** Ready alone is good when it is True. A node whose Ready is Unknown is silent, which is no condition of it. */
function isTrouble(type: string, value: string | undefined): boolean {
  if (value === undefined) return false
  const parsed: unknown = JSON.parse(value)
  return isObject(parsed) && parsed['status'] === (type === 'Ready' ? 'False' : 'True')
}

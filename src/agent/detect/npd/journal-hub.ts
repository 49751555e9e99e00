// Reads one journal once for all its monitors. Each monitor gets the entries of its identifier, never twice, and none older than its start time.
import type { Clock } from '#lib/clock.ts'
import { JournalReader, type JournalEntry } from './journal.ts'

export interface JournalPosition {
  readonly cursor: string
  readonly atMs: number
}

export interface JournalMember {
  readonly identifier: string
  /** For a monitor without a position: read entries from this time on. */
  readonly sinceMs: number
  readonly after: JournalPosition | undefined
  readonly onEntry: (entry: JournalEntry) => void
  readonly onProblem: (problem: string | undefined) => void
}

export class JournalHub {
  readonly #path: string
  readonly #clock: Clock
  readonly #members: JournalMember[] = []
  #reader: JournalReader | undefined
  #position: JournalPosition | undefined

  constructor(path: string, clock: Clock) {
    this.#path = path
    this.#clock = clock
  }

  get position(): JournalPosition | undefined {
    return this.#position
  }

  /** Call before the start. */
  join(member: JournalMember): void {
    this.#members.push(member)
  }

  start(): void {
    if (this.#reader !== undefined) return
    const members = this.#members
    const first = members[0]?.after
    // Monitors resume at their positions. A new monitor, or one that fell behind, makes the reader start by time.
    const common = members.every((m) => m.after?.cursor === first?.cursor) ? first : undefined
    this.#position = common
    this.#reader = new JournalReader({
      path: this.#path,
      identifiers: [...new Set(members.map((m) => m.identifier))],
      clock: this.#clock,
      sinceMs: Math.min(...members.map((m) => m.after?.atMs ?? m.sinceMs)),
      after: common?.cursor,
      onEntry: (entry) => this.#take(entry, common !== undefined),
      onProblem: (problem) => {
        // A member may leave while it handles the problem.
        const present = [...members]
        for (const m of present) m.onProblem(problem)
      },
    })
    this.#reader.start()
  }

  /** The reader stops with its last member. */
  leave(member: JournalMember): void {
    const at = this.#members.indexOf(member)
    if (at !== -1) this.#members.splice(at, 1)
    if (this.#members.length === 0) this.close()
  }

  close(): void {
    this.#reader?.close()
  }

  #take(entry: JournalEntry, isAfterAll: boolean): void {
    this.#position = { cursor: entry.cursor, atMs: entry.atMs }
    for (const { identifier, after, sinceMs, onEntry } of this.#members) {
      if (identifier !== entry.identifier) continue
      const isNew = isAfterAll || (after === undefined ? entry.atMs >= sinceMs : entry.atMs > after.atMs)
      if (isNew) onEntry(entry)
    }
  }
}

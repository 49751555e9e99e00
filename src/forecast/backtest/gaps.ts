// When nothing was recorded, of everything or of one object. Inside a gap every fact is unknown.
import type { GapLine } from '#history/lines/line.ts'

interface Gap {
  readonly starts: number
  readonly ends: number
}

/** What rules and their limits read. A gap of another kind leaves them as they are. */
const READ: ReadonlySet<string> = new Set([
  'Node',
  'Machine',
  'NodeRemedier',
  'RemedyOperationJob',
  'OperationalHold',
  'MaintenanceEvent',
])
/** Of clocks and of writes to disk. */
const SLACK_MS = 2_000
/** Ended ones that are remembered for jobs that began in them. */
const MOST_ENDED = 100

export class Gaps {
  #gaps: readonly Gap[] = []
  readonly #ofSubjects = new Map<string, Gap>()
  #sum: readonly Gap[] = []

  add({ starts, ends = Infinity, kind, subject }: GapLine, uid: string | undefined): void {
    if (subject !== undefined) {
      if (uid !== undefined) this.#ofSubjects.set(uid, { starts, ends })
      return
    }
    if (kind !== undefined && !READ.has(kind)) return
    this.#gaps = [...this.#gaps, { starts, ends }].slice(-MOST_ENDED)
    this.#sum = merged([...this.#sum, { starts, ends }])
  }

  isBlind(now: number): boolean {
    return this.#gaps.length > 0 && this.#gaps.some((g) => g.starts <= now && now < g.ends)
  }

  isUnknown(uid: string, now: number): boolean {
    if (this.#ofSubjects.size === 0) return false
    const gap = this.#ofSubjects.get(uid)
    if (gap !== undefined && gap.ends <= now) this.#ofSubjects.delete(uid)
    return gap !== undefined && gap.starts <= now && now < gap.ends
  }

  /** Whether something began where it could not be observed. */
  covers(at: number): boolean {
    return this.#gaps.some((g) => g.starts - SLACK_MS <= at && at <= g.ends + SLACK_MS)
  }

  nextEnd(now: number): number {
    const all = [...this.#gaps, ...this.#ofSubjects.values()].flatMap((g) => (g.ends > now ? [g.ends] : []))
    return Math.min(...all)
  }

  blindMs(from: number, to: number): number {
    return this.#sum.reduce((sum, g) => sum + Math.max(0, Math.min(g.ends, to) - Math.max(g.starts, from)), 0)
  }
}

function merged(gaps: readonly Gap[]): readonly Gap[] {
  const out: Gap[] = []
  for (const gap of gaps.toSorted((a, b) => a.starts - b.starts)) {
    const last = out.at(-1)
    if (last !== undefined && gap.starts <= last.ends)
      out[out.length - 1] = { ...last, ends: Math.max(last.ends, gap.ends) }
    else out.push(gap)
  }
  return out
}

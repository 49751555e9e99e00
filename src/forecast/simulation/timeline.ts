// What happened in one run, in order: the first entries, and how many more there were. It is what explains a counter-example.
import { blockedText } from '../forecast.ts'
import type { World } from './world.ts'

export interface TimelineEntry {
  /** Milliseconds after the start. */
  readonly at: number
  readonly what: string
}

const MOST_ENTRIES = 200

export class Timeline {
  readonly entries: TimelineEntry[] = []
  more = 0
  readonly #begin: number
  readonly #phases = new Map<string, string>()

  constructor(begin: number) {
    this.#begin = begin
  }

  add(now: number, what: string): void {
    if (this.entries.length < MOST_ENTRIES) this.entries.push({ at: now - this.#begin, what })
    else this.more++
  }

  /** Notes each step that a set begins, and how it ends. */
  sets(world: World, names: readonly string[]): void {
    for (const name of names) {
      const set = world.sets.get(name)
      const { phase = '', slices = [] } = set?.status ?? {}
      const steps = slices.filter((s) => s.phase !== 'Planned' && s.phase !== 'AwaitingPermit').map((s) => s.step)
      const step = steps.length === 0 ? '' : `, step ${Math.max(...steps) + 1}`
      const why = phase === 'Blocked' && set !== undefined ? `: ${blockedText(set)}` : ''
      const now = `${phase}${phase === 'Progressing' ? step : ''}${why}`
      if (this.#phases.get(name) === now) continue
      if (phase !== '') this.add(world.now, `set ${name} is ${now}`)
      this.#phases.set(name, now)
    }
  }
}

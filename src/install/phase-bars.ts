// Draws the progress of an installation: the current phase, in a line that fits a narrow terminal. Pure.

export interface PhaseProgress {
  readonly name: string
  readonly done: number
  readonly total: number
}

const BAR = 20

/** `policies [====-               ] 22 of 94 (phase 3 of 6)`; undefined once all is done. Finished phases have their own lines above. */
export function phaseBar(phases: readonly PhaseProgress[]): string | undefined {
  const real = phases.filter(({ total }) => total > 0)
  const at = real.findIndex(({ done, total }) => done < total)
  const current = real[at]
  if (current === undefined) return undefined
  return `${current.name} [${barOf(current)}] ${current.done} of ${current.total} (phase ${at + 1} of ${real.length})`
}

function barOf({ done, total }: PhaseProgress): string {
  const full = Math.min(BAR, Math.floor((done / total) * BAR))
  return `${'='.repeat(full)}${done > 0 && full < BAR ? '-' : ''}`.padEnd(BAR)
}

/** Counts finished steps; `show` gets the whole picture on each change. */
export class PhaseCounter {
  readonly #phases: Map<string, PhaseProgress>
  readonly #show: ((phases: readonly PhaseProgress[]) => void) | undefined

  constructor(
    phases: readonly { readonly name: string; readonly groups: readonly (readonly unknown[])[] }[],
    show: ((phases: readonly PhaseProgress[]) => void) | undefined,
  ) {
    const all = phases.map(({ name, groups }) => ({ name: name.toLowerCase(), done: 0, total: groups.flat().length }))
    this.#phases = new Map(all.map((phase) => [phase.name, phase]))
    this.#show = show
    this.#draw()
  }

  oneDone(name: string): void {
    const phase = this.#phases.get(name.toLowerCase())
    if (phase === undefined) return
    this.#phases.set(phase.name, { ...phase, done: phase.done + 1 })
    this.#draw()
  }

  #draw(): void {
    this.#show?.([...this.#phases.values()])
  }
}

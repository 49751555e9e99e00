// How far an installation is, phase by phase, as one line of bars. Pure.

export interface PhaseProgress {
  readonly name: string
  readonly done: number
  readonly total: number
}

const BAR = 4

/** `namespaces[====] definitions[==--] policies[    ]`: done `=`, under way `-`. */
export const phaseBars = (phases: readonly PhaseProgress[]): string =>
  phases
    .filter(({ total }) => total > 0)
    .map((phase) => `${phase.name}[${barOf(phase)}]`)
    .join(' ')

function barOf({ done, total }: PhaseProgress): string {
  const full = Math.min(BAR, Math.floor((done / total) * BAR))
  return `${'='.repeat(full)}${done > 0 && full < BAR ? '-' : ''}`.padEnd(BAR)
}

/** Counts what is done; `show` gets the whole picture at each change. */
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

// When the agent may restart a component without a permit: a crashed one after its brake's delay, a frozen one after a grace period in which repairs can
// save evidence first.
import { Brake, type BrakeLimits } from './brake.ts'
import { FROZEN_GRACE_MS, type Sight } from './sight.ts'

export interface RestraintLimits {
  readonly crashBrake?: BrakeLimits | undefined
  readonly frozenGraceMs?: number | undefined
}

export class Restraint {
  readonly #limits: RestraintLimits
  readonly #brakes = new Map<string, Brake>()

  constructor(limits: RestraintLimits) {
    this.#limits = limits
  }

  crashes(component: string): number {
    return this.#brakes.get(component)?.crashes ?? 0
  }

  crashed(component: string, now: number, ranMs: number): void {
    const brake = this.#brakes.get(component) ?? new Brake(this.#limits.crashBrake)
    this.#brakes.set(component, brake)
    brake.crashed(now, ranMs)
  }

  waitMs(component: string, sight: Pick<Sight, 'frozenAt'> | undefined, now: number): number {
    const { frozenGraceMs = FROZEN_GRACE_MS } = this.#limits
    if (sight?.frozenAt !== undefined) return Math.max(0, sight.frozenAt + frozenGraceMs - now)
    return this.#brakes.get(component)?.waitMs(now) ?? 0
  }
}

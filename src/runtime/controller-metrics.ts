// What a controller loop tells about itself; the registry behind it is someone else's choice.
import type { Outcome } from './outcome.ts'

export interface ControllerMetrics {
  reconciled(outcome: Outcome['kind'], seconds: number): void
  depth(ready: number): void
  hung(count: number): void
  /** The queue had no room for a key. */
  refused(): void
}

export const noControllerMetrics: ControllerMetrics = {
  reconciled: () => undefined,
  depth: () => undefined,
  hung: () => undefined,
  refused: () => undefined,
}

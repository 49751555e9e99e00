// The metrics interface of a controller loop, independent of the registry behind it.
import type { Outcome } from './outcome.ts'

export interface ControllerMetrics {
  reconciled(outcome: Outcome['kind'], seconds: number): void
  depth(ready: number): void
  hung(count: number): void
  /** The queue was full and refused a key. */
  refused(): void
}

export const noControllerMetrics: ControllerMetrics = {
  reconciled: () => undefined,
  depth: () => undefined,
  hung: () => undefined,
  refused: () => undefined,
}

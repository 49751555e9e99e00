// Where fleet code runs: one port, so that other parts do not depend on how the code is isolated.
import type { Cage, CageLayer } from './cage.ts'
import type { RenderRequest } from './protocol.ts'
import { runCaged, type CagedEnd, type CageLimits } from './run-caged.ts'

export interface Renderer {
  /** The layers that isolate the code; part of every result. */
  readonly layers: readonly CageLayer[]
  /** How the run ended. Throws errors that the code did not cause, such as a cluster without room for it. */
  run(request: RenderRequest, limits?: CageLimits): Promise<CagedEnd>
}

/** Runs in a process on this machine. */
export const processRenderer = (cage: Cage): Renderer => ({
  layers: cage.level.layers,
  run: (request, limits) => runCaged(cage, request, limits),
})

// Where the code of a fleet runs: one port, so that other parts do not depend on how that code is locked up.
import type { Cage, CageLayer } from './cage.ts'
import type { RenderRequest } from './protocol.ts'
import { runCaged, type CagedEnd, type CageLimits } from './run-caged.ts'

export interface Renderer {
  /** What holds the code; part of every result. */
  readonly layers: readonly CageLayer[]
  /** How the run ended. Throws what is no fault of the code, such as a cluster without room for it. */
  run(request: RenderRequest, limits?: CageLimits): Promise<CagedEnd>
}

/** A process of this machine. */
export const processRenderer = (cage: Cage): Renderer => ({
  layers: cage.level.layers,
  run: (request, limits) => runCaged(cage, request, limits),
})

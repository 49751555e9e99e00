// Decides whether a version may be put back as the original that it is: not when it is revoked, below its floor, or too far from the API server. Pure.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { type TrustDocument, floorProblem } from '#api/trust/trust-document.ts'
import { skewRefusal } from '../preflight/preflight.ts'

/** What is not known is no refusal: an agent whose API server is down hands back too. */
export function restoreRefusal(
  spec: MachineComponentSpec,
  trust: Pick<TrustDocument, 'revoked' | 'floors'> | undefined,
  server: string | undefined,
): string | undefined {
  if ((spec.artifacts ?? []).some((a) => trust?.revoked.includes(a.sha256) === true)) return 'it is revoked'
  const problem = trust && floorProblem(trust, spec.component, spec.version)
  if (problem !== undefined) return problem
  return spec.skew === undefined || server === undefined ? undefined : skewRefusal(spec, server)
}

// Decides whether an original may be restored: not if its version is revoked, below its floor, or too far from the API server's version. Pure.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { type TrustDocument, floorProblem } from '#api/trust/trust-document.ts'
import { skewRefusal } from '../preflight/preflight.ts'

/** An unknown fact is not a refusal: an agent can hand back while its API server is down. */
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

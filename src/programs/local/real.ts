// Decides whether a local fleet's Clusters get real Kubernetes control planes, and where those programs are.
import { missingPrograms } from '#controlplanes/programs.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { FleetState } from './layout.ts'
import { localErrors } from './local-errors.ts'

/** setup-envtest and Kubernetes' own tests use this variable too. */
export const ASSETS = 'KUBEBUILDER_ASSETS'

/** The folder of the programs; undefined for the embedded server. A fleet keeps its kind, because neither server can read the other's data. */
export function programsFor(
  asked: boolean,
  before: Pick<FleetState, 'controlPlanes'> | undefined,
  folder: string | undefined,
): string | undefined {
  const isKnown = before?.controlPlanes === 'programs'
  if (asked && before !== undefined && !isKnown) throw new KubeNodeError(localErrors.KN1202_programs())
  if (!asked && !isKnown) return undefined
  if (folder === undefined || folder === '')
    throw new KubeNodeError(localErrors.KN1097_local({ why: `${ASSETS} is not set`, variable: ASSETS }))
  const missing = missingPrograms(folder)
  if (missing.length > 0)
    throw new KubeNodeError(
      localErrors.KN1097_local({ why: `no executable ${missing.join(', ')} in ${folder}`, variable: ASSETS }),
    )
  return folder
}

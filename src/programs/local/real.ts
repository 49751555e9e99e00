// Whether the Clusters of a local fleet get the control planes of Kubernetes itself, and where their programs are.
import { missingPrograms } from '#controlplanes/programs.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { FleetState } from './layout.ts'
import { localErrors } from './local-errors.ts'

/** Where setup-envtest and tests of Kubernetes look, too. */
export const ASSETS = 'KUBEBUILDER_ASSETS'

/** The folder of the programs; undefined for the embedded server. A fleet keeps what it was made with: the one cannot read the data of the other. */
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

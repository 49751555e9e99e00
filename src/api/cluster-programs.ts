// Where the programs of a Cluster run. Pure.
import type { Cluster, PROGRAM_PLACES } from './kinds/cluster.ts'
import { SYSTEM_NAMESPACE } from './names.ts'

export type ProgramPlace = (typeof PROGRAM_PLACES)[number]

/** A cluster that the hub makes gets all of it; one that was registered has programs of its own, unless it asks. */
export const programPlace = ({
  programs,
  controlPlane,
}: Pick<Cluster['spec'], 'programs' | 'controlPlane'>): ProgramPlace =>
  programs ?? (controlPlane === undefined ? 'None' : 'Hub')

/** Programs that are to run in the cluster run on the hub until the status says that the cluster runs them. */
export const runsOnHub = ({ spec, status }: Pick<Cluster, 'spec' | 'status'>): boolean => {
  const wanted = programPlace(spec)
  return wanted === 'Hub' || (wanted === 'Cluster' && status?.programs?.place !== 'Cluster')
}

/** The name of a Cluster as its programs call it in logs and metrics. */
export const memberName = ({ metadata: { namespace = '', name = '' } }: Pick<Cluster, 'metadata'>): string =>
  namespace === SYSTEM_NAMESPACE ? name : `${namespace}.${name}`

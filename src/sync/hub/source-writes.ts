// How a source's clusters are written, and which user sync acts as. Pure.
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { sourceUser } from '#api/names.ts'
import type { ClusterConfig } from '#delivery/diff.ts'
import { defined } from '#lib/defined.ts'

export const clusterConfig = (source: FleetSource, commit: string): Omit<ClusterConfig, 'source' | 'target'> => {
  const { prune, drift, writes, replaces } = source.spec
  return {
    commit,
    prune,
    drift,
    ...defined({ writes, replaces }),
  }
}

/** The user that sync acts as for the source. Undefined: sync itself, for the only source of a fleet. */
export const actingUser = ({ metadata: { namespace = '', name = '' }, spec }: FleetSource): string | undefined =>
  spec.writes === undefined ? undefined : sourceUser(namespace, name)

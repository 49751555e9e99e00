// Decides which kubeconfigs the programs of a Cluster on the hub get and lose, and what its status says about them. Pure.
import type { Reason } from '#api/catalogue.ts'
import { programPlace } from '#api/cluster-programs.ts'
import { HOSTED_PROGRAMS, hostedNamespace, hostedWorkload, programLeaseName } from '#api/names.ts'
import type { ControlPlane } from '#controlplanes/port.ts'
import type { WantedCondition } from '#kube/conditions.ts'
import { fit, type Wait } from '#runtime/waiting.ts'
import type { ClusterAction } from '../actions.ts'
import type { KubeconfigSeen, Seen } from '../seen.ts'
import { isInCluster, type Place } from './place.ts'

/** `stale` says why a kubeconfig must be written. */
export function programKubeconfigs(
  seen: Seen,
  stale: (kubeconfig: KubeconfigSeen | undefined) => string | undefined,
): readonly ClusterAction[] {
  if (seen.programs === undefined) return []
  const { kubeconfigs } = seen.programs
  if (programPlace(seen.cluster.spec) === 'None') return endedPrograms(seen, 'the Cluster wants no programs on the hub')
  return HOSTED_PROGRAMS.flatMap((program): readonly ClusterAction[] => {
    const found = kubeconfigs[program]
    // A person's is left alone.
    if (found !== undefined && found.owner === undefined) return []
    const reason = stale(found)
    return reason === undefined ? [] : [{ kind: 'WriteProgramKubeconfig', program, reason }]
  })
}

/** Their programs on the hub end without it. */
export const endedPrograms = ({ cluster, programs }: Seen, reason: string): readonly ClusterAction[] =>
  HOSTED_PROGRAMS.flatMap((program): readonly ClusterAction[] =>
    programs !== undefined && programs.kubeconfigs[program]?.owner === cluster.metadata.uid
      ? [{ kind: 'DeleteProgramKubeconfig', program, reason }]
      : [],
  )

/** Undefined: the status has no such condition. */
export function programsCondition(
  seen: Seen,
  plane: ControlPlane | undefined,
  place?: Place,
): WantedCondition | undefined {
  const { cluster, programs } = seen
  const { spec, metadata } = cluster
  const of = { type: 'ProgramsReady', observedGeneration: metadata.generation ?? 0 } as const
  if (programPlace(spec) === 'None') return undefined
  if (programs === undefined)
    return spec.programs === undefined
      ? undefined
      : { ...of, status: 'False', reason: 'ProgramsNotServed', message: NOT_SERVED }
  const wait = waitOfPrograms(seen, plane)
  if (wait !== undefined) return { ...of, status: 'False', reason: wait.predicate, message: fit(wait.seen) }
  const { leaders } = programs
  if (leaders?.kind === 'Read')
    return {
      ...of,
      status: 'True',
      reason: 'ProgramsLead',
      message: fit(`controllers, approver and Defender lead in the cluster${whereText(seen, place)}`),
    }
  const message = leaders?.why ?? 'the control plane does not run'
  return { ...of, status: 'Unknown', reason: 'ApiServerDown', message: fit(message) }
}

function whereText({ cluster }: Seen, place: Place | undefined): string {
  if (programPlace(cluster.spec) !== 'Cluster')
    return place === undefined ? '' : '; those in it stay until the hub runs them'
  if (place?.place === 'Cluster') return ', from pods in it'
  return `; they run on the hub${place?.message === undefined ? '' : `: ${place.message}`}`
}

const NOT_SERVED = 'this hub runs no programs for its Clusters; an installed hub does with the setting clusterPrograms'

/** What they wait for, undefined if nothing is known to be missing. */
export function waitOfPrograms({ cluster, programs }: Seen, plane: ControlPlane | undefined): Wait<Reason> | undefined {
  if (programs === undefined || plane?.state !== 'Running' || programPlace(cluster.spec) === 'None') return undefined
  const { kubeconfigs, leaders } = programs
  const taken = HOSTED_PROGRAMS.filter((p) => kubeconfigs[p] !== undefined && kubeconfigs[p].owner === undefined)
  const without = leaders?.kind === 'Read' ? leaders.without : []
  if (without.length === 0) return undefined
  const [first] = taken.filter((p) => without.includes(p))
  if (first !== undefined)
    return {
      predicate: 'SecretTaken',
      seen: `the Secret for ${first} in ${hostedNamespace(first)} was made by a person`,
      unblock: 'a person deletes that Secret',
    }
  return {
    predicate: 'ProgramsMissing',
    seen: `no leader in the cluster: ${without.join(', ')}`,
    unblock: isInCluster(cluster)
      ? `pods of ${without.map(programLeaseName).join(', ')} run in the cluster; after two minutes without, the hub runs them`
      : `pods of ${without.map(hostedWorkload).join(', ')} run on the hub`,
  }
}

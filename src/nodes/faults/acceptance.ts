// Decides whether the signed script of a repair has accepted the node, so that the repair's cordon may end. Pure.
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { TAINTS } from '#api/names.ts'
import { cordonOwners } from '../cordon.ts'
import { hasTaint, type Node } from '../objects.ts'

type Job = RemedyOperationJob

type Acceptance =
  /** No repair of the incident that began has a script, or the script passed. */
  | { readonly kind: 'Settled' }
  /** The script of this repair failed or did not run. */
  | { readonly kind: 'Missing'; readonly job: Job }
  /** The same, but a user deleted its record, which gives the node back. */
  | { readonly kind: 'GivenBack' }

/**
 * The newest repair of the incident that began and has a script decides, whatever ran after it without one. A later repair by the same rule on the same
 * node accepts it as well: a fault that returns is a new incident.
 */
export function acceptanceOf(job: Job, others: readonly Job[]): Acceptance {
  const asked = [job, ...others].filter((j) => hasScript(j) && isOfSameRuleAndNode(j, job)).toSorted(newestFirst)
  const at = asked.findIndex((j) => j.spec.incident === job.spec.incident)
  const deciding = asked[at]
  if (deciding === undefined || asked.slice(0, at + 1).some(hasPassed)) return { kind: 'Settled' }
  return deciding.metadata.deletionTimestamp === undefined ? { kind: 'Missing', job: deciding } : { kind: 'GivenBack' }
}

/** Owner of the cordon that all repairs of an incident share, so that it outlives a rung that did not help. */
export const repairCordon = (incident: string): string => `${REPAIR_CORDON}${incident.slice(0, 16)}`
const REPAIR_CORDON = 'repair-'

/** Owners of the node's cordon that are repairs. */
export function repairCordonsOn(node: Node): readonly string[] {
  if (!hasTaint(node, TAINTS.cordon)) return []
  const read = cordonOwners(node)
  return read.kind === 'Owners' ? Object.keys(read.owners).filter((owner) => owner.startsWith(REPAIR_CORDON)) : []
}

const hasScript = ({ spec, status }: Job): boolean => spec.acceptance !== undefined && status?.startedAt !== undefined

const isOfSameRuleAndNode = (a: Job, b: Job): boolean =>
  a.spec.node.uid === b.spec.node.uid && a.spec.remedierRef.name === b.spec.remedierRef.name

const hasPassed = ({ spec, status }: Job): boolean =>
  status?.steps?.some((s) => s.index === spec.acceptance && s.outcome === 'Succeeded') === true

/** Within one second, the higher rung and attempt is newer. */
const newestFirst = (a: Job, b: Job): number =>
  Date.parse(b.status?.startedAt ?? '') - Date.parse(a.status?.startedAt ?? '') ||
  b.spec.rung - a.spec.rung ||
  b.spec.attempt - a.spec.attempt

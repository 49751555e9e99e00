// When the hub gets what a commit declares for it: in a stage of its own, first unless the pipeline has that stage elsewhere. Pure.
import { API_GROUP } from '#api/kind.ts'
import { cluster } from '#api/kinds/cluster.ts'
import { HUB_TARGET } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { counted } from '#lib/counted.ts'
import type { ClusterDifference, ObjectChange } from '#sync/difference.ts'
import type { BindingHub } from '../stage-members.ts'

export interface HubTurn {
  readonly stage: string
  /** Objects that change there. A Cluster that is there already changes in its own stage. */
  readonly objects: number
  /** The stage before it; absent: it comes first. */
  readonly after?: string
}

/** The stage that a pipeline has without declaring it. */
const IMPLICIT = 'hub'

/** Undefined: the commit changes nothing on the hub itself. */
export function hubTurn(shown: readonly ClusterDifference[], { pipelines }: BindingHub): HubTurn | undefined {
  const changes = shown.find((d) => d.cluster === HUB_TARGET)?.changes ?? []
  const objects = changes.filter((c) => !isInItsTurn(c)).length
  if (objects === 0) return undefined
  const stages = pipelines.find(({ spec }) => spec.stages.some(isOfHub))?.spec.stages ?? []
  const at = stages.findIndex(isOfHub)
  const after = stages[at - 1]?.name
  return { stage: stages[at]?.name ?? IMPLICIT, objects, ...defined({ after }) }
}

const isOfHub = ({ clusters }: { readonly clusters: { readonly hub?: boolean } }): boolean => clusters.hub === true

const isInItsTurn = ({ ref, change }: ObjectChange): boolean =>
  ref.group === API_GROUP && ref.kind === cluster.kind && change !== 'added'

export const hubTurnText = ({ stage, objects, after }: HubTurn): string =>
  `${HUB_TARGET} (stage ${stage}): ${counted(objects, 'object')}, ${after === undefined ? 'before any cluster' : `after stage ${after}`}; while one is refused, ${after === undefined ? 'no cluster gets the commit' : 'later stages wait'}`

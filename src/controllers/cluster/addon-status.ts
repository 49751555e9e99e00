// What the status of a Cluster has of the addons that KubeNode gives every control plane. Pure.
import type { Cluster, ClusterStatus } from '#api/kinds/cluster.ts'
import type { Reason } from '#api/catalogue.ts'
import type { AddonsResult } from '#controlplanes/addons.ts'
import type { ActionResult } from '#runtime/reconcile-with.ts'
import type { Wait } from '#runtime/waiting.ts'
import type { ClusterAction } from './actions.ts'
import type { Seen } from './seen.ts'

/** The one of KubeNode itself. */
const OWN = 'kubenode'
const MAX_MESSAGE = 1_024

type Entry = NonNullable<NonNullable<ClusterStatus>['addons']>[number]

export const addonIn = ({ status }: Cluster): Entry | undefined => status?.addons?.find((a) => a.name === OWN)

function resultOf(results: readonly ActionResult<ClusterAction>[]): AddonsResult | undefined {
  const done = results.find((r) => r.action.kind === 'ApplyAddons' && r.outcome.kind === 'Applied')
  return done?.outcome.kind === 'Applied' ? (done.outcome.object as AddonsResult) : undefined
}

/** A control plane that was made again or went back to a snapshot may have others, or none. */
export function addonsAfter(
  { cluster, plane }: Seen,
  results: readonly ActionResult<ClusterAction>[],
): readonly Entry[] {
  const result = resultOf(results)
  const others = (cluster.status?.addons ?? []).filter((a) => a.name !== OWN)
  if (result !== undefined) return [...others, entryOf(result)]
  const isOther = results.some(
    ({ action, outcome }) =>
      outcome.kind === 'Applied' && (action.kind === 'Restore' || (action.kind === 'Put' && plane === undefined)),
  )
  return isOther ? others : (cluster.status?.addons ?? [])
}

const entryOf = (result: AddonsResult): Entry =>
  result.kind === 'Applied'
    ? { name: OWN, version: result.version, healthy: 'True' }
    : {
        name: OWN,
        version: result.version,
        healthy: 'False',
        message: `${result.object}: ${result.message}`.slice(0, MAX_MESSAGE),
      }

export function waitOfAddons(results: readonly ActionResult<ClusterAction>[]): Wait<Reason> | undefined {
  const result = resultOf(results)
  if (result?.kind !== 'AddonFailed') return undefined
  return {
    predicate: 'AddonFailed',
    seen: `${result.object}: ${result.message}`.slice(0, MAX_MESSAGE),
    unblock: 'the API server of the cluster accepts the object; it is tried again and again',
  }
}

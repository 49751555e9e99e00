// The addons in the status of a Cluster: those that KubeNode gives every control plane, and those that the Cluster names. Pure.
import type { Cluster, ClusterStatus } from '#api/kinds/cluster.ts'
import type { Reason } from '#api/catalogue.ts'
import type { AddonsResult } from './built-in.ts'
import type { ActionResult } from '#runtime/reconcile-with.ts'
import type { Wait } from '#runtime/waiting.ts'
import type { ClusterAction } from '../actions.ts'
import { declaredAddons, type NamedResult, OWN_ADDON } from './named.ts'
import type { Seen } from '../seen.ts'
import { defined } from '#lib/defined.ts'
import { shortened } from '#lib/shortened.ts'

const MAX_MESSAGE = 1_024

type Entry = NonNullable<NonNullable<ClusterStatus>['addons']>[number]

export const addonIn = ({ status }: Cluster): Entry | undefined => status?.addons?.find((a) => a.name === OWN_ADDON)

function resultOf(results: readonly ActionResult<ClusterAction>[]): AddonsResult | undefined {
  const done = results.find((r) => r.action.kind === 'ApplyAddons' && r.outcome.kind === 'Applied')
  return done?.outcome.kind === 'Applied' ? (done.outcome.object as AddonsResult) : undefined
}

/** A control plane that was recreated or restored from a snapshot may have other addons, or none. */
export function addonsAfter(
  { cluster, plane }: Seen,
  results: readonly ActionResult<ClusterAction>[],
): readonly Entry[] {
  const result = resultOf(results)
  const delivered = deliveredIn(results)
  const before = delivered === undefined ? namedIn(cluster) : delivered.map(namedEntry)
  const isOther = hasOtherStore(results, plane)
  const others = isOther ? [] : before
  if (result !== undefined) return [entryOf(result), ...others]
  const own = isOther ? undefined : addonIn(cluster)
  return own === undefined ? others : [own, ...others]
}

/** Whether the store was replaced. */
const hasOtherStore = (results: readonly ActionResult<ClusterAction>[], plane: Seen['plane']): boolean =>
  results.some(
    ({ action, outcome }) =>
      outcome.kind === 'Applied' && (action.kind === 'Restore' || (action.kind === 'Put' && plane === undefined)),
  )

const namedIn = ({ status }: Cluster): readonly Entry[] => (status?.addons ?? []).filter((a) => a.name !== OWN_ADDON)

/** Includes previously named addons, which still have to be removed. */
export const hasNamedAddons = (cluster: Cluster): boolean =>
  declaredAddons(cluster).length > 0 || namedIn(cluster).length > 0

interface Unapplied {
  readonly name: string
  readonly failed: boolean
}

export function unappliedAddons(cluster: Cluster): readonly Unapplied[] {
  const known = new Map(namedIn(cluster).map((entry) => [entry.name, entry]))
  return declaredAddons(cluster).flatMap(({ name, version }) => {
    const entry = known.get(name)
    const failed = entry?.version === version && entry.healthy === 'False'
    const isApplied = entry?.version === version || entry?.waitsFor !== undefined
    return isApplied && !failed ? [] : [{ name, failed }]
  })
}

function deliveredIn(results: readonly ActionResult<ClusterAction>[]): readonly NamedResult[] | undefined {
  const done = results.find((r) => r.action.kind === 'DeliverAddons' && r.outcome.kind === 'Applied')
  return done?.outcome.kind === 'Applied' ? (done.outcome.object as readonly NamedResult[]) : undefined
}

const namedEntry = ({ name, version, healthy, waitsFor, object, message }: NamedResult): Entry => ({
  name,
  version,
  healthy,
  ...defined({ waitsFor }),
  ...(object !== undefined && { message: shortened(`${object}: ${message ?? ''}`, MAX_MESSAGE) }),
})

const entryOf = (result: AddonsResult): Entry =>
  result.kind === 'Applied'
    ? { name: OWN_ADDON, version: result.version, healthy: 'True' }
    : {
        name: OWN_ADDON,
        version: result.version,
        healthy: 'False',
        message: shortened(`${result.object}: ${result.message}`, MAX_MESSAGE),
      }

export function waitOfAddons(results: readonly ActionResult<ClusterAction>[]): Wait<Reason> | undefined {
  const result = resultOf(results)
  const broken = deliveredIn(results)?.find(({ healthy }) => healthy === 'False')
  if (broken !== undefined && result?.kind !== 'AddonFailed')
    return {
      predicate: 'AddonFailed',
      seen: `addon ${broken.name} ${broken.version}: ${broken.object ?? ''}: ${broken.message ?? ''}`.slice(
        0,
        MAX_MESSAGE,
      ),
      unblock: 'the API server of the cluster accepts the object and its pods run; it is tried again and again',
    }
  if (result?.kind !== 'AddonFailed') return undefined
  return {
    predicate: 'AddonFailed',
    seen: shortened(`${result.object}: ${result.message}`, MAX_MESSAGE),
    unblock: 'the API server of the cluster accepts the object; it is tried again and again',
  }
}

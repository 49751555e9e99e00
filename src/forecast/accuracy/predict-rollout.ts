// The prediction of a rollout that begins: by the forecast that `kubenode plan` makes, from the cluster as it is at that moment.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { ControllerRevision } from '#controllers/componentset/revisions/revisions.ts'
import { durationsOf } from '#explain/durations.ts'
import { defined } from '#lib/defined.ts'
import { forecast } from '../forecast.ts'
import type { Inventory } from '../inventory.ts'
import { expectedObjects } from '../objects.ts'
import type { RecordedPrediction } from './recorded-prediction.ts'

export interface RolloutBegun {
  /** With the machines of the cluster, and the set as it is. */
  readonly inventory: Inventory
  readonly set: MachineComponentSet
  /** What it rolls out. */
  readonly revision: ControllerRevision
  readonly now: number
  readonly pause?: () => Promise<void>
}

/** Undefined if the forecast does not finish, switches nothing, or only assumes how long a component takes: none is a prediction that can be compared. */
export async function predictRollout({
  inventory,
  set,
  revision,
  now,
  pause,
}: RolloutBegun): Promise<Omit<RecordedPrediction, 'at'> | undefined> {
  const name = set.metadata.name ?? ''
  const { objects } = expectedObjects(inventory, [], [])
  // The revision has the components that the rollout has, with the secret values of the moment.
  const components = revision.data?.components ?? set.spec.components
  const sets = objects.sets.map((s) => (s.metadata.name === name ? { ...s, spec: { ...s.spec, components } } : s))
  const durationOf = durationsOf(inventory.sets, 0.5)
  const { slices, stuck, ms } = await forecast({
    objects: { ...objects, sets },
    now,
    switchMs: (of, component) => durationOf(of, component).ms,
    sets: new Set([name]),
    ...defined({ pause }),
  })
  const seconds = Math.round(ms / 1_000)
  const switched = [...new Set(slices.flatMap((s) => (s.version === undefined ? [] : [s.component])))]
  if (switched.length === 0 || stuck.length > 0 || seconds === 0) return undefined
  if (switched.some((component) => durationOf(name, component).isAssumed)) return undefined
  return { revision: revision.revision, seconds, components: switched }
}

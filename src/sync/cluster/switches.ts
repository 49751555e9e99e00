// How long switches took recently, from the reports of a target's sets. A component without a measured switch is left out. Pure.
import { machineComponentSet, type MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { MAX_RECORDED_SWITCHES, type ReleaseStatus } from '#api/kinds/release.ts'
import { quantile } from '#lib/quantile.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { objectShapeProblem } from '#api/schema/shape.ts'

type Entry = NonNullable<ReleaseStatus['record']>[number]
export type RecordedSwitches = NonNullable<Entry['switches']>[number]

/** Objects as read from the cluster. */
export const switchesOf = (objects: readonly KubeObject[]): readonly RecordedSwitches[] =>
  objects
    .filter(isSet)
    .flatMap(({ metadata: { name: set = '' }, status }) =>
      (status?.durations ?? []).flatMap(({ component, seconds }): readonly RecordedSwitches[] => {
        const [p50, p90] = [quantile(seconds, 0.5), quantile(seconds, 0.9)]
        return p50 === undefined || p90 === undefined ? [] : [{ set, component, count: seconds.length, p50, p90 }]
      }),
    )
    .slice(0, MAX_RECORDED_SWITCHES)

/** A server that does not know the kind does not validate it: an invalid duration must not block writing the record. */
const isSet = (object: KubeObject): object is MachineComponentSet =>
  object.kind === machineComponentSet.kind &&
  object.apiVersion.startsWith(`${machineComponentSet.group}/`) &&
  objectShapeProblem(machineComponentSet.schema ?? {}, object) === undefined

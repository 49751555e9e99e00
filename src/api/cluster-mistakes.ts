// What no hub accepts in a Cluster, used both to check commits and by the controller. Pure.
import { defined } from '#lib/defined.ts'
import { durationMs, formatDuration } from '#lib/duration.ts'
import { addonProblem } from './constructs/addons/table.ts'
import { refusedArgs } from './constructs/control-plane/arguments.ts'
import { PARTS } from './constructs/control-plane/settings.ts'
import type { ClusterInput } from './kinds/cluster.ts'

/** Each starts a pod and reads the whole store. */
export const LEAST_EVERY_MS = 5 * 60_000

type Declared = Pick<ClusterInput['spec'], 'addons'> & {
  readonly controlPlane?: ClusterInput['spec']['controlPlane']
}
type Plane = NonNullable<Declared['controlPlane']>

export function clusterMistake({ addons = [], controlPlane }: Declared): string | undefined {
  if (controlPlane === undefined) return undefined
  return (
    ((controlPlane.flavor ?? 'kubernetes') === 'kubernetes' ? shapeMistake(controlPlane) : undefined) ??
    addons
      .map(({ name, version, values, recipe }) => addonProblem({ name, version, ...defined({ values, recipe }) }))
      .find((problem) => problem !== undefined) ??
    scheduleMistake(controlPlane.snapshots)
  )
}

function shapeMistake({ endpoint, extraArgs = {} }: Plane): string | undefined {
  if (endpoint?.type === 'NodePort' && endpoint.host === undefined)
    return 'endpoint.type NodePort without endpoint.host'
  const [first] = refusedArgs(extraArgs, PARTS)
  return first === undefined ? undefined : `extraArgs ${first}`
}

function scheduleMistake({ every }: NonNullable<Plane['snapshots']> = {}): string | undefined {
  const ms = every === undefined ? undefined : (durationMs(every) ?? 0)
  return ms !== undefined && ms < LEAST_EVERY_MS
    ? `controlPlane.snapshots.every ${every ?? ''} is less than ${formatDuration(LEAST_EVERY_MS)}`
    : undefined
}

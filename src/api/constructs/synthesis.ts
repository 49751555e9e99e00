// Collects the objects of a fleet's App by target, instead of writing files. For programs that render a fleet in-process.
import { ApiObject, App, type Chart } from 'cdk8s'
import { KubeNodeError } from '#lib/errors.ts'
import { CLUSTER_LABEL, HubChart } from './charts.ts'
import { apiErrors } from '../api-errors.ts'
import { HUB_TARGET } from '../names.ts'

export interface Synthesis {
  readonly apps: readonly App[]
}

/** From now on `app.synth()` remembers the App. Call it once, in a process of its own. */
export function catchSynth(): Synthesis {
  const apps: App[] = []
  App.prototype.synth = function (this: App): void {
    if (!apps.includes(this)) apps.push(this)
  }
  return { apps }
}

/** By the name of the cluster; objects in the order in which they were declared. */
export function objectsByTarget({ apps }: Synthesis): ReadonlyMap<string, readonly unknown[]> {
  const targets = new Map<string, unknown[]>()
  for (const app of apps) {
    const wrong = app.node.findAll().flatMap(({ node }) => node.validate().map((problem) => `${node.path}: ${problem}`))
    if (wrong.length > 0) throw new KubeNodeError(apiErrors.KN5011({ wrong: wrong.slice(0, MAX_TOLD).join('; ') }))
    for (const object of app.node.findAll()) {
      if (!ApiObject.isApiObject(object)) continue
      const target = targetOf(object.chart)
      const objects = targets.get(target) ?? []
      targets.set(target, objects)
      // Not `chart.toJson()`, which goes through the whole App again for each chart.
      objects.push(object.toJson())
    }
    // A target whose last object was removed is still a target, with nothing in it.
    for (const chart of app.charts) if (!targets.has(targetOf(chart))) targets.set(targetOf(chart), [])
  }
  return targets
}

/** Problems of constructs that are named; the rest shows when these are mended. */
const MAX_TOLD = 10

/** Charts may be nested: a chart inside that of a cluster belongs to the cluster. A plain chart is named like its target. */
function targetOf(chart: Chart): string {
  const scopes = chart.node.scopes.slice(1)
  for (const scope of scopes) {
    if (isHubChart(scope)) return HUB_TARGET
    const cluster = (scope as Partial<Chart>).labels?.[CLUSTER_LABEL]
    if (cluster !== undefined) return cluster
  }
  return (scopes[0] ?? chart).node.id
}

/** Not `instanceof`: cdk8s answers it with yes for every chart, whatever its class. */
const isHubChart = (scope: object): boolean => Object.prototype.isPrototypeOf.call(HubChart.prototype, scope)

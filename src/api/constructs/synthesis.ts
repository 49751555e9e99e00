// Collects what the App of a fleet synthesises, by target, instead of writing files. For whoever renders a fleet in-process.
import { App, type Chart } from 'cdk8s'
import { CLUSTER_LABEL, HubChart } from './charts.ts'

/** The target of what belongs on the hub. */
export const HUB_TARGET = 'hub'

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

/** By the name of the cluster; order is that of the charts and, in each, of their dependencies. */
export function objectsByTarget({ apps }: Synthesis): ReadonlyMap<string, readonly unknown[]> {
  const targets = new Map<string, unknown[]>()
  for (const chart of apps.flatMap((app) => app.charts)) {
    const target = targetOf(chart)
    const objects = targets.get(target) ?? []
    targets.set(target, objects)
    for (const object of chart.toJson() as readonly unknown[]) objects.push(object)
  }
  return targets
}

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

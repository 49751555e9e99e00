// The install manifests beside the CRDs, by path in the repository. Pure: writing is done by the generator.
import { App, type Chart } from 'cdk8s'
import { stringify } from 'yaml'
import type { KubeObject } from '#api/schema/object.ts'
import { ConsoleChart } from './console.ts'
import { FlowChart } from './flow.ts'
import { HostedProgramsChart } from './hosted-programs.ts'
import { InClustersChart } from './in-clusters.ts'
import { NetworkChart } from './network.ts'
import { PoliciesChart } from './policies.ts'
import { RbacChart } from './rbac.ts'
import type { InstallSettings } from './settings.ts'
import { asServersWrite } from './as-servers-write.ts'
import { ProviderPodsChart } from './provider-pods.ts'
import { WorkloadsChart } from './workloads.ts'
import { RenderChart } from './render.ts'
import { SystemChart } from './system.ts'

export const INSTALL_DIRECTORY = 'deploy/install'
/** Only for the hub, beside what every cluster gets. */
export const HUB_DIRECTORY = 'deploy/hub'

const yamlOf = (chart: Chart): string =>
  (chart.toJson() as readonly unknown[])
    .map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n')

/**
 * All objects of an installation but the definitions of deploy/crds, in the order of application: applied one after the other, none comes before what it
 * needs, and the guard is there before what it guards.
 */
export function installObjects(settings: InstallSettings): readonly KubeObject[] {
  const app = new App()
  const isHub = settings.roles.includes('hub')
  const charts: readonly Chart[] = [
    new SystemChart(app, settings),
    ...(isHub ? [new RenderChart(app, settings)] : []),
    new NetworkChart(app, settings),
    new PoliciesChart(app),
    new RbacChart(app, false),
    ...(isHub ? [new RbacChart(app, true)] : []),
    new ConsoleChart(app, settings),
    new FlowChart(app),
    new ProviderPodsChart(app, settings),
    new HostedProgramsChart(app, settings),
    new InClustersChart(app, settings),
    new WorkloadsChart(app, settings),
  ]
  return charts.flatMap((chart) => (chart.toJson() as readonly KubeObject[]).map(asServersWrite))
}

export function installFiles(): ReadonlyMap<string, string> {
  const app = new App()
  const charts: readonly (readonly [string, Chart])[] = [
    // kubectl applies the files of a folder in the order of their names, and a namespace must exist before what is in it.
    ['1-system', new SystemChart(app)],
    ['2-rbac', new RbacChart(app, false)],
    ['3-policies', new PoliciesChart(app)],
    ['4-flow', new FlowChart(app)],
  ]
  const head = '# Generated from deploy/charts by npm run gen.\n'
  const hub = [
    ['1-render', new RenderChart(app)],
    ['2-rbac', new RbacChart(app, true)],
  ] as const
  return new Map([
    ...charts.map(([name, chart]) => [`${INSTALL_DIRECTORY}/${name}.yaml`, `${head}${yamlOf(chart)}`] as const),
    ...hub.map(([name, chart]) => [`${HUB_DIRECTORY}/${name}.yaml`, `${head}${yamlOf(chart)}`] as const),
  ])
}

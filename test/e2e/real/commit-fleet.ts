// A fleet of a hub and of one cluster whose control plane the hub runs: each commit says in one file what there is.
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../..')
export const CLUSTER = 'one'
export const MEMBERS = 3
const SERVICE_RANGE = '10.97.0.0/16'

const MAIN = `
import { App } from 'cdk8s'
import { Cluster, ClusterChart, DefenderPolicy, HubChart, Machine, MachineComponent, MachineComponentSet, NodeRemedier, ReleasePipeline } from 'kubenode/constructs'
import { careful } from '../rules/defender/careful.ts'
import { controlPlanes } from '../rules/defender/control-planes.ts'
import { kernelDeadlock } from '../rules/kernel/kernel-deadlock.ts'
import statements from './statements.json' with { type: 'json' }
import wanted from './wanted.json' with { type: 'json' }

const app = new App()
const stage = { 'kubenode.io/stage': 'all' }
const pool = { 'kubenode.io/pool': 'hosts' }
// Two machines: a tenth of them is none.
const few = { ...careful, budgets: [{ max: '50%', of: 'unavailable' }], healthFloor: '50%' }
const hub = new HubChart(app, 'hub', { namespace: 'kubenode-system' })
new ReleasePipeline(hub, 'standard', {
  spec: { stages: [{ name: 'all', clusters: { selector: { matchLabels: stage } }, minSuccessTime: '1s' }] },
})
new DefenderPolicy(hub, 'control-planes', { spec: controlPlanes })
new Cluster(hub, 'own', { metadata: { labels: stage }, spec: { kubeconfigSecretRef: { name: 'cluster-own', key: 'kubeconfig' }, stage: 'all' } })
const own = new ClusterChart(app, 'own')
new DefenderPolicy(own, 'careful', { spec: few })
new NodeRemedier(own, 'kernel-deadlock', { spec: kernelDeadlock })
if (wanted.cluster !== undefined) {
  new Cluster(hub, '${CLUSTER}', { metadata: { labels: stage }, spec: wanted.cluster })
  const one = new ClusterChart(app, '${CLUSTER}')
  new DefenderPolicy(one, 'careful', { spec: few })
  for (const { spec } of statements) new MachineComponent(one, spec.component + '-' + spec.version, { spec })
  for (const name of wanted.machines)
    new Machine(one, name, { metadata: { name, labels: pool }, spec: { provider: { name: 'static' }, channel: 'Agent', pool: 'hosts', zone: 'a' } })
  if (wanted.components.length > 0)
    new MachineComponentSet(one, 'nodes', {
      spec: {
        selector: { matchLabels: pool },
        components: wanted.components,
        rollout: { soak: '1s', inspections: [{ name: 'ready', nodeReady: {} }, { name: 'healthy', componentsHealthy: {} }] },
      },
    })
}
app.synth()
`

export interface Wanted {
  /** Spec of the Cluster; there is none without it. */
  readonly cluster?: object
  readonly machines?: readonly string[]
  readonly components?: readonly { readonly name: string; readonly version: string }[]
}

/** Three members, two of each other program, at a port of the nodes of the hub. */
export const clusterSpec = (version: string, host: string): object => ({
  version,
  controlPlane: {
    flavor: 'kubernetes',
    replicas: 2,
    etcd: { replicas: MEMBERS, storage: '1Gi' },
    endpoint: { type: 'NodePort', host },
    upgrade: { soak: '5s' },
  },
  network: { podCIDR: '10.244.0.0/16', serviceCIDR: SERVICE_RANGE },
  deletionPolicy: 'Delete',
  stage: 'all',
})

export const wantedFile = ({ cluster, machines = [], components = [] }: Wanted): Readonly<Record<string, string>> => ({
  'fleet/wanted.json': JSON.stringify({ cluster, machines, components }),
})

/** `repository`: the folder, into which the rules of this repository are copied. `statements`: where `kubenode artifact` wrote them. */
export function commitFleet(repository: string, statements: string): Readonly<Record<string, string>> {
  cpSync(join(ROOT, 'rules'), join(repository, 'rules'), { recursive: true })
  const all = readdirSync(statements)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(statements, name), 'utf8')) as unknown)
  return { 'fleet/main.ts': MAIN, 'fleet/statements.json': JSON.stringify(all), ...wantedFile({}) }
}

// A fleet of one cluster whose nodes kubeadm made: kubelet and containerd as components of a set, and the rules as they are shipped.
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../..')

const MAIN = `
import { App } from 'cdk8s'
import { Cluster, ClusterChart, DefenderPolicy, HubChart, MachineComponent, MachineComponentSet, NodeRemedier, ReleasePipeline } from 'kubenode/constructs'
import { careful } from '../rules/defender/careful.ts'
import { kernelDeadlock } from '../rules/kernel/kernel-deadlock.ts'
import { notReady } from '../rules/node/not-ready.ts'
import { runtimeUnhealthy } from '../rules/node/runtime-unhealthy.ts'
import { serviceUnhealthy } from '../rules/node/service-unhealthy.ts'
import statements from './statements.json' with { type: 'json' }
import components from './versions.json' with { type: 'json' }

const app = new App()
const stage = { 'kubenode.io/stage': 'all' }
const hub = new HubChart(app, 'hub', { namespace: 'kubenode-system' })
new ReleasePipeline(hub, 'standard', {
  spec: { stages: [{ name: 'all', clusters: { selector: { matchLabels: stage } }, gates: [{ name: 'ready', machinesReady: {} }], minSuccessTime: '1s' }] },
})
new Cluster(hub, 'own', { metadata: { labels: stage }, spec: { kubeconfigSecretRef: { name: 'cluster-own', key: 'kubeconfig' }, stage: 'all' } })
const own = new ClusterChart(app, 'own')
for (const { spec } of statements) new MachineComponent(own, spec.component + '-' + spec.version, { spec })
new MachineComponentSet(own, 'nodes', {
  spec: {
    selector: { matchLabels: { 'kubenode.io/pool': 'hosts' } },
    components,
    rollout: { soak: '1s', inspections: [{ name: 'ready', nodeReady: {} }, { name: 'healthy', componentsHealthy: {} }] },
  },
})
// Two machines: a tenth of them is none.
new DefenderPolicy(own, 'careful', { spec: { ...careful, budgets: [{ max: '50%', of: 'unavailable' }], healthFloor: '50%' } })
const rules = {
  'kernel-deadlock': kernelDeadlock,
  'not-ready': notReady,
  'runtime-unhealthy': runtimeUnhealthy('containerd'),
  'kubelet-unhealthy': serviceUnhealthy('KubeletUnhealthy', 'kubelet'),
}
for (const [name, spec] of Object.entries(rules)) new NodeRemedier(own, name, { spec })
app.synth()
`

export interface Wanted {
  readonly name: string
  readonly version: string
  readonly onRemoval?: 'Restore'
}

export const wantedFile = (components: readonly Wanted[]): Readonly<Record<string, string>> => ({
  'fleet/versions.json': JSON.stringify(components),
})

/** `repository`: the folder, into which the rules of this repository are copied. `statements`: where `kubenode artifact` wrote them. */
export function nodeFleet(
  repository: string,
  statements: string,
  components: readonly Wanted[],
): Readonly<Record<string, string>> {
  cpSync(join(ROOT, 'rules'), join(repository, 'rules'), { recursive: true })
  const all = readdirSync(statements)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(statements, name), 'utf8')) as unknown)
  return { 'fleet/main.ts': MAIN, 'fleet/statements.json': JSON.stringify(all), ...wantedFile(components) }
}

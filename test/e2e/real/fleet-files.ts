// A fleet of one cluster that is hub and member, in one track.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../..')
const VERSIONS = ['1.0.0', '1.1.0', '1.2.0'] as const
export const POOL = { 'kubenode.io/pool': 'hosts' }

const MAIN = `
import { App } from 'cdk8s'
import { Cluster, ClusterChart, DefenderPolicy, HubChart, MachineComponent, MachineComponentSet, ReleasePipeline } from 'kubenode/constructs'
import { careful } from './careful.ts'
import statements from './statements.json' with { type: 'json' }
import versions from './versions.json' with { type: 'json' }

const app = new App()
const stage = { 'kubenode.io/stage': 'all' }
const hub = new HubChart(app, 'hub', { namespace: 'kubenode-system' })
new ReleasePipeline(hub, 'standard', {
  spec: { stages: [{ name: 'all', clusters: { selector: { matchLabels: stage } }, gates: [{ name: 'ready', machinesReady: {} }], minSuccessTime: '1s' }] },
})
new Cluster(hub, 'own', { metadata: { labels: stage }, spec: { kubeconfigSecretRef: { name: 'cluster-own', key: 'kubeconfig' }, stage: 'all' } })
const own = new ClusterChart(app, 'own')
for (const { spec } of statements) new MachineComponent(own, spec.component + '-' + spec.version, { spec })
new MachineComponentSet(own, 'base', {
  spec: {
    selector: { matchLabels: ${JSON.stringify(POOL)} },
    components: Object.entries(versions).map(([name, version]) => ({ name, version })),
    rollout: { soak: '1s', inspections: [{ name: 'healthy', componentsHealthy: {} }] },
  },
})
new DefenderPolicy(own, 'careful', { spec: { ...careful, budgets: [{ max: '50%', of: 'unavailable' }], healthFloor: '50%' } })
app.synth()
`

export const versionsFile = (beacon: string): Readonly<Record<string, string>> => ({
  'fleet/versions.json': JSON.stringify({ beacon }),
})

export function fleetFiles(beacon: string): Readonly<Record<string, string>> {
  const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
  const statements = VERSIONS.map((v) => JSON.parse(read(`fleet/components/beacon-${v}.json`)) as unknown)
  return {
    'fleet/main.ts': MAIN,
    'fleet/careful.ts': read('rules/defender/careful.ts'),
    'fleet/statements.json': JSON.stringify(statements),
    ...versionsFile(beacon),
  }
}

export const TRACKS = [{ name: 'fleet', pipelineRef: { name: 'standard' } }]

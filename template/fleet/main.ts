// The fleet: every cluster converges to what is declared here. Each change is a commit.
import { App } from 'cdk8s'
import { Cluster, ClusterChart, DefenderPolicy, HubChart } from 'kubenode/constructs'
import { controlPlanes } from '../rules/defender/control-planes.ts'
import cluster from './cluster.json' with { type: 'json' }
import { declareAgents } from './agents.ts'
import { clusters } from './clusters.ts'
import { declareComponents } from './components.ts'
import { declareNodes } from './nodes.ts'
import { declarePipeline } from './pipeline.ts'
import { declareRules } from './rules.ts'

const app = new App()
// The cluster that runs sync is both hub and first cluster.
const hub = new HubChart(app, 'hub', { namespace: 'kubenode-system' })
declarePipeline(hub)
new DefenderPolicy(hub, 'control-planes', { spec: controlPlanes })
declareComponents(hub)
declareRules(hub)
declareAgents(hub)
declareNodes(hub, cluster)
// Further ones exist already: the hub has a Secret with the kubeconfig of each.
for (const { name, stage, ...pool } of clusters) {
  new Cluster(hub, name, {
    metadata: { labels: { 'kubenode.io/stage': stage } },
    spec: { kubeconfigSecretRef: { name: `cluster-${name}`, key: 'kubeconfig' }, stage },
  })
  const chart = new ClusterChart(app, name)
  declareComponents(chart)
  declareRules(chart)
  declareAgents(chart)
  declareNodes(chart, pool)
}
app.synth()

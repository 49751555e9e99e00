// The fleet: every cluster converges to the state declared here. Each change is a commit.
import { App } from 'cdk8s'
import { ClusterChart, DefenderPolicy, HubChart } from 'kubenode/constructs'
import { controlPlanes } from '../rules/defender/control-planes.ts'
import { clusters } from './clusters/clusters.ts'
import { declareCluster } from './clusters/declare.ts'
import { declareAgents } from './machines/agents.ts'
import { declareComponents } from './machines/components.ts'
import { declareHosts } from './machines/hosts.ts'
import { declareRules } from './machines/rules.ts'
import { declareMachines } from './machines/workers.ts'
import { declarePipeline } from './pipelines/standard.ts'

const app = new App()
const hub = new HubChart(app, 'hub', { namespace: 'kubenode-system' })
declarePipeline(hub)
new DefenderPolicy(hub, 'control-planes', { spec: controlPlanes })
for (const cluster of clusters) {
  declareCluster(hub, cluster)
  const chart = new ClusterChart(app, cluster.name)
  declareComponents(chart)
  declareAgents(chart)
  declareMachines(chart, cluster)
  declareHosts(chart, cluster)
  declareRules(chart, cluster)
}
app.synth()

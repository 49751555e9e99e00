// The fleet: every cluster converges to what is declared here. Each change is a commit.
import { App } from 'cdk8s'
import { HubChart } from 'kubenode/constructs'
import { declareComponents } from './components.ts'
import { declareNodes } from './nodes.ts'
import { declarePipeline } from './pipeline.ts'
import { declareRules } from './rules.ts'

const app = new App()
// The cluster that runs sync is both hub and first cluster. Further clusters get a Cluster object and a ClusterChart each: see README.md.
const hub = new HubChart(app, 'hub', { namespace: 'kubenode-system' })
declarePipeline(hub)
declareComponents(hub)
declareRules(hub)
declareNodes(hub)
app.synth()

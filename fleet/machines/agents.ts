// What the agents of a cluster are to detect: agent.json.
import { AgentConfig } from 'kubenode/agent-config'
import type { ClusterChart } from 'kubenode/constructs'
import config from './agent.json' with { type: 'json' }

export function declareAgents(chart: ClusterChart): void {
  new AgentConfig(chart, 'agents', config)
}

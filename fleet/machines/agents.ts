// What the agents of a cluster are to detect: agent.json.
import { AgentConfig } from '#api/constructs/agent-config.ts'
import type { ClusterChart } from '#api/constructs/constructs.ts'
import config from './agent.json' with { type: 'json' }

export function declareAgents(chart: ClusterChart): void {
  new AgentConfig(chart, 'agents', config)
}

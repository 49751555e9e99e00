// What the agents of a cluster are to detect: agent.json.
import { AgentConfig } from 'kubenode/agent-config'
import type { ClusterChart } from 'kubenode/constructs'
import { hardwareMonitor } from '../../rules/monitors/hardware.ts'
import config from './agent.json' with { type: 'json' }
import hosts from './hosts.json' with { type: 'json' }

export function declareAgents(chart: ClusterChart): void {
  // The monitors of the kernel's log are on everywhere; nodes that are folders of one machine leave its kernel out. Monitors of agent.json are added to them,
  // and one with the same source replaces another.
  new AgentConfig(chart, 'agents', hosts, hardwareMonitor, config)
}

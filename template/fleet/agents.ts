// What the agents are to detect beside what they detect by themselves: the monitors of the kernel's log, and what agent.json adds.
import { AgentConfig } from 'kubenode/agent-config'
import type { Chart } from 'cdk8s'
import { hardwareMonitor } from '../rules/monitors/hardware.ts'
import config from './agent.json' with { type: 'json' }
import kernelMonitor from './kernel-monitor.json' with { type: 'json' }

export function declareAgents(chart: Chart): void {
  new AgentConfig(chart, 'agents', kernelMonitor, hardwareMonitor, config)
}

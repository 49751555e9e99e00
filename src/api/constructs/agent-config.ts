// The construct of agent.json: what the agents of one cluster are to detect and how often they report, as an object that goes through plan and stages.
import { ApiObject } from 'cdk8s'
import type { Construct } from 'constructs'
import { AGENT_CONFIG_MAP, agentConfigData } from '../agent-config/agent-config-map.ts'

/** One for a cluster. Its content is checked when the commit is planned, where the file can be named. */
export class AgentConfig extends ApiObject {
  constructor(scope: Construct, id: string, config: object) {
    const metadata = { ...AGENT_CONFIG_MAP }
    super(scope, id, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: agentConfigData(config) })
  }
}

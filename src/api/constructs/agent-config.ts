// The agent.json construct: what a cluster's agents detect and how often they report, as an object that goes through plan and stages.
import { ApiObject } from 'cdk8s'
import type { Construct } from 'constructs'
import { AGENT_CONFIG_MAP, agentConfigData } from '../agent-config/agent-config-map.ts'
import { layeredConfig } from '../agent-config/layered-config.ts'

/**
 * One per cluster. Several configurations are merged: lists are appended, and of two entries with the same name the later one wins. The content is checked when
 * the commit is planned, where the error can name the file.
 */
export class AgentConfig extends ApiObject {
  constructor(scope: Construct, id: string, ...configs: readonly object[]) {
    const metadata = { ...AGENT_CONFIG_MAP }
    super(scope, id, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: agentConfigData(layeredConfig(configs)) })
  }
}

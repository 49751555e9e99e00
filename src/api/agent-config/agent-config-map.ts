// The object in which git declares agent.json for a cluster's agents, and its text.
import { isDeeperThan, isObject } from '#lib/json.ts'
import type { KubeObject } from '../schema/object.ts'
import { SYSTEM_NAMESPACE } from '../names.ts'

export const AGENT_CONFIG_NAME = 'kubenode-agent-config'
/** The only key of its data. */
export const AGENT_CONFIG_KEY = 'agent.json'
/** A server stores objects up to 1.5 MiB; a longer configuration should ship as a component. */
export const MAX_AGENT_CONFIG_CHARS = 256 * 1024

/** Settings and rules are five levels deep; an inline monitor adds a few. */
const MAX_DEPTH = 32

export const AGENT_CONFIG_MAP = { namespace: SYSTEM_NAMESPACE, name: AGENT_CONFIG_NAME } as const

export const agentConfigData = (config: object): Readonly<Record<string, string>> => ({
  [AGENT_CONFIG_KEY]: `${JSON.stringify(config, null, 2)}\n`,
})

export const isAgentConfigMap = ({
  apiVersion,
  kind,
  metadata,
}: Partial<Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>>): boolean =>
  apiVersion === 'v1' &&
  kind === 'ConfigMap' &&
  metadata?.namespace === SYSTEM_NAMESPACE &&
  metadata.name === AGENT_CONFIG_NAME

export type AgentConfigText =
  | { readonly kind: 'Text'; readonly text: string }
  /** Nothing usable for an agent. */
  | { readonly kind: 'Unusable'; readonly why: string }

/** The text for agents. `agentConfigProblems` covers problems of single entries, which agents leave out. */
export function agentConfigText(object: KubeObject): AgentConfigText {
  const data = object['data']
  const text = isObject(data) ? data[AGENT_CONFIG_KEY] : undefined
  if (typeof text !== 'string') return unusable(`it has no key ${AGENT_CONFIG_KEY}`)
  if (text.length > MAX_AGENT_CONFIG_CHARS)
    return unusable(`it has ${text.length} characters (limit ${MAX_AGENT_CONFIG_CHARS})`)
  return isObject(parsedConfig(text))
    ? { kind: 'Text', text }
    : unusable(`it is not a JSON object of at most ${MAX_DEPTH} levels`)
}

const unusable = (why: string): AgentConfigText => ({ kind: 'Unusable', why })

/** Undefined if no agent could use it. */
export function parsedConfig(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return isDeeperThan(value, MAX_DEPTH) ? undefined : value
  } catch {
    return undefined
  }
}

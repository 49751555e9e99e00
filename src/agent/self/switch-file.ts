// How agent and supervisor communicate while the agent is switched: which copy to run, which one reported, which one was abandoned. They use files,
// because one of the two is always about to exit.
import { join } from 'node:path'
import { isObject } from '#lib/json.ts'

/** The agent as a component. */
export const AGENT_COMPONENT = 'kubenode-agent'

/** The program inside its slot. */
export const AGENT_PROGRAM = 'tree/agent.mjs'
/** A slot may include Node.js. */
export const AGENT_NODE = 'tree/bin/node'

/** An agent that exits with this code requests that its supervisor start the copy that `current` points to. */
export const EXIT_SWITCH = 76

export const switchFile = (state: string): string => join(state, 'agent-switch.json')
export const reportedFile = (state: string): string => join(state, 'agent-reported')
export const agentCurrentLink = (state: string): string => join(state, 'components', AGENT_COMPONENT, 'current')
export const agentSlotFolder = (state: string, slot: string): string =>
  join(state, 'components', AGENT_COMPONENT, 'slots', slot)

export interface AgentSwitch {
  /** The slot to run. */
  readonly to: string
  /** The slot to revert to; empty: the copy from the join. */
  readonly from: string
  /** Set by the supervisor: `to` was tried, and this is why it was abandoned. */
  readonly gaveUp?: string
}

export function parseSwitch(text: string | undefined): AgentSwitch | undefined {
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    const isGood = isObject(value) && isSlot(value['to']) && (value['from'] === '' || isSlot(value['from']))
    return isGood ? (value as unknown as AgentSwitch) : undefined
  } catch {
    return undefined
  }
}

/** Slot names become parts of paths. */
const isSlot = (v: unknown): boolean => typeof v === 'string' && /^[0-9a-f]{16}-\d{1,6}$/.test(v)

// Where a process node lies on this machine, and the provider's own record of it. The agent keeps its things under `state/`; these files are between the two.
import { join, resolve } from 'node:path'

export interface NodeLayout {
  readonly dir: string
  /** The node's file system root. */
  readonly root: string
  readonly state: string
  readonly logs: string
  /** What the agent needs to join; it removes the file when it has joined. */
  readonly join: string
  /** What the operator says about agents of this provider; the agent reads it at its start. */
  readonly agentConfig: string
  readonly bootId: string
  /** Written by the agent, or by `reboot`: the node is restarted with another boot id. */
  readonly rebootRequest: string
  /** Pid and start time of the agent, for people and for the agent itself. */
  readonly pid: string
  /** The provider's record; written last when a node is made, so a node without it is not there yet. */
  readonly record: string
  readonly agentLog: string
}

export function nodeLayout(base: string, machine: string): NodeLayout {
  const dir = resolve(base, machine)
  return {
    dir,
    root: join(dir, 'root'),
    state: join(dir, 'state'),
    logs: join(dir, 'logs'),
    join: join(dir, 'join.json'),
    agentConfig: join(dir, 'agent.json'),
    bootId: join(dir, 'boot-id'),
    rebootRequest: join(dir, 'reboot-requested'),
    pid: join(dir, 'agent.pid'),
    record: join(dir, 'host.json'),
    agentLog: join(dir, 'logs', 'agent.log'),
  }
}

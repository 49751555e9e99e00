// Where a process node's files are on this machine, with the provider's own record. The agent's files are under `state/`; these are shared by the two.
import { join, resolve } from 'node:path'

export interface NodeLayout {
  readonly dir: string
  /** The node's file system root. */
  readonly root: string
  /** The hardware that the node shows; not there unless someone plays a fault of it. */
  readonly sys: string
  /** Its processes and mounts, played in the same way. */
  readonly proc: string
  /** Its disk and its clock, while someone plays a fault of them; `#agent/played-host.ts` reads the same files. */
  readonly playedDisk: string
  readonly playedClock: string
  readonly state: string
  readonly logs: string
  /** What the agent needs to join; it removes the file once it has joined. */
  readonly join: string
  /** The operator's settings for this provider's agents; an agent reads them at startup. */
  readonly agentConfig: string
  readonly bootId: string
  /** Written by the agent, or by `reboot`: the node restarts with a new boot id. */
  readonly rebootRequest: string
  /** The agent's pid and start time, for people and the agent itself. */
  readonly pid: string
  /** The provider's record. Written last when a node is created, so a node without it does not exist yet. */
  readonly record: string
  readonly agentLog: string
}

export function nodeLayout(base: string, machine: string): NodeLayout {
  const dir = resolve(base, machine)
  return {
    dir,
    root: join(dir, 'root'),
    sys: join(dir, 'root/sys'),
    proc: join(dir, 'root/proc'),
    playedDisk: join(dir, 'played-disk'),
    playedClock: join(dir, 'played-clock'),
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

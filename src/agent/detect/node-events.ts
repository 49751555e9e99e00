// Sends this node's events to the API server. Each source and reason has its own budget, so a storm of one does not suppress the others.
import { AGENT_SOURCES_PREFIX } from '#api/names.ts'
import type { EventRecorder } from '#kube/events.ts'
import type { AgentEvents } from '../agent-events.ts'
import type { MonitorEvent } from './npd/judge.ts'
import { defined } from '#lib/defined.ts'

export interface NodeEventsDeps {
  readonly agentEvents: AgentEvents
  readonly node: string
  readonly nodeUid: () => string | undefined
}

/** Sources and reasons come from bounded files. */
const MAX_RECORDERS = 512

export class NodeEvents {
  readonly #deps: NodeEventsDeps
  readonly #recorders = new Map<string, EventRecorder>()
  /** Events dropped in a storm, or while the server was unreachable. */
  lost = 0

  constructor(deps: NodeEventsDeps) {
    this.#deps = deps
  }

  report(source: string, { type, reason, message }: MonitorEvent): void {
    const { node, nodeUid } = this.#deps
    const recorder = this.#recorderOf(source, reason)
    if (recorder === undefined) {
      this.lost++
      return
    }
    const uid = nodeUid()
    const metadata = { name: node, ...defined({ uid }) }
    recorder.record({ apiVersion: 'v1', kind: 'Node', metadata }, { type, reason, action: 'Detect', note: message })
  }

  #recorderOf(source: string, reason: string): EventRecorder | undefined {
    const key = `${source}\n${reason}`
    const known = this.#recorders.get(key)
    if (known !== undefined || this.#recorders.size >= MAX_RECORDERS) return known
    const recorder = this.#deps.agentEvents(`${AGENT_SOURCES_PREFIX}${source}`, () => {
      this.lost++
    })
    this.#recorders.set(key, recorder)
    return recorder
  }
}

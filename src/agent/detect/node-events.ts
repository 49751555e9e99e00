// Tells the API server of events of this node. Each source and reason has a budget of its own, so that a storm of one keeps nobody from hearing another.
import type { Clock } from '#lib/clock.ts'
import { createEventRecorder, type EventRecorder } from '#kube/events.ts'
import type { KubeClient } from '#kube/client.ts'
import type { MonitorEvent } from './npd/judge.ts'

export interface NodeEventsDeps {
  readonly client: KubeClient
  readonly clock: Clock
  readonly node: string
  readonly nodeUid: () => string | undefined
}

/** Sources and reasons come from bounded files. */
const MAX_RECORDERS = 512

export class NodeEvents {
  readonly #deps: NodeEventsDeps
  readonly #recorders = new Map<string, EventRecorder>()
  /** Events that nobody will read: of a storm, or while the server was away. */
  lost = 0

  constructor(deps: NodeEventsDeps) {
    this.#deps = deps
  }

  tell(source: string, { type, reason, message }: MonitorEvent): void {
    const { node, nodeUid } = this.#deps
    const recorder = this.#recorderOf(source, reason)
    if (recorder === undefined) {
      this.lost++
      return
    }
    const uid = nodeUid()
    const metadata = { name: node, ...(uid === undefined ? {} : { uid }) }
    recorder.record({ apiVersion: 'v1', kind: 'Node', metadata }, { type, reason, action: 'Detect', note: message })
  }

  #recorderOf(source: string, reason: string): EventRecorder | undefined {
    const key = `${source}\n${reason}`
    const known = this.#recorders.get(key)
    if (known !== undefined || this.#recorders.size >= MAX_RECORDERS) return known
    const { client, clock, node } = this.#deps
    const recorder = createEventRecorder({
      client,
      clock,
      controller: `kubenode.io/${source}`,
      instance: node,
      lost: () => {
        this.lost++
      },
    })
    this.#recorders.set(key, recorder)
    return recorder
  }
}

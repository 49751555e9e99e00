// Watches every Machine during a rollout: how often each client wrote, and how many were switching at once.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { hasOpenSwitch } from '#api/protocol/component-order.ts'
import { isSwitching } from '#api/protocol/switch.ts'
import type { KubeClient } from '#kube/client.ts'
import { jsonEqual } from '#lib/json.ts'

const isAtWork = ({ spec, status }: Machine): boolean =>
  hasOpenSwitch({ spec, status }) || status?.components?.some((c) => isSwitching(c.state)) === true

export class Observer {
  readonly #machines = new Map<string, Machine>()
  readonly #busy = new Set<string>()
  readonly #limit: number
  #mostBusy = 0
  #violations = 0
  specWrites = 0
  statusWrites = 0
  /** Of these, those that report a switch under way; its end is reported once in any case. */
  progressWrites = 0
  agentWrites = 0
  /** That have ended. */
  watches = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get mostBusy(): number {
    return this.#mostBusy
  }

  get violations(): number {
    return this.#violations
  }

  updated(version: string): number {
    let n = 0
    for (const m of this.#machines.values()) if (m.status?.components?.[0]?.version === version) n++
    return n
  }

  forgetCounts(): void {
    this.specWrites = this.statusWrites = this.progressWrites = this.agentWrites = 0
  }

  /** Until the signal aborts. A server may end a watch at any time: it continues where it was, and throws when it cannot, for then the counts are not whole. */
  async run(client: KubeClient, signal: AbortSignal): Promise<void> {
    const { items, resourceVersion } = await client.list(machineType)
    for (const m of items) this.#machines.set(m.metadata.name ?? '', m)
    let at = resourceVersion
    while (!signal.aborted) {
      for await (const event of client.watch(machineType, { resourceVersion: at, signal })) {
        at = (event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion) ?? at
        if (event.type !== 'BOOKMARK') this.#hear(event.object)
      }
      this.watches++
    }
  }

  #hear(machine: Machine): void {
    const name = machine.metadata.name ?? ''
    const before = this.#machines.get(name)
    this.#machines.set(name, machine)
    if (before?.metadata.generation !== machine.metadata.generation) this.specWrites++
    else if (jsonEqual(before?.status?.components, machine.status?.components)) {
      this.statusWrites++
      if (machine.status?.phase === 'Updating') this.progressWrites++
    } else this.agentWrites++
    if (isAtWork(machine)) this.#busy.add(name)
    else this.#busy.delete(name)
    this.#mostBusy = Math.max(this.#mostBusy, this.#busy.size)
    if (this.#busy.size > this.#limit) this.#violations++
  }
}

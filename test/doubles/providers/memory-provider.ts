// A provider that keeps its hosts in memory: the reference of the port's meaning, and what tests and simulations use for a cloud.
import { type Clock, timestamp } from '#lib/clock.ts'
import { HostEvents } from '#providers/host-events.ts'
import { takenName } from '#providers/machine-name.ts'
import {
  type CreateResult,
  type DeleteResult,
  type Host,
  type HostEvent,
  type HostList,
  type HostRequest,
  LOCAL_CAPABILITIES,
  type Ordered,
  type Provider,
} from '#providers/port.ts'
import { defined } from '#lib/defined.ts'

export interface MemoryProviderOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly name?: string
  /** Lives longer than the provider, as a cloud does: two providers over one map see the same hosts. */
  readonly hosts?: Map<string, MemoryHost>
}

export interface MemoryHost extends Host {
  readonly request: HostRequest
  readonly boots: number
}

export class MemoryProvider implements Provider {
  readonly name: string
  readonly capabilities = LOCAL_CAPABILITIES
  readonly #clock: Pick<Clock, 'now'>
  readonly #hosts: Map<string, MemoryHost>
  readonly #events: HostEvents

  constructor({ clock, name = 'memory', hosts = new Map() }: MemoryProviderOptions) {
    this.name = name
    this.#events = new HostEvents(`${name}://`)
    this.#clock = clock
    this.#hosts = hosts
  }

  async create(request: HostRequest): Promise<CreateResult> {
    const { clientToken, machine, machineUid, offering } = request
    const providerID = `${this.name}://${machine}`
    const known = this.#hosts.get(providerID)
    const taken = takenName(known, machineUid, providerID)
    if (taken !== undefined) return taken
    const host: MemoryHost = known ?? {
      providerID,
      clientToken,
      machine,
      machineUid,
      ...defined({ offering }),
      state: 'Running',
      bootID: `${machine}-boot-1`,
      boots: 1,
      createdAt: timestamp(this.#clock.now()),
      request,
    }
    this.#hosts.set(providerID, { ...host, request })
    if (known === undefined) this.#events.emit(host.machine, 'Started', 'Started')
    return { kind: 'Host', host: plain(host) }
  }

  async get(providerID: string): Promise<Host | undefined> {
    const host = this.#hosts.get(providerID)
    return host && plain(host)
  }

  async list(): Promise<HostList> {
    return { hosts: [...this.#hosts.values()].map(plain), asOf: timestamp(this.#clock.now()) }
  }

  async delete(providerID: string): Promise<DeleteResult> {
    const host = this.#hosts.get(providerID)
    if (host === undefined) return 'Gone'
    this.#hosts.delete(providerID)
    this.#events.emit(host.machine, 'Deleted', 'Deleted')
    return 'Deleted'
  }

  async reboot(providerID: string): Promise<Ordered> {
    const host = this.#hosts.get(providerID)
    if (host === undefined) return 'Gone'
    const boots = host.boots + 1
    this.#hosts.set(providerID, { ...host, boots, bootID: `${host.machine}-boot-${boots}` })
    this.#events.emit(host.machine, 'Rebooted', 'Rebooted')
    return 'Ordered'
  }

  async power(providerID: string, to: 'On' | 'Off'): Promise<Ordered> {
    const host = this.#hosts.get(providerID)
    if (host === undefined) return 'Gone'
    const isOn = host.state === 'Running'
    if (to === 'Off' && isOn) this.#hosts.set(providerID, { ...host, state: 'Stopped' })
    if (to === 'On' && !isOn) {
      const boots = host.boots + 1
      this.#hosts.set(providerID, { ...host, state: 'Running', boots, bootID: `${host.machine}-boot-${boots}` })
    }
    if (isOn !== (to === 'On')) this.#events.emit(host.machine, isOn ? 'Stopped' : 'Started', 'power was switched')
    return 'Ordered'
  }

  events(heard: (event: HostEvent) => void, signal: AbortSignal): Promise<void> {
    return this.#events.listen(heard, signal)
  }
}

const plain = (host: MemoryHost): Host => {
  const { request: _, boots: _boots, ...rest } = host
  return rest
}

/** The provider with some of its answers replaced. */
export const overridden = (provider: Provider, change: Partial<Provider>): Provider => ({
  name: provider.name,
  capabilities: provider.capabilities,
  create: (request, signal) => provider.create(request, signal),
  get: (id, signal) => provider.get(id, signal),
  list: (signal) => provider.list(signal),
  delete: (id, signal) => provider.delete(id, signal),
  reboot: (id, how, signal) => provider.reboot(id, how, signal),
  events: (heard, signal) => provider.events(heard, signal),
  ...(provider.power && { power: provider.power.bind(provider) }),
  ...change,
})

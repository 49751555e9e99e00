// A provider that keeps its hosts in memory: the reference of the port's meaning, and what tests and simulations use for a cloud.
import { type Clock, timestamp } from '#lib/clock.ts'
import type { CreateResult, DeleteResult, Host, HostEvent, HostRequest, Provider } from './port.ts'

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
  readonly #clock: Pick<Clock, 'now'>
  readonly #hosts: Map<string, MemoryHost>
  readonly #listeners = new Set<(event: HostEvent) => void>()

  constructor({ clock, name = 'memory', hosts = new Map() }: MemoryProviderOptions) {
    this.name = name
    this.#clock = clock
    this.#hosts = hosts
  }

  async create(request: HostRequest): Promise<CreateResult> {
    const { clientToken, machine } = request
    const providerID = `${this.name}://${machine}`
    const known = this.#hosts.get(providerID)
    if (known !== undefined && known.clientToken !== clientToken)
      return { kind: 'Refused', reason: `${providerID} belongs to another machine of this name` }
    const host: MemoryHost = known ?? {
      providerID,
      clientToken,
      machine,
      state: 'Running',
      bootID: `${machine}-boot-1`,
      boots: 1,
      createdAt: timestamp(this.#clock.now()),
      request,
    }
    this.#hosts.set(providerID, { ...host, request })
    if (known === undefined) this.#tell(host, 'Started')
    return { kind: 'Host', host: plain(host) }
  }

  async get(providerID: string): Promise<Host | undefined> {
    const host = this.#hosts.get(providerID)
    return host && plain(host)
  }

  async list(): Promise<readonly Host[]> {
    return [...this.#hosts.values()].map(plain)
  }

  async delete(providerID: string): Promise<DeleteResult> {
    const host = this.#hosts.get(providerID)
    if (host === undefined) return 'Gone'
    this.#hosts.delete(providerID)
    this.#tell(host, 'Deleted')
    return 'Deleted'
  }

  async reboot(providerID: string): Promise<'Ordered' | 'Gone'> {
    const host = this.#hosts.get(providerID)
    if (host === undefined) return 'Gone'
    const boots = host.boots + 1
    this.#hosts.set(providerID, { ...host, boots, bootID: `${host.machine}-boot-${boots}` })
    this.#tell(host, 'Rebooted')
    return 'Ordered'
  }

  async events(heard: (event: HostEvent) => void, signal: AbortSignal): Promise<void> {
    this.#listeners.add(heard)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    this.#listeners.delete(heard)
  }

  #tell({ providerID, machine }: Host, kind: HostEvent['kind']): void {
    for (const heard of this.#listeners) heard({ providerID, machine, kind, message: kind })
  }
}

const plain = (host: MemoryHost): Host => {
  const { request: _, boots: _boots, ...rest } = host
  return rest
}

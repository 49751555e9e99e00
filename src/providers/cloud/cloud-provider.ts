// The vendor-independent part of a cloud provider: finds hosts by KubeNode's tags, batches reads of single hosts, treats a host as ended only when that is
// certain, and never takes a missing answer for an answer.
import { type Clock, timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { isKubeNodeError, KubeNodeError, messageOf } from '#lib/errors.ts'
import { createStrictReader } from '#api/field-problems.ts'
import type { JoinBundle } from '#api/join-bundle.ts'
import { BadAnswer, checked, judged } from '../door.ts'
import * as model from '../model.ts'
import { providersErrors } from '../providers-errors.ts'
import type {
  Capabilities,
  CreateResult,
  DeleteResult,
  FaultCategory,
  Host,
  HostEvent,
  HostList,
  HostRequest,
  MaintenanceAnswer,
  MaintenanceList,
  Ordered,
  Provider,
  TaggedHost,
} from '../port.ts'
import { Batch } from './batch.ts'
import { Sightings } from './sightings.ts'
import type { Account } from './account.ts'
import type { CloudHost, TaggedInstance } from './hosts.ts'

export interface CloudProviderTools {
  readonly clock: Clock
  /** The script with which a new host joins at its first start. The same bundle gives the same text, so a repeated create is the same request. */
  readonly userData: (join: JoinBundle) => string
}

export class CloudProvider implements Provider {
  readonly name: string
  readonly capabilities: Capabilities
  readonly #account: Account
  readonly #tools: CloudProviderTools
  readonly #sightings: Sightings
  readonly #reads: Batch<CloudHost | TaggedInstance>
  readonly #readHost = createStrictReader(model.host)
  readonly #readEvent = createStrictReader(model.maintenanceEvent)

  constructor(account: Account, tools: CloudProviderTools) {
    this.name = account.name
    this.capabilities = account.capabilities
    this.#account = account
    this.#tools = tools
    this.#sightings = new Sightings(tools.clock, account.capabilities.visibleWithinMs)
    this.#reads = new Batch(tools.clock, async (ids) => {
      const hosts = await account.read(ids)
      return new Map(hosts.map((h) => [h.id, h]))
    })
  }

  async create(request: HostRequest, signal?: AbortSignal): Promise<CreateResult> {
    const { userDataBytes = Infinity } = this.capabilities
    let userData: string
    try {
      userData = this.#tools.userData(request.join)
    } catch (e) {
      return { kind: 'Refused', reason: `a host cannot be told how to join: ${messageOf(e)}` }
    }
    const bytes = Buffer.byteLength(userData)
    if (bytes > userDataBytes)
      return {
        kind: 'Refused',
        reason: `the text with which a host joins has ${bytes} bytes, and ${this.name} takes ${userDataBytes}`,
      }
    const made = await this.#account.make({ ...request, userData }, signal)
    if (made.kind === 'TokenUsed') return this.#usedBy(request, made.message, signal)
    if (made.kind !== 'Made') return made
    // Tags of a new host may appear a moment later.
    const read = made.host === undefined ? await this.#read(made.id).catch(() => undefined) : undefined
    // A host that was just created may not be visible yet: for seconds the vendor may report that it does not exist.
    if (read !== undefined) this.#sightings.seen(read.id, isLeaving(read.state))
    const host = made.host ?? read
    return host === undefined ? { kind: 'Host', host: this.#notYetSeen(request, made.id) } : this.#created(host)
  }

  async get(providerID: string): Promise<Host | undefined> {
    const id = this.#idOf(providerID)
    const host = id === undefined ? undefined : await this.#find(id)
    return host && judged(this.name, `read host ${providerID}`, () => this.#shown(host))
  }

  async list(signal?: AbortSignal): Promise<HostList> {
    const asOf = timestamp(this.#tools.clock.now())
    const ours = await this.#ours(signal)
    return { hosts: judged(this.name, 'list hosts', () => ours.map((h) => this.#shown(h))), asOf }
  }

  /** A page may repeat a host of the previous one. */
  async tagged(name: string, value: string, signal?: AbortSignal): Promise<readonly TaggedHost[]> {
    const found = new Map((await this.#account.tagged(name, value, signal)).map((h) => [h.id, h]))
    return [...found.values()].map(({ id, address }) => ({
      providerID: this.#providerID(id),
      ...defined({ address }),
    }))
  }

  async delete(providerID: string, signal?: AbortSignal): Promise<DeleteResult> {
    const id = this.#idOf(providerID)
    if (id === undefined) return 'Gone'
    // One vendor accepts orders for hosts that ended long ago.
    const host = await this.#read(id)
    if (host?.state === 'Ended') return 'Gone'
    if (host !== undefined) this.#sightings.seen(id, isLeaving(host.state))
    const removed = await this.#account.remove(id, signal).catch((error: unknown) => {
      if (mayBeDone(error)) this.#sightings.unwanted(id)
      throw error
    })
    if (removed === 'Vanished') this.#sightings.unwanted(id)
    if (removed !== 'Ordered') return this.#deletedOrThrow(id)
    this.#sightings.leaving(id)
    return 'Deleting'
  }

  async reboot(providerID: string, { hard } = { hard: false }, signal?: AbortSignal): Promise<Ordered> {
    return this.#order(providerID, (id) => this.#account.reboot(id, hard, signal))
  }

  async power(
    providerID: string,
    to: 'On' | 'Off',
    { hard } = { hard: false },
    signal?: AbortSignal,
  ): Promise<Ordered> {
    return this.#order(providerID, async (id, { state }) => {
      const isSo = to === 'On' ? state === 'Running' || state === 'Creating' : state === 'Stopped'
      return isSo ? 'Ordered' : this.#account.power(id, to, hard, signal)
    })
  }

  async maintenance(signal?: AbortSignal): Promise<MaintenanceList> {
    const asOf = timestamp(this.#tools.clock.now())
    const found = await this.#account.maintenance(await this.#ours(signal), signal)
    const events = judged(this.name, 'read maintenance', () =>
      found.map(({ id, ...event }) => checked(this.#readEvent({ ...event, providerID: this.#providerID(id) }))),
    )
    return { events: [...new Map(events.map((e) => [e.eventId, e])).values()], asOf }
  }

  respond(eventId: string, answer: MaintenanceAnswer, signal?: AbortSignal): Promise<Ordered | 'Refused'> {
    return this.#account.respond(eventId, answer, signal)
  }

  async reportFault(providerID: string, category: FaultCategory, text: string, signal?: AbortSignal): Promise<Ordered> {
    return this.#order(providerID, (id) => this.#account.reportFault(id, category, text, signal))
  }

  /** Lists and maintenance show events; a vendor queue would need one more right and one more source. */
  async events(_onEvent: (event: HostEvent) => void): Promise<void> {
    return undefined
  }

  /** Created by an earlier attempt whose reply was lost, with other parameters because its join token differed. */
  async #usedBy(
    { clientToken, machineUid }: HostRequest,
    message: string,
    signal?: AbortSignal,
  ): Promise<CreateResult> {
    const found = await this.#account.withToken(clientToken, signal).catch(() => [])
    const host = found.find((h) => h.machineUid === machineUid && h.state !== 'Ended')
    return host === undefined ? { kind: 'Unknown', message } : this.#created(host)
  }

  async #order(
    providerID: string,
    order: (id: string, host: CloudHost) => Promise<'Ordered' | 'Missing'>,
  ): Promise<Ordered> {
    const id = this.#idOf(providerID)
    const host = id === undefined ? undefined : await this.#find(id)
    if (id === undefined || host === undefined) return 'Gone'
    return (await order(id, host)) === 'Missing' ? this.#deletedOrThrow(id) : 'Ordered'
  }

  /** All hosts with KubeNode's tag, without duplicates: a page may repeat a host of the previous one. */
  async #ours(signal?: AbortSignal): Promise<readonly CloudHost[]> {
    const hosts = new Map((await this.#account.all(signal)).map((h) => [h.id, h]))
    for (const { id, state } of hosts.values()) this.#sightings.seen(id, isLeaving(state))
    return [...hosts.values()].filter((h) => h.state !== 'Ended')
  }

  /** Undefined if certainly gone. */
  async #find(id: string): Promise<CloudHost | undefined> {
    const host = await this.#read(id)
    if (host === undefined) {
      this.#deletedOrThrow(id)
      return undefined
    }
    this.#sightings.seen(id, isLeaving(host.state))
    return host.state === 'Ended' ? undefined : host
  }

  /** A host that lost KubeNode's tags still runs: it is not gone, but no longer known to be safe to delete. */
  async #read(id: string): Promise<CloudHost | undefined> {
    const host = await this.#reads.get(id)
    if (host === undefined || 'state' in host) return host
    throw new KubeNodeError(providersErrors.KN11083({ providerID: this.#providerID(id) }), { retry: 'later' })
  }

  #deletedOrThrow(id: string): 'Gone' {
    if (this.#sightings.isGone(id)) return 'Gone'
    throw new KubeNodeError(
      providersErrors.KN11043({
        providerID: this.#providerID(id),
        seconds: Math.ceil(this.capabilities.visibleWithinMs / 1_000),
      }),
      { retry: 'later' },
    )
  }

  #providerID(id: string): string {
    return `${this.name}://${this.#account.region}/${id}`
  }

  /** Undefined for ids that no vendor issues. A host in another region is not missing: it is not looked up here. */
  #idOf(providerID: string): string | undefined {
    const scheme = `${this.name}://`
    const [region = '', id = ''] = providerID.slice(scheme.length).split('/')
    if (!providerID.startsWith(scheme) || !this.#account.isId(id)) return undefined
    if (region === this.#account.region) return id
    throw new KubeNodeError(providersErrors.KN11044({ providerID, region: this.#account.region }))
  }

  /** Validates the vendor's answer. */
  #shown(seen: CloudHost): Host {
    const { id, token, state, machine, machineUid, createdAt, offering, address } = seen
    const isOrdered = state === 'Ended' || this.#sightings.isLeaving(id)
    const host: Host = {
      providerID: this.#providerID(id),
      clientToken: token,
      machine,
      machineUid,
      state: isOrdered ? 'Deleting' : state,
      createdAt,
      offering,
      ...defined({ address }),
    }
    return checked(this.#readHost(host))
  }

  /** An invalid host leaves it open what was created. */
  #created(host: CloudHost): CreateResult {
    try {
      return { kind: 'Host', host: this.#shown(host) }
    } catch (error) {
      if (!(error instanceof BadAnswer)) throw error
      return { kind: 'Unknown', message: `the answer cannot be right: ${error.message}` }
    }
  }

  #notYetSeen({ clientToken, machine, machineUid, offering }: HostRequest, id: string): Host {
    return {
      providerID: this.#providerID(id),
      clientToken,
      machine,
      machineUid,
      state: 'Creating',
      createdAt: timestamp(this.#tools.clock.now()),
      ...defined({ offering }),
    }
  }
}

/** A refusal and a rate limit are answers: nothing was done. */
const mayBeDone = (error: unknown): boolean => !isKubeNodeError(error) || error.code === 'KN11042'

const isLeaving = (state: CloudHost['state']): boolean => state === 'Deleting' || state === 'Ended'

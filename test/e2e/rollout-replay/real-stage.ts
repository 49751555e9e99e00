// Plays a scenario on a real server: actions of users and faults become requests, in their original order. Many scenarios share one
// server, so everything of a story carries its own prefix.
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { FIELD_MANAGERS, FINALIZERS, NODE_LEASES } from '#api/names.ts'
import type { HollowFleet } from '#agent/hollow/fleet.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Informer } from '#kube/informer.ts'
import { microTimestamp, timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { nodeType } from '#nodes/objects.ts'
import { leaseType } from '#runtime/lease.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ObjectKey, ResourceType } from '#api/schema/resource.ts'
import { type Agents, SET, type Stage, type Start, nameOf, setSpec, zoneOf } from '#test/sim/rollout/fleet.ts'
import { POOL } from '#test/support/fleets/rollout-fleet.ts'
import type { Ground } from '#test/sim/rollout/stories.ts'

const [POOL_LABEL, POOL_VALUE] = Object.entries(POOL)[0] ?? ['', '']
const LONG_AGO_MS = 3_600_000
const LONG_HEARD_MS = 86_400_000

export interface RealStageOptions {
  readonly seed: number
  readonly client: KubeClient
  readonly machines: Informer<Machine>
  readonly fleet: HollowFleet
  readonly agents: Agents
}

export class RealStage implements Stage, Ground {
  readonly seed: number
  readonly prefix: string
  readonly clock: Stage['clock'] = {
    now: () => systemClock.now(),
    after: (ms, fn) => {
      this.#ahead++
      return systemClock.after(ms, () => {
        this.#ahead--
        fn()
      })
    },
  }
  readonly fake: Stage['fake']
  readonly #o: RealStageOptions
  /** Timers of the story that are still to come, and requests that are not answered. */
  #ahead = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(o: RealStageOptions) {
    this.#o = o
    this.seed = o.seed
    this.prefix = `s${o.seed}-`
    const { client } = o
    this.fake = {
      plant: (type, object) => this.#then(() => client.create(type, this.#own(object as KubeObject))),
      poke: (type, key, value, subresource) =>
        this.#then(() =>
          client.patch(
            type,
            this.#key(key),
            { type: 'merge', value: this.#renamed(value) as never },
            defined({ subresource }),
          ),
        ),
      uproot: (type, key) => {
        this.#then(async () => {
          await client.delete(type, this.#key(key))
          // Its host never belonged to the provider; further heartbeats would be taken for another provider's host, and waited for.
          if (type.kind === machineType.kind) await o.fleet.remove(this.#key(key).name)
        })
      },
      peek: (type: ResourceType, key: ObjectKey) =>
        type.kind === machineType.kind ? o.machines.store.get({ name: this.prefix + key.name }) : undefined,
    }
    o.agents.fleet = {
      node: (name) => o.fleet.node(this.prefix + name),
      add: (name, boot) => o.fleet.add(this.prefix + name, boot),
      remove: (name) => o.fleet.remove(this.prefix + name),
    }
  }

  get isQuiet(): boolean {
    return this.#ahead === 0
  }

  /** Resolves when all that was done so far has happened at the server; throws what was refused. */
  async settled(): Promise<void> {
    await this.#last
  }

  plantFleet(agents: Agents, { declared = '1.0.0', outdated = 0, members = agents.scale.machines }: Start = {}): void {
    for (let i = 0; i < agents.scale.machines; i++) this.#machine(i, i < outdated ? '1.0.0' : declared, i < members)
    this.#then(() =>
      this.#o.client.create(
        machineComponentSet,
        this.#own({
          apiVersion: API_GROUP_VERSION,
          kind: 'MachineComponentSet',
          metadata: { name: SET },
          spec: setSpec(declared, agents.scale),
        }) as never,
      ),
    )
  }

  plantMachine(_: Agents, i: number, version: string): void {
    this.#machine(i, version, true)
  }

  #machine(i: number, version: string, isMember: boolean): void {
    const { client, fleet } = this.#o
    const name = this.prefix + nameOf(i)
    const since = timestamp(Date.now() - LONG_AGO_MS)
    this.#then(async () => {
      const ready = { type: 'Ready', status: 'True' as const, reason: 'Up', message: '', lastTransitionTime: since }
      const node: KubeObject = await client.create(nodeType, {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name },
        status: { conditions: [ready] },
      })
      // Stories break Nodes and mend them: they are a kubelet's, which no silence of an agent concerns.
      const renewTime = microTimestamp(Date.now() + LONG_HEARD_MS)
      await client.create(leaseType, {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { namespace: NODE_LEASES, name },
        spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime },
      })
      const told = { name: 'beacon', version, attempt: 1, ...(isMember && { setRef: this.prefix + SET }) }
      await client.create(
        machineType,
        {
          apiVersion: API_GROUP_VERSION,
          kind: 'Machine',
          metadata: {
            name,
            labels: { [POOL_LABEL]: this.#pool(isMember ? POOL_VALUE : 'others') },
            finalizers: [FINALIZERS.machine],
          },
          spec: {
            channel: 'Agent',
            provider: { name: 'hollow' },
            providerID: `hollow://${name}`,
            zone: zoneOf(i),
            class: `c-${i % 3}`,
            components: [told],
          },
        } as never,
        { fieldManager: FIELD_MANAGERS.machine },
      )
      const report = { name: 'beacon', version, desired: version, state: 'Healthy', since, attempt: 1 }
      const status = { phase: 'Ready', nodeRef: { name, uid: node.metadata.uid ?? '' }, components: [report] }
      const made = await client.patch(
        machineType,
        { name },
        { type: 'merge', value: { status } },
        { subresource: 'status', fieldManager: FIELD_MANAGERS.agent },
      )
      // The watch may not have delivered the status yet, which the agent takes for its disk.
      fleet.add(name, 'boot', { latest: made })
    })
  }

  /** Every story has pools of its own. */
  #pool(name = ''): string {
    return `${name}-${this.seed}`
  }

  #key(key: ObjectKey): ObjectKey {
    return { ...key, name: this.prefix + key.name }
  }

  /** Names, labels and references to others of the story. */
  #own(object: KubeObject): KubeObject {
    const named = { ...object, metadata: { ...object.metadata, name: this.prefix + (object.metadata.name ?? '') } }
    return this.#renamed(named) as KubeObject
  }

  #renamed(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((v) => this.#renamed(v))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([k, v]) => {
        if (k === POOL_LABEL && typeof v === 'string') return [k, this.#pool(v)]
        if (k === 'matchExpressions' && Array.isArray(v)) return [k, v.map((r) => this.#inOwnPools(r))]
        if (k === 'target') return [k, { ...v, name: this.prefix + v.name }]
        if (k === 'machines' && Array.isArray(v)) return [k, v.map((name) => this.prefix + String(name))]
        return [k, this.#renamed(v)]
      }),
    )
  }

  #inOwnPools(requirement: { readonly key: string; readonly values?: readonly string[] }): unknown {
    const { key, values } = requirement
    return key === POOL_LABEL && values !== undefined
      ? { ...requirement, values: values.map((v) => this.#pool(v)) }
      : requirement
  }

  #then<T>(work: () => Promise<T>): T {
    this.#ahead++
    const mine = this.#last.then(work).finally(() => {
      this.#ahead--
    })
    this.#last = mine
    mine.catch(() => undefined)
    // The stage discards the results.
    return undefined as T
  }
}

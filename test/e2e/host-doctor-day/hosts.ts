// Nine hosts of a region in three racks, and what is in the cluster because of them: Machines, Nodes, pods. A vendor that acts: it restarts hosts, takes them back,
// and changes its mind. Kubelets end pods, and nodes that take pods again get one.
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import type { KubeClient } from '#kube/client.ts'
import { timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { nodeType, podType } from '#nodes/objects.ts'
import { tagsFor } from '#providers/cloud/tags.ts'
import { type FakeServer, serveFake } from '#test/doubles/clouds/answers.ts'
import type { FakeEvent, FakeInstance, FakeRegion } from '#test/doubles/clouds/region.ts'
import { CLUSTER, fakeRegion, VENDORS } from '#test/doubles/clouds/worlds.ts'
import type { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { MOST_OF_RACK } from '../../sim/hostdoctor/story.ts'
import type { History } from './history.ts'
import type { Traffic } from './traffic.ts'

export const MINUTE = 60_000
const OF_A_RACK = 3
const AWAY_MS = 6 * MINUTE
const [ALICLOUD] = VENDORS

export const nameOf = (n: number): string => `m-${n}`
export const rackOf = (machine: string): string => `r${Math.floor(Number(machine.slice(2)) / OF_A_RACK) + 1}`

export class Hosts {
  readonly region: FakeRegion
  readonly #o: { readonly clock: VirtualClock; readonly client: KubeClient; readonly traffic: Traffic }
  readonly #instances: FakeInstance[] = []
  /** Machines whose host is away right now: their kubelet does not answer. */
  readonly #away = new Set<string>()
  #server: FakeServer | undefined
  #boots = 0
  /** Machines whose host was restarted by way of the vendor, in order. */
  readonly restarts: number[] = []
  /** Left out of this many of the next lists. */
  readonly #hidden = new Map<string, number>()

  constructor(
    o: { readonly clock: VirtualClock; readonly client: KubeClient; readonly traffic: Traffic },
    seed: number,
  ) {
    this.#o = o
    this.region = fakeRegion(ALICLOUD, { clock: o.clock }, seed)
  }

  get url(): string {
    return this.#server?.url ?? ''
  }

  async begin(count: number): Promise<void> {
    const { region } = this
    const handler = ALICLOUD.fake(region)
    this.#server = await serveFake((request) => {
      const { searchParams } = new URL(request.path, 'http://region')
      const said = `${request.headers['x-acs-action'] ?? ''} ${searchParams.get('Action') ?? ''}`
      if (said.includes('RebootInstance')) this.#restart(searchParams.get('InstanceId') ?? '')
      if (!said.includes('DescribeInstanceHistoryEvents') || searchParams.has('EventId.1')) return handler(request)
      const left = region.events.filter((e) => (this.#hidden.get(e.eventId) ?? 0) > 0)
      for (const { eventId } of left) this.#hidden.set(eventId, (this.#hidden.get(eventId) ?? 0) - 1)
      const all = [...region.events]
      region.events.splice(0, region.events.length, ...all.filter((e) => !left.includes(e)))
      const answer = handler(request)
      region.events.splice(0, region.events.length, ...all)
      return answer
    })
    for (let n = 0; n < count; n++) await this.#plant(n)
    const { client } = this.#o
    await client.create(defenderPolicy, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'DefenderPolicy',
      metadata: { name: 'racks' },
      spec: {
        budgets: [{ max: MOST_OF_RACK, of: 'concurrent', per: 'rack' }],
        maintenance: { answer: 'Start' },
      },
    } as never)
    await client.create(nodeRemedier, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'NodeRemedier',
      metadata: { name: 'not-ready' },
      spec: {
        when: { all: [{ fact: 'conditions', path: '/Ready/status', operator: 'notEqual', value: 'True' }] },
        for: '1m',
        ladder: [{ operations: [{ reboot: {} }], verify: { conditionCleared: 'NotReady' } }],
      },
    } as never)
  }

  async #plant(n: number): Promise<void> {
    const { client } = this.#o
    const name = nameOf(n)
    const made = await client.create(machineType, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name },
      spec: { rack: rackOf(name), pool: 'workers', provider: { name: ALICLOUD.name, params: ALICLOUD.params } },
    } as never)
    const tags = tagsFor(CLUSTER, { machine: name, machineUid: made.metadata.uid ?? '', token: `token-${n}` })
    const [zone] = ALICLOUD.zones
    const order = {
      token: `token-${n}`,
      asked: name,
      zone,
      type: ALICLOUD.type,
      isSpot: n === 4,
      tags: new Map(tags),
      userData: '',
      needsMetadataSession: true,
    }
    const instance = this.region.run(order)
    if (typeof instance === 'string') throw new Error(instance)
    this.#instances[n] = instance
    const hosts = await ALICLOUD.provider({ clock: systemClock, endpoint: this.url }).list()
    const providerID = hosts.hosts.find((h) => h.machine === name)?.providerID ?? ''
    await client.patch(machineType, { name }, { type: 'merge', value: { spec: { providerID } } })
    const node = await client.create(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name } })
    // Of a cluster with a node controller: it takes this taint off a Node that is Ready.
    await client.patch(nodeType, { name }, { type: 'merge', value: { spec: { taints: null } } })
    await this.#report(name, true, node.metadata.uid ?? '')
    await this.#pod(name)
  }

  async #pod(node: string): Promise<void> {
    const { client } = this.#o
    await client.create(podType, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `web-${node}-${this.#boots++}`, namespace: 'default', labels: { app: 'web' } },
      spec: { nodeName: node, containers: [{ name: 'web', image: 'web' }] },
    })
  }

  async #report(name: string, isReady: boolean, nodeUid: string): Promise<void> {
    const { client, clock } = this.#o
    const status = isReady ? 'True' : 'False'
    const condition = (type: string, value: string) => ({
      type,
      status: value,
      reason: 'Reported',
      message: '',
      lastTransitionTime: timestamp(clock.now()),
    })
    const asStatus = { subresource: 'status' } as const
    const ready = { status: { conditions: [condition('Ready', status)] } }
    await client.patch(nodeType, { name }, { type: 'merge', value: ready }, asStatus)
    const value = {
      status: {
        phase: isReady ? 'Ready' : 'NotReady',
        nodeRef: { name, uid: nodeUid },
        ...(isReady && { bootID: `boot-${this.#boots++}` }),
        conditions: [condition('Ready', status), condition('AgentReachable', 'True')],
      },
    }
    await client.patch(machineType, { name }, { type: 'merge', value }, asStatus)
  }

  #restart(id: string): void {
    const n = this.#instances.findIndex((i) => i.id === id)
    if (n < 0) return
    this.restarts.push(n)
    this.goes(n)
  }

  /** The host is away for some minutes, and comes back with another boot. */
  goes(n: number, awayMs = AWAY_MS): void {
    const name = nameOf(n)
    if (this.#away.has(name)) return
    this.#away.add(name)
    void this.#now(() => this.#say(name, false))
    this.#o.clock.after(awayMs, () => {
      this.#away.delete(name)
      void this.#now(() => this.#say(name, true))
    })
  }

  async #say(name: string, isReady: boolean): Promise<void> {
    const node = await this.#o.client.get(nodeType, { name })
    if (node !== undefined) await this.#report(name, isReady, node.metadata.uid ?? '')
  }

  async #now(act: () => Promise<void>): Promise<void> {
    await this.#o.traffic.counted(act())
  }

  /** Ends, and its Machine is replaced by another one elsewhere. */
  async ends(n: number): Promise<void> {
    const { client } = this.#o
    const name = nameOf(n)
    const instance = this.#instances[n]
    if (instance !== undefined) this.region.end(instance)
    await client.delete(nodeType, { name })
    await client.patch(machineType, { name }, { type: 'merge', value: { metadata: { finalizers: null } } })
    await client.delete(machineType, { name })
  }

  announces(n: number, eventId: string, type: string, inMs: number): void {
    const instance = this.#instances[n]?.id ?? ''
    const notBefore = timestamp(this.#o.clock.now() + inMs)
    this.region.events.push({ eventId, instance, type, status: 'Scheduled', notBefore, reason: 'the host needs work' })
  }

  event(eventId: string): FakeEvent {
    const event = this.region.events.find((e) => e.eventId === eventId)
    if (event === undefined) throw new Error(`the vendor has no event ${eventId}`)
    return event
  }

  moves(eventId: string, byMs: number): void {
    const at = this.region.events.indexOf(this.event(eventId))
    const notBefore = timestamp(this.#o.clock.now() + byMs)
    this.region.events[at] = { ...this.event(eventId), notBefore }
  }

  /** The vendor does what it announced. */
  begins(n: number, eventId: string): void {
    this.event(eventId).status = 'Executing'
    this.goes(n)
    this.#o.clock.after(AWAY_MS + MINUTE, () => (this.event(eventId).status = 'Executed'))
  }

  reclaims(n: number): void {
    const instance = this.#instances[n]
    if (instance !== undefined) instance.isReclaimed = true
  }

  hidesFor(eventId: string, lists: number): void {
    this.#hidden.set(eventId, lists)
  }

  forgets(eventId: string): void {
    this.region.events.splice(this.region.events.indexOf(this.event(eventId)), 1)
  }

  /** Kubelets and the scheduler. */
  async settlePods(history: History): Promise<void> {
    const { client } = this.#o
    const pods = history.all(podType)
    for (const pod of pods.filter((p) => p.metadata.deletionTimestamp !== undefined))
      await client.delete(podType, { name: pod.metadata.name ?? '', namespace: 'default' }, { gracePeriodSeconds: 0 })
    for (const node of history.all(nodeType)) {
      const name = node.metadata.name ?? ''
      const isOpen = (node.spec?.taints ?? []).length === 0 && !this.#away.has(name)
      if (isOpen && !pods.some((p) => p.spec?.nodeName === name)) await this.#pod(name)
    }
  }

  machine(n: number): Promise<Machine | undefined> {
    return this.#o.client.get(machineType, { name: nameOf(n) })
  }

  async close(): Promise<void> {
    await this.#server?.close()
  }
}

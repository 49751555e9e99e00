// An embedded server over HTTPS with the Defender and controllers running, each with the rights that it is shipped with, and nodes whose state a test plays.
import { startApprover } from '#test/support/servers/approver.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { type NodeRemedierInput, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { AGENTS_GROUP, NODE_LEASES, agentNodeGroup, agentUser, machineUidGroup } from '#api/names.ts'
import type { ControllerContext, ControllerModule, ControllersConfig } from '#controllers/module.ts'
import { HollowFleet } from '#agent/hollow/fleet.ts'
import { defenderModule } from '#defender/role.ts'
import { microTimestamp, timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { type Logger, loggerTo } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import type { HostEvent, Provider } from '#providers/port.ts'
import { type Informers, createInformers } from '#runtime/informers.ts'
import { leaseType } from '#runtime/lease.ts'
import type { Part } from '#runtime/manager.ts'
import { createMetrics } from '#runtime/metrics.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { condition } from '#test/support/fleets/defender-objects.ts'
import { renewKubeletLease } from '#test/e2e/rollout-replay/kubelet-leases.ts'

const LEASE_MS = 5_000
/** Longer than anything here takes on a machine that does ten other things. */
const PATIENCE_MS = 240_000
const KUBELET_RENEWS_MS = 10_000

export class RepairBench {
  readonly server: RunningServer
  readonly admin: KubeClient
  readonly #stops: (() => Promise<unknown>)[] = []
  readonly #troubles: string[] = []
  /** The nodes whose kubelets renew their Leases. */
  readonly #heard = new Set<string>()

  private constructor(server: RunningServer) {
    this.server = server
    this.admin = new HttpKubeClient(this.#connection())
  }

  /** The bench stops the server too. */
  static async start(server?: RunningServer): Promise<RepairBench> {
    const bench = new RepairBench(server ?? (await startEmbedded()))
    await installAll(bench.admin)
    await bench.create(defenderPolicy, 'open', { budgets: [{ max: '100%', of: 'unavailable' }] })
    bench.#playKubelets()
    return bench
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) await stop()
    await this.server.stop()
  }

  /** Requests of our programs that the server forbade: missing rights show here, even if a retry succeeded. */
  forbidden(): readonly string[] {
    return this.#troubles.filter((line) => /forbidden|\b403\b/i.test(line))
  }

  as(user: string, ...groups: readonly string[]): KubeClient {
    return new HttpKubeClient({
      ...this.#connection(),
      impersonate: { user, groups: [...groups, 'system:authenticated'] },
    })
  }

  /** As the agent of a machine that exists now: its certificate names the uid of this Machine. */
  async agentOf(name: string): Promise<KubeClient> {
    const uid = (await this.machine(name))?.metadata.uid
    if (uid === undefined) throw new Error(`machine ${name} has no uid, and its agent no certificate`)
    return this.as(agentUser(name), AGENTS_GROUP, agentNodeGroup(name), machineUidGroup(uid))
  }

  create(type: ResourceType, name: string, spec: object): Promise<KubeObject> {
    const object = { apiVersion: API_GROUP_VERSION, kind: type.kind, metadata: { name }, spec }
    return this.admin.create(type, object)
  }

  rule(name: string, spec: NodeRemedierInput['spec']): Promise<KubeObject> {
    return this.create(nodeRemedier, name, spec)
  }

  async startDefender(): Promise<void> {
    const client = this.as('kubenode:defender')
    const informers = this.#informersOf(client)
    const role = defenderModule({ identity: 'test', cluster: 'test' })
    const { parts = [] } = await role.setup({ client, informers, ...this.#tools() })
    informers.start()
    await informers.synced()
    await this.#startParts(parts)
  }

  async startControllers(
    modules: readonly ControllerModule[],
    config: Partial<Pick<ControllersConfig, 'providers' | 'outbound'>> = {},
    join: Partial<Pick<ControllersConfig['join'], 'artifactBase' | 'trust'>> = {},
  ): Promise<void> {
    const client = this.as('kubenode:controllers')
    const informers = this.#informersOf(client)
    const caData = Buffer.from(this.server.ca).toString('base64')
    const context: ControllerContext = {
      client,
      informers,
      ...this.#tools(),
      events: { record: () => undefined, flush: async () => undefined },
      config: {
        cluster: 'test',
        providers: {},
        join: {
          server: this.server.url,
          caData,
          artifactBase: '',
          trust: { sequence: 1, threshold: 1, keys: [] },
          ...join,
        },
        ...config,
      },
    }
    const running = modules.map((module) => module.setup(context))
    for (const c of running.flatMap((m) => m.controllers)) {
      c.start()
      this.#stops.unshift(async () => c.stop(1_000))
    }
    informers.start()
    await informers.synced()
    await this.#startParts(running.flatMap((m) => m.parts ?? []))
    if (modules.some((m) => m.name === 'machine'))
      await this.#startParts([await startApprover(this.as('kubenode:approver'), this.#tools())])
  }

  async #startParts(parts: readonly Part[]): Promise<void> {
    for (const part of parts) {
      await part.start(new AbortController().signal)
      this.#stops.unshift(async () => part.stop(1_000))
    }
  }

  /** Hosts of the provider, each with a hollow agent on it, as long as they are there. */
  playHosts(provider: Pick<Provider, 'events'>): void {
    const fleet = new HollowFleet({ client: this.admin, ...this.#tools(), version: '0.0.0', leaseMs: LEASE_MS })
    const stop = new AbortController()
    const heard = ({ kind, machine: name }: HostEvent) => {
      if (kind === 'Started') fleet.add(name, `${name}-boot-1`)
      if (kind === 'Deleted') void fleet.remove(name)
    }
    const running = Promise.all([fleet.run(stop.signal), provider.events(heard, stop.signal)])
    this.#stops.unshift(async () => {
      stop.abort()
      await running
    })
  }

  /** A node that is well, and the machine that it belongs to; no agent runs and no controller of machines. */
  async addNode(name: string, spec: object = {}): Promise<void> {
    const node = await this.admin.create(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name } })
    await this.setCondition(name, 'Ready', 'True')
    await this.#beat(name)
    await this.addMachine(name, node, spec)
  }

  /** A machine in service whose Node is there. */
  async addMachine(name: string, node: KubeObject, spec: object = {}): Promise<void> {
    await this.create(machine, name, spec)
    const told = ['Ready', 'AgentReachable', 'InfrastructureReady'].map((type) => condition(type, 'True'))
    await this.setMachine(name, {
      phase: 'Ready',
      bootID: `${name}-boot-1`,
      nodeRef: { name, uid: node.metadata.uid },
      conditions: told,
    })
  }

  async #beat(name: string): Promise<void> {
    const metadata = { name, namespace: NODE_LEASES }
    const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime: microTimestamp(systemClock.now()) }
    await this.admin.create(leaseType, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec })
    this.#heard.add(name)
  }

  /** Under load a test lasts longer than the 50 seconds after which a control plane calls a node silent. */
  #playKubelets(): void {
    const stop = new AbortController()
    const renewed = this.#renewUntil(stop.signal)
    this.#stops.unshift(async () => {
      stop.abort()
      await renewed
    })
  }

  async #renewUntil(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await systemClock.sleep(KUBELET_RENEWS_MS, signal).catch(() => undefined)
      if (signal.aborted) return
      for (const name of this.#heard) await renewKubeletLease(this.admin, name)
    }
  }

  async setCondition(node: string, type: string, status: 'True' | 'False' | 'Unknown'): Promise<void> {
    const at = timestamp(systemClock.now())
    const told = { type, status, reason: 'Reported', message: '', lastTransitionTime: at, lastHeartbeatTime: at }
    const value = { status: { conditions: [told] } }
    await this.admin.patch(nodeType, { name: node }, { type: 'strategic', value }, { subresource: 'status' })
  }

  async setMachine(name: string, status: Readonly<Record<string, unknown>>): Promise<void> {
    await this.admin.patch(machine, { name }, { type: 'merge', value: { status } as never }, { subresource: 'status' })
  }

  /** As the control plane and the machine controller would tell it. */
  async setHeard(name: string, isHeard: boolean): Promise<void> {
    if (isHeard) this.#heard.add(name)
    else this.#heard.delete(name)
    await this.setCondition(name, 'Ready', isHeard ? 'True' : 'Unknown')
    const told = (['Ready', 'AgentReachable'] as const).map((type) => condition(type, isHeard ? 'True' : 'False'))
    await this.setMachine(name, { conditions: [...told, condition('InfrastructureReady', 'True')] })
  }

  async jobs(): Promise<readonly RemedyOperationJob[]> {
    return (await this.admin.list(remedyOperationJob)).items
  }

  async jobOf(node: string): Promise<RemedyOperationJob | undefined> {
    return (await this.jobs()).find((j) => j.spec.node.name === node)
  }

  machine(name: string): Promise<Machine | undefined> {
    return this.admin.get(machine, { name })
  }

  node(name: string): Promise<Node | undefined> {
    return this.admin.get(nodeType, { name })
  }

  async until<T>(look: () => Promise<T> | T, isSo: (value: T) => boolean): Promise<T> {
    const end = Date.now() + PATIENCE_MS
    for (;;) {
      const value = await look()
      if (isSo(value)) return value
      if (Date.now() > end)
        throw new Error(`never so: ${JSON.stringify(value)}; refused: ${this.forbidden().join(' | ') || 'nothing'}`)
      await systemClock.sleep(20)
    }
  }

  #connection() {
    const { url, ca, cert, key } = this.server
    return { server: url, ca: { data: ca }, clientCertificate: { cert: { data: cert }, key: { data: key } } }
  }

  #tools() {
    return { clock: systemClock, random: systemRandom, log: this.#log(), metrics: createMetrics() }
  }

  #log(): Logger {
    return loggerTo((level, message, fields) => {
      if (level === 'warn' || level === 'error') this.#troubles.push(`${message} ${JSON.stringify(fields)}`)
    })
  }

  #informersOf(client: KubeClient): Informers {
    const informers = createInformers({ client, ...this.#tools(), startSpreadMs: 0 })
    this.#stops.push(async () => informers.stop())
    return informers
  }
}

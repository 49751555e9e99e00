// A small cluster on an embedded server with running controllers and Defender: one systemd machine with the real agent, and hollow nodes beside it,
// so that one node in trouble is one of many.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type NodeRemedierInput, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { remedyOperationJob, type RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { HollowFleet } from '#agent/hollow/fleet.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import type { ControllerContext } from '#controllers/module.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { defenderModule } from '#defender/role.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import { MemoryProvider } from '#test/doubles/providers/memory-provider.ts'
import { createNspawnProvider, type NspawnProvider } from '#providers/nspawn/provider.ts'
import { treePath } from '#providers/nspawn/tree.ts'
import { createInformers, type Informers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { careful } from '../../../rules/defender/careful.ts'
import { startApprover } from '#test/support/servers/approver.ts'

const ROOT = join(import.meta.dirname, '../../..')
export const TREES = process.env['KUBENODE_TREES'] ?? '/var/lib/kubenode/trees'
/** With the careful policy a tenth of the machines may be out: one of these and the one that hangs. */
const PEERS = Array.from({ length: 11 }, (_, i) => `peer-${i}`)
const LEASE_MS = 5_000

export interface FleetOptions {
  /** Holds the folders of machines. */
  readonly dir: string
  readonly agentConfig: object
  readonly rule: NodeRemedierInput['spec']
  readonly ruleName?: string
  readonly onPowerOff?: (machine: string) => Promise<void>
}

export class HungNodeFleet {
  readonly #stops: (() => unknown)[] = []
  readonly #o: FleetOptions
  #server: RunningServer | undefined
  #admin: KubeClient | undefined
  #provider: NspawnProvider | undefined

  constructor(options: FleetOptions) {
    this.#o = options
  }

  get admin(): KubeClient {
    if (this.#admin === undefined) throw new Error('not started')
    return this.#admin
  }

  get provider(): NspawnProvider {
    if (this.#provider === undefined) throw new Error('not started')
    return this.#provider
  }

  async start(): Promise<void> {
    const server = await inTime('the server', startEmbedded())
    this.#server = server
    this.#admin = this.#client(server)
    await inTime('the kinds', installAll(this.#admin))
    await this.#admin.create(defenderPolicy, objectOf('DefenderPolicy', 'careful', careful) as never)
    await inTime('the provider', this.#startProvider())
    await inTime('the controllers', this.#startControllers(server))
    await inTime('the Defender', this.#startDefender(server))
    await inTime('the peers', this.#startPeers())
    await this.#admin.create(
      nodeRemedier,
      objectOf('NodeRemedier', this.#o.ruleName ?? 'kernel-deadlock', this.#o.rule) as never,
    )
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) await stop()
    for (const host of (await this.#provider?.list())?.hosts ?? []) await this.#provider?.delete(host.providerID)
    await this.#server?.stop()
  }

  async addMachine(name: string): Promise<void> {
    // Where the kernel's log is kept from all without the right to it, only such a machine reads it.
    const spec = { channel: 'Agent', provider: { name: 'nspawn', params: { privileged: 'true' } } }
    await this.admin.create(machineType, objectOf('Machine', name, spec) as never)
  }

  machine(name: string): Promise<Machine | undefined> {
    return this.admin.get(machineType, { name })
  }

  node(name: string): Promise<Node | undefined> {
    return this.admin.get(nodeType, { name })
  }

  async jobs(): Promise<readonly RemedyOperationJob[]> {
    return (await this.admin.list(remedyOperationJob)).items
  }

  /** Each with its phase. */
  async peers(): Promise<readonly string[]> {
    const { items } = await this.admin.list(machineType)
    const found = items.filter((m) => PEERS.includes(m.metadata.name ?? ''))
    return found.map((m) => `${m.metadata.name} is ${m.status?.phase}`)
  }

  #client({ url, ca, cert, key }: RunningServer, user?: string): HttpKubeClient {
    const client = new HttpKubeClient({
      server: url,
      ca: { data: ca },
      clientCertificate: { cert: { data: cert }, key: { data: key } },
      ...(user === undefined ? {} : { impersonate: { user, groups: ['system:authenticated'] } }),
    })
    this.#stops.push(() => client.close())
    return client
  }

  #informers(client: KubeClient): Informers {
    const informers = createInformers({ client, ...tools(), startSpreadMs: 0 })
    this.#stops.unshift(() => informers.stop())
    return informers
  }

  /** As `kubenode run` makes it, with an injector that is notified of every power-off. */
  async #startProvider(): Promise<void> {
    const { dir, agentConfig, onPowerOff } = this.#o
    const entry = '/opt/kubenode/checkout/src/cli/agent-main.ts'
    const provider = await createNspawnProvider({
      dir,
      tree: treePath({ cache: TREES, log: silentLogger }),
      ...tools(),
      agent: {
        exec: ['/opt/kubenode/node', entry, '--root', '/var/lib/kubenode', '--host'],
        readOnly: [
          { from: execPath, to: '/opt/kubenode/node' },
          { from: ROOT, to: '/opt/kubenode/checkout' },
        ],
      },
      agentConfig: async () => JSON.stringify(agentConfig),
      ...defined({ onPowerOff }),
    })
    this.#provider = provider
    const stop = new AbortController()
    const running = provider.run?.(stop.signal)
    this.#stops.unshift(async () => {
      stop.abort()
      await running
    })
  }

  async #startControllers(server: RunningServer): Promise<void> {
    const client = this.#client(server, 'kubenode:controllers')
    const informers = this.#informers(client)
    const context: ControllerContext = {
      client,
      informers,
      ...tools(),
      events: { record: () => undefined, flush: async () => undefined },
      config: {
        cluster: 'test',
        providers: { nspawn: this.provider, memory: new MemoryProvider({ clock: systemClock }) },
        join: {
          server: server.url,
          caData: Buffer.from(server.ca).toString('base64'),
          artifactBase: 'file:///nowhere/',
          trust: { sequence: 1, threshold: 1, keys: [] },
        },
      },
    }
    for (const module of [machineModule, remedyModule, remedyJobModule])
      for (const c of module.setup(context).controllers) {
        c.start()
        this.#stops.unshift(() => c.stop(1_000))
      }
    informers.start()
    await informers.synced()
    const approver = await startApprover(this.#client(server, 'kubenode:approver'), tools())
    this.#stops.unshift(() => approver.stop(1_000))
  }

  async #startDefender(server: RunningServer): Promise<void> {
    const client = this.#client(server, 'kubenode:defender')
    const informers = this.#informers(client)
    const { parts = [] } = await defenderModule({ identity: 'test', cluster: 'test' }).setup({
      client,
      informers,
      ...tools(),
    })
    informers.start()
    await informers.synced()
    for (const part of parts) {
      await part.start(new AbortController().signal)
      this.#stops.unshift(() => part.stop(1_000))
    }
  }

  async #startPeers(): Promise<void> {
    const fleet = new HollowFleet({ client: this.admin, ...tools(), version: '0.0.0', leaseMs: LEASE_MS })
    const stop = new AbortController()
    const running = fleet.run(stop.signal)
    this.#stops.unshift(async () => {
      stop.abort()
      await running
    })
    for (const name of PEERS) {
      await this.admin.create(
        machineType,
        objectOf('Machine', name, { channel: 'Agent', provider: { name: 'memory' } }) as never,
      )
      fleet.add(name, `${name}-boot-1`)
    }
  }
}

/** A start takes a second; if one part of it hangs, it is named. */
async function inTime<T>(what: string, started: Promise<T>): Promise<T> {
  const over = new AbortController()
  const late = systemClock.sleep(60_000, over.signal).then(() => {
    throw new Error(`${what} did not start within a minute`)
  })
  try {
    return await Promise.race([started, late])
  } finally {
    late.catch(() => undefined)
    over.abort(new Error('it started'))
  }
}

const tools = () => ({ clock: systemClock, random: systemRandom, log: silentLogger, metrics: createMetrics() })

const objectOf = (kind: string, name: string, spec: object): KubeObject & { readonly spec: object } => ({
  apiVersion: API_GROUP_VERSION,
  kind,
  metadata: { name },
  spec,
})

/** What nspawn says when a machine does not do what it should. */
export const consoleOf = (dir: string, machine: string): string => {
  try {
    return readFileSync(join(dir, machine, 'console.log'), 'utf8').slice(-2_000)
  } catch {
    return 'no console'
  }
}

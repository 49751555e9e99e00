// A small fleet in one process: the embedded server, the controllers and the Defender, and agents with components that are real processes.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { pathToFileURL } from 'node:url'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { programUser } from '#api/names.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { componentSetModule } from '#controllers/componentset/reconcile.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { defenderModule } from '#defender/role.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { installAll } from '#test/support/servers/installed.ts'
import type { Provider } from '#providers/port.ts'
import { createProcessProvider } from '#providers/process/provider.ts'
import { createInformers } from '#runtime/informers.ts'
import type { Part } from '#runtime/manager.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { processesWith } from '#test/support/tools/processes.ts'
import { startApprover } from '#test/support/servers/approver.ts'

const ROOT = join(import.meta.dirname, '../../..')
const POOL = { 'kubenode.io/pool': 'workers' }
const SET = 'base'
const own = { clock: systemClock, random: systemRandom, log: silentLogger }
/** Tells our processes from those of other tests; longer than any of them. */
const SECONDS = 200_000 + process.pid

/** The program of each version. Two of them work, one exits by itself in its settle window. */
const PROGRAMS = {
  '1.0.0': { content: () => readFileSync('/bin/sleep'), seconds: SECONDS },
  '1.1.0': { content: () => readFileSync('/bin/sleep'), seconds: SECONDS + 100_000 },
  '1.2.0': { content: () => Buffer.from('#!/bin/sh\n/bin/sleep 0.3\nexit 3\n'), seconds: 0 },
} as const
export type Version = keyof typeof PROGRAMS

type Startable = Provider & { run(signal: AbortSignal): Promise<void> }

export class SmallFleet {
  readonly machines: readonly string[]
  readonly #folder = realpathSync(mkdtempSync(join(tmpdir(), 'kubenode-settle-')))
  readonly #stop = new AbortController()
  readonly #parts: Part[] = []
  readonly #clients: HttpKubeClient[] = []
  readonly #settle: string
  #server: RunningServer | undefined
  #admin: HttpKubeClient | undefined
  #provider: Startable | undefined

  constructor(machines: readonly string[], settle: string) {
    this.machines = machines
    this.#settle = settle
  }

  get admin(): HttpKubeClient {
    if (this.#admin === undefined) throw new Error('not started')
    return this.#admin
  }

  async start(): Promise<void> {
    this.#server = await startEmbedded()
    this.#admin = this.#clientAs()
    await installAll(this.admin)
    const artifacts = join(this.#folder, 'artifacts')
    const trust = await this.#publish(artifacts)
    this.#provider = (await createProcessProvider({
      dir: join(this.#folder, 'nodes'),
      agent: ({ dir }) => [execPath, join(ROOT, 'src/cli/agent-main.ts'), '--root', dir],
      agentConfig: async () => JSON.stringify({ lease: '2s' }),
      ...own,
    })) as Startable
    await this.#startParts({ artifactBase: pathToFileURL(artifacts).href, trust })
    void this.#provider?.run(this.#stop.signal)
    for (const part of this.#parts) await part.start(this.#stop.signal)
    await this.#populate()
  }

  async #publish(artifacts: string) {
    const publisher = newPublisher()
    mkdirSync(artifacts, { recursive: true })
    writeFileSync(join(artifacts, 'trust.json'), JSON.stringify(publisher.trust()))
    for (const [version, { content, seconds }] of Object.entries(PROGRAMS)) {
      const exec = '/opt/sleeper/bin/sleeper'
      const one = release(publisher, {
        component: 'sleeper',
        version,
        entries: [{ name: 'bin/sleeper', content: content(), mode: 0o755 }],
        spec: {
          service: { exec, args: [String(seconds)], restart: 'Always', killMode: 'Group' },
          probes: [{ name: 'there', file: { path: exec }, interval: '1s', timeout: '1s', settle: this.#settle }],
        },
      })
      writeFileSync(join(artifacts, one.url), one.artifact)
      await this.admin.create(machineComponent, one.object)
    }
    return publisher.anchor
  }

  async #startParts(join_: { readonly artifactBase: string; readonly trust: unknown }): Promise<void> {
    const server = this.#server
    if (server === undefined) throw new Error('not started')
    const caData = Buffer.from(server.ca).toString('base64')
    const config = {
      cluster: 'settle',
      providers: { process: this.#provider },
      join: { server: server.url, caData, ...join_ },
    } as never
    const events = { record: () => undefined, flush: () => Promise.resolve() }
    const client = this.#clientAs(programUser('controllers'))
    const informers = createInformers({ client, ...own, startSpreadMs: 0 })
    for (const module of [machineModule, componentSetModule]) {
      const running = module.setup({ client, ...own, metrics: createMetrics(), events, config, informers })
      this.#parts.push(...running.controllers, ...(running.parts ?? []))
    }
    const defender = { client: this.#clientAs(programUser('defender')), ...own, metrics: createMetrics() }
    const seen = createInformers({ client: defender.client, ...own, startSpreadMs: 0 })
    const running = await defenderModule({ identity: 'test' }).setup({ ...defender, informers: seen })
    this.#parts.push(...(running.parts ?? []))
    this.#parts.push(await startApprover(this.#clientAs(programUser('approver')), own))
    for (const all of [informers, seen]) {
      all.start()
      await all.synced()
    }
  }

  async #populate(): Promise<void> {
    const of = (kind: string, name: string, spec: object, labels = {}) =>
      ({ apiVersion: API_GROUP_VERSION, kind, metadata: { name, labels }, spec }) as never
    const budgets = [{ max: 1, of: 'concurrent', per: 'cluster' }]
    await this.admin.create(defenderPolicy, of('DefenderPolicy', 'open', { budgets, mode: 'Enforce' }))
    const rollout = { steps: [1], maxUnavailable: 1, soak: '0s', maxFailures: 0 }
    const components = [{ name: 'sleeper', version: '1.0.0' }]
    const spec = { selector: { matchLabels: POOL }, components, rollout }
    await this.admin.create(machineComponentSet, of('MachineComponentSet', SET, spec))
    for (const name of this.machines) {
      const machine = { channel: 'Agent', provider: { name: 'process' }, pool: 'workers' }
      await this.admin.create(machineType, of('Machine', name, machine, POOL))
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    for (const part of this.#parts.toReversed()) await part.stop(1_000)
    for (const host of (await this.#provider?.list())?.hosts ?? []) await this.#provider?.delete(host.providerID)
    for (const client of this.#clients) client.close()
    await this.#server?.stop()
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }

  declare(version: Version) {
    const value = { spec: { components: [{ name: 'sleeper', version }] } }
    return this.admin.patch(machineComponentSet, { name: SET }, { type: 'merge', value })
  }

  /** Undefined until it speaks of what is declared now. */
  async set() {
    const set = await this.admin.get(machineComponentSet, { name: SET })
    return set?.status?.observedGeneration === set?.metadata.generation ? set?.status : undefined
  }

  async report(machine: string) {
    return (await this.admin.get(machineType, { name: machine }))?.status?.components?.find((c) => c.name === 'sleeper')
  }

  /** Of the component on one machine. */
  pidOf(machine: string, version: Version): number | undefined {
    const program = join(this.#folder, 'nodes', machine, 'root/opt/sleeper')
    return processesWith(program, String(PROGRAMS[version].seconds))[0]?.pid
  }

  agentOf(machine: string): number | undefined {
    return processesWith('agent-main.ts', join(this.#folder, 'nodes', machine))[0]?.pid
  }

  #clientAs(user?: string): HttpKubeClient {
    const server = this.#server
    if (server === undefined) throw new Error('not started')
    const config = {
      server: server.url,
      ca: { data: server.ca },
      clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
    }
    const client = new HttpKubeClient(user === undefined ? config : { ...config, impersonate: { user } })
    this.#clients.push(client)
    return client
  }
}

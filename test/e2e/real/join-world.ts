// A cluster with what it takes to join hosts: kinds, rights and policies as shipped, the machine controller, the approver, and role artifacts with the
// files of `kubenode agent bundle`. The embedded server, or a real control plane whose controller manager signs.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { ArtifactsPart } from '#artifacts/role.ts'
import { ownAuthority } from '#artifacts/own-authority.ts'
import { makeArchives } from '#agent/join/archive.ts'
import type { Bundled } from '#agent/join/program-bundle.ts'
import { run } from '#cli/program.ts'
import { sshScript } from '#agent/join/ssh-scripts.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import type { ControllerContext, ControllerModule, JoinGround } from '#controllers/module.ts'
import { sshJoinModule } from '#controllers/sshjoin/reconcile.ts'
import { sshVisits } from '#programs/run/ssh-visits.ts'
import { defenderModule } from '#defender/role.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { StaticProvider, notesInMemory } from '#providers/static/provider.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { SshSessions } from '#ssh/ssh-sessions.ts'
import { newPublisher } from '#test/doubles/node/release.ts'
import type { RunningServer } from '#test/support/servers/api-servers.ts'
import { type ApproverOptions, startApprover } from '#test/support/servers/approver.ts'
import { installAll } from '#test/support/servers/installed.ts'

const ROOT = join(import.meta.dirname, '../../..')
const HOST = '127.0.0.1'
/** A loaded machine takes ten times as long as an idle one. */
const PATIENCE_MS = 120_000

export class JoinWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'kubenode-join-'))
  readonly served = join(this.folder, 'served')
  files: readonly Bundled[] = []
  /** Of the controllers, from their next start on. */
  modules: readonly ControllerModule[] = [machineModule, sshJoinModule]
  trust: JoinGround['trust'] = newPublisher().anchor
  /** With a Defender, from the next start on. */
  isDefended = false
  admin: KubeClient
  #server: RunningServer
  readonly #stops: (() => unknown)[] = []

  readonly #approver: ApproverOptions

  constructor(server: RunningServer, approver: ApproverOptions = {}) {
    this.#server = server
    this.#approver = approver
    this.admin = new HttpKubeClient(this.#asAdmin())
  }

  #asAdmin() {
    const { url, ca, cert, key } = this.#server
    return { server: url, ca: { data: ca }, clientCertificate: { cert: { data: cert }, key: { data: key } } }
  }

  #as(user: string): KubeClient {
    return new HttpKubeClient({ ...this.#asAdmin(), impersonate: { user, groups: ['system:authenticated'] } })
  }

  async start(): Promise<void> {
    await installAll(this.admin)
    this.files = await makeArchives({ root: ROOT, out: this.served, nodes: [execPath] })
    const port = await this.#startArtifacts()
    await this.#startControllers(port)
  }

  /** The same server with other credentials: what runs is started again with them, as pods are. */
  async use(server: RunningServer): Promise<void> {
    for (const stop of this.#stops.splice(0)) await stop()
    this.#server = server
    this.admin = new HttpKubeClient(this.#asAdmin())
    await this.#startControllers(await this.#startArtifacts())
  }

  async #startArtifacts(): Promise<number> {
    const part = new ArtifactsPart({
      folder: this.served,
      host: HOST,
      port: 0,
      certificate: { hosts: [HOST] },
      client: this.#as('kubenode:artifacts'),
      clock: systemClock,
      log: silentLogger,
    })
    await part.start()
    this.#stops.unshift(() => part.stop())
    return part.port ?? 0
  }

  async #startControllers(port: number): Promise<void> {
    const { url, ca } = this.#server
    const client = this.#as('kubenode:controllers')
    const tools = { clock: systemClock, random: systemRandom, log: silentLogger }
    const informers = createInformers({ client, ...tools, startSpreadMs: 0 })
    const base64 = (text: string) => Buffer.from(text).toString('base64')
    const artifactCaData = base64((await ownAuthority(client)) ?? '')
    const joinScript = this.files.find((f) => f.file.endsWith('join.sh'))?.sha256
    const sessions = new SshSessions({ folder: join(this.folder, 'keys'), path: process.env['PATH'] ?? '', atOnce: 5 })
    const ground: JoinGround = {
      server: url,
      caData: base64(ca),
      artifactBase: `https://${HOST}:${port}/`,
      artifactCaData,
      joinScript,
      trust: this.trust,
    }
    const context: ControllerContext = {
      client,
      informers,
      ...tools,
      metrics: createMetrics(),
      events: { record: () => undefined, flush: async () => undefined },
      config: {
        cluster: 'test',
        sshJoin: { sessions, scriptOf: (step, ...of) => sshScript(step, ...of) },
        providers: { static: new StaticProvider({ notes: notesInMemory(), clock: systemClock }) },
        sshNodes: sshVisits({ client, ...tools, sessions, join: ground }),
        join: ground,
      },
    }
    for (const module of this.modules)
      for (const c of module.setup(context).controllers) {
        c.start()
        this.#stops.unshift(() => c.stop(1_000))
      }
    informers.start()
    await informers.synced()
    this.#stops.push(() => informers.stop())
    if (this.isDefended) await this.#startDefender()
    const approver = await startApprover(this.#as('kubenode:approver'), tools, this.#approver)
    this.#stops.unshift(() => approver.stop(1_000))
  }

  async #startDefender(): Promise<void> {
    const client = this.#as('kubenode:defender')
    const tools = { clock: systemClock, random: systemRandom, log: silentLogger, metrics: createMetrics() }
    const informers = createInformers({ client, ...tools, startSpreadMs: 0 })
    const { parts = [] } = await defenderModule({ identity: 'test', cluster: 'test' }).setup({
      client,
      informers,
      ...tools,
    })
    informers.start()
    await informers.synced()
    this.#stops.push(() => informers.stop())
    for (const part of parts) {
      await part.start(new AbortController().signal)
      this.#stops.unshift(() => part.stop(1_000))
    }
  }

  async declare(name: string): Promise<void> {
    const spec: Machine['spec'] = { channel: 'Agent', provider: { name: 'static' } }
    await this.admin.create(machineType, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name },
      spec,
    })
  }

  machine(name: string): Promise<Machine | undefined> {
    return this.admin.get(machineType, { name })
  }

  async until(what: string | (() => string), holds: () => Promise<boolean>, patienceMs = PATIENCE_MS): Promise<void> {
    for (const began = systemClock.monotonic(); systemClock.monotonic() - began < patienceMs;) {
      if (await holds()) return
      await systemClock.sleep(200)
    }
    throw new Error(`never: ${typeof what === 'string' ? what : what()}`)
  }

  joinCommand(name: string, ...options: readonly string[]): Promise<string> {
    return this.printed('machine', 'join-command', name, ...options)
  }

  /** What a command prints, once it can: a token takes the approver a moment. */
  async printed(...args: readonly string[]): Promise<string> {
    let printed = ''
    let said = ''
    const io = {
      out: (text: string) => void (printed += text),
      err: (text: string) => void (said = text),
      cwd: this.folder,
      env: {},
      isTerminal: false,
    }
    await this.until(
      () => `kubenode ${args.join(' ')}: ${said}`,
      async () => {
        printed = ''
        return (await run([...args, '--kubeconfig', this.#server.kubeconfig], io)) === 0
      },
    )
    return printed
  }

  async stop(): Promise<void> {
    for (const stop of this.#stops) await stop()
    await this.#server.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

// A cluster whose API server and approver can be away for longer than certificates live, and hosts whose agents keep running meanwhile: the embedded server as
// run by `kubenode apiserver`, the real approver, the agents' real join, renewal and door, on a clock that the test moves.
import { mkdirSync, mkdtempSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSession, type Session } from '#agent/session.ts'
import { realFiles } from '#agent/files/real.ts'
import { lifeOf, machineUidIn } from '#agent/join/identity.ts'
import { joinFile, nodeDir, pairFile } from '#agent/node-dir.ts'
import { newPublisher } from '#test/doubles/node/release.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { machine as machineType, type Machine } from '#api/kinds/machine.ts'
import { agentLeaseName, ANNOTATIONS, programUser, SYSTEM_NAMESPACE } from '#api/names.ts'
import { createApiServer, type ApiServer, type ApiServerOptions } from '#apiserver/api-server.ts'
import { issueCertificate, signRequest } from '#lib/x509/certificates.ts'
import { newCredentials, type Credentials } from '#lib/x509/server-keys.ts'
import { LOOPS } from '#apiserver/loops/loops.ts'
import { sqliteStorage } from '#apiserver/storage/sqlite.ts'
import { embeddedRules } from '#programs/run/embedded-rules.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { loggerTo, silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { recording } from '#test/support/rights/record.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { type CertificateRequest, certificateRequestType } from '#identity/certificate-request.ts'
import { handOverKey, tokenText } from '#identity/join-token.ts'
import { secretType } from '#nodes/objects.ts'
import type { Part } from '#runtime/manager.ts'
import { startApprover } from '#test/support/servers/approver.ts'
import { shiftedClock } from '#test/support/clocks/shifted-clock.ts'
import { eventually } from '#test/support/benches/sync-bench.ts'

const HOUR = 3_600_000
/** All but what signs certificates: their real times must fit TLS, which knows no other clock. */
const UNSIGNING = LOOPS.filter((l) => l !== 'certificates')
const SIGN_EVERY_MS = 20
/** Well below the deadline of a request, which the passing time must not cut off. */
const STEP_MS = 15_000
const STEP_REAL_MS = 100

export interface Host {
  readonly machine: Machine
  readonly folder: string
  readonly session: Session
  readonly said: string[]
  stop(): void
}

export class DoorWorld {
  readonly clock = shiftedClock()
  readonly folder = mkdtempSync(join(tmpdir(), 'kubenode-door-'))
  readonly credentials: Credentials = newCredentials(systemClock.now(), ['127.0.0.1'])
  readonly #clients: HttpKubeClient[] = []
  readonly #hosts: Host[] = []
  #server: ApiServer | undefined
  #port = 0
  #approver: Part | undefined
  #signing = new AbortController()
  /** Of certificates that are signed from now on. */
  lifeMs = HOUR

  static async start(options: ApiServerOptions = {}): Promise<DoorWorld> {
    const world = new DoorWorld()
    await world.serve(options)
    await installAll(world.admin, false)
    await world.approve()
    return world
  }

  get server(): ApiServer {
    if (this.#server === undefined) throw new Error('the API server is away')
    return this.#server
  }

  get admin(): HttpKubeClient {
    return this.as(this.credentials.admin)
  }

  as(pair: { readonly key: string; readonly certificate: string }): HttpKubeClient {
    const clientCertificate = { cert: { data: pair.certificate }, key: { data: pair.key } }
    return this.#kept({ server: this.server.url, ca: { data: this.server.ca }, clientCertificate })
  }

  /** With no identity. */
  stranger(): HttpKubeClient {
    return this.#kept({ server: this.server.url, ca: { data: this.server.ca } })
  }

  async serve(options: ApiServerOptions = {}): Promise<void> {
    const { clock, credentials } = this
    this.#server = await createApiServer({
      clock,
      credentials,
      storage: sqliteStorage(join(this.folder, 'objects.db')),
      loops: UNSIGNING,
      port: this.#port,
      ...embeddedRules({ clock }),
      ...recording,
      ...options,
    })
    await this.#server.listen()
    this.#port = Number(new URL(this.#server.url).port)
    this.#signing = new AbortController()
    void this.#sign(this.#signing.signal)
  }

  async approve(): Promise<void> {
    const pair = issueCertificate(this.credentials.authority, {
      subject: { commonName: programUser('approver') },
      validity: { now: systemClock.now(), days: 1 },
      usage: 'client',
    })
    this.#approver = await startApprover(this.as(pair), {
      clock: this.clock,
      random: seededRandom(1),
      log: silentLogger,
    })
  }

  async approverGone(): Promise<void> {
    await this.#approver?.stop(1_000)
    this.#approver = undefined
  }

  async serverGone(): Promise<void> {
    this.#signing.abort()
    await this.#server?.close()
    this.#server = undefined
  }

  async machine(name: string): Promise<Machine> {
    return this.admin.create(machineType, {
      apiVersion: API_GROUP_VERSION,
      kind: machineType.kind,
      metadata: { name },
      spec: { channel: 'Agent', provider: { name: 'static' } },
    })
  }

  /** Its Machine and its agent, joined by token. */
  async host(name: string): Promise<Host> {
    const machine = await this.machine(name)
    const uid = machine.metadata.uid ?? ''
    const handed = await eventually(
      () => this.admin.get(secretType, handOverKey(uid)),
      (s) => s !== undefined,
    )
    const folder = join(this.folder, name)
    const dir = nodeDir(folder)
    mkdirSync(dir.state, { recursive: true, mode: 0o700 })
    const bundle = {
      server: this.server.url,
      caData: Buffer.from(this.server.ca).toString('base64'),
      token: handed === undefined ? '' : tokenText(handed),
      machine: name,
      uid,
      node: name,
      cluster: 'test',
      artifactBase: 'file:///nowhere/',
      trust: newPublisher().anchor,
    }
    writeFileSync(joinFile(dir), JSON.stringify(bundle))
    const host = await this.agent(machine, folder)
    await this.admin.patch(
      machineType,
      { name },
      { type: 'merge', value: { status: { phase: 'Ready' } } },
      { fieldManager: 'test', subresource: 'status' },
    )
    return host
  }

  /** The agent of a host that joined, as after a restart; of a new one, with its bundle. */
  async agent(machine: Machine, folder: string): Promise<Host> {
    const stop = new AbortController()
    const said: string[] = []
    const session = await openSession({
      files: realFiles,
      dir: nodeDir(folder),
      clock: this.clock,
      random: seededRandom(machine.metadata.name?.length ?? 1),
      log: loggerTo((_, message, fields) => void said.push(`${message} ${JSON.stringify(fields)}`)),
      version: '0.0.0',
      signal: stop.signal,
    })
    void session.keep()
    const host: Host = {
      machine,
      folder,
      session,
      said,
      stop: () => {
        stop.abort()
        session.client.close()
      },
    }
    this.#hosts.push(host)
    return host
  }

  /** Time passes in steps, each with a moment for what happens in it, until it is so. */
  async untilPassing<T>(look: () => Promise<T>, isIt: (seen: T) => boolean, steps = 240): Promise<T> {
    for (let step = 0; ; step++) {
      const seen = await look()
      if (isIt(seen)) return seen
      if (step >= steps) throw new Error(`not so after ${steps} steps; last seen: ${JSON.stringify(seen)}`)
      this.clock.shift(STEP_MS)
      await systemClock.sleep(STEP_REAL_MS)
    }
  }

  requests = async (): Promise<readonly CertificateRequest[]> => (await this.admin.list(certificateRequestType)).items

  async close(): Promise<void> {
    for (const host of this.#hosts) host.stop()
    for (const client of this.#clients) client.close()
    await this.approverGone()
    await this.serverGone()
    rmSync(this.folder, { recursive: true, force: true })
  }

  #kept(config: ConstructorParameters<typeof HttpKubeClient>[0]): HttpKubeClient {
    const client = new HttpKubeClient(config)
    this.#clients.push(client)
    return client
  }

  async #sign(signal: AbortSignal): Promise<void> {
    const { admin } = this
    while (!signal.aborted) {
      const found = await admin.list(certificateRequestType).catch(() => undefined)
      for (const r of found?.items ?? []) {
        const types = (r.status?.conditions ?? []).map((c) => c.type)
        if (!types.includes('Approved') || r.status?.certificate !== undefined) continue
        const certificate = signRequest(
          this.credentials.authority,
          Buffer.from(r.spec.request, 'base64').toString('utf8'),
          { usages: r.spec.usages ?? [], validity: { now: systemClock.now(), days: this.lifeMs / (24 * HOUR) } },
        )
        const status = { ...r.status, certificate: Buffer.from(certificate).toString('base64') }
        await admin.update(certificateRequestType, { ...r, status }, { subresource: 'status' }).catch(() => undefined)
      }
      await systemClock.sleep(SIGN_EVERY_MS)
    }
  }
}

export const certificateOf = ({ folder }: Host): string =>
  readFileSync(pairFile(nodeDir(folder)), 'utf8').replace(/^[^]*?(?=-----BEGIN CERT)/, '')
export const keyOfHost = ({ folder }: Host): string =>
  readFileSync(pairFile(nodeDir(folder)), 'utf8').replace(/-----BEGIN CERT[^]*$/, '')
export const expiresAt = (host: Host): number => lifeOf(certificateOf(host))?.to ?? 0
export const hasBundle = ({ folder }: Host): boolean => existsSync(joinFile(nodeDir(folder)))

/** What the controllers take for a sign of life. */
export async function heartbeat(host: Host): Promise<boolean> {
  const name = host.machine.metadata.name ?? ''
  const uid = machineUidIn(certificateOf(host)) ?? ''
  const body = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: agentLeaseName(name), annotations: { [ANNOTATIONS.machineUid]: uid } },
    spec: { holderIdentity: name, leaseDurationSeconds: 40 },
  }
  const path = `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM_NAMESPACE}/leases/${agentLeaseName(name)}?fieldManager=kubenode-agent&force=true`
  const headers = { 'content-type': 'application/apply-patch+yaml' }
  return host.session.client.raw({ method: 'PATCH', path, body, headers }).then(
    ({ status }) => status < 300,
    () => false,
  )
}

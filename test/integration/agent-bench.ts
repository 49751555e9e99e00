// What agent tests share: an API server over HTTPS, a test signer of certificates and granter of permits, an artifact folder, and agents as real processes.
import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync, existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import { KINDS } from '#api/kinds.ts'
import { machine as machineType, type Machine } from '#api/kinds/machine.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { csrType } from '#agent/join/request.ts'
import { nodeType } from '#agent/node/types.ts'
import { newPublisher, release, type Publisher, type Release } from '#test/doubles/node/release.ts'
import type { KubeClient } from '#kube/client.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { isObject } from '#lib/json.ts'
import { seededRandom } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { serveFake, type KubeServer } from '#test/support/servers/kube-server.ts'
import type { CertificateAuthority } from '#test/support/servers/tls.ts'
import { programFile } from '#test/support/tools/own-build.ts'

const ROOT = join(import.meta.dirname, '../..')
const NODE = join(ROOT, 'node_modules/.bin/node')
const AGENT = programFile('agent-main')

export const MACHINE = 'pool-a-x1y2z'
export const JOIN_TOKEN = 'abcdef.0123456789abcdef'

/** Answers with its version, or with 500 when it was built to fail; where to listen the agent says. */
export const beaconScript = (version: string, status = 200): string => `#!/usr/bin/env node
require('node:http').createServer((q, r) => { r.statusCode = ${status}; r.end('${version}') }).listen(18080, process.env.KUBENODE_ADDRESS)
`

export const beaconRelease = (publisher: Publisher, version: string, status = 200, disruption = 'Restart'): Release =>
  release(publisher, {
    version,
    entries: [{ name: 'bin/beacon', content: beaconScript(version, status), mode: 0o755 }],
    spec: {
      disruption,
      service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' },
      probes: [
        {
          name: 'http',
          http: { port: 18080, path: '/healthz', tls: false },
          interval: '300ms',
          timeout: '1s',
          settle: '300ms',
        },
      ],
    },
  })

/** Compiled once, the agent starts in half the time. Not for agents that are killed at their n-th change of the disk, where this would count. */
const COMPILED = join(ROOT, 'node_modules/.cache/kubenode-tests/compiled')

export class AgentBench {
  readonly folder = mkdtempSync(join(tmpdir(), 'kubenode-agent-'))
  readonly publisher = newPublisher()
  /** Unique per bench: the addresses of components are derived from it, and benches run in parallel. */
  readonly cluster = `test-${randomUUID().slice(0, 8)}`
  readonly fake: FakeKube
  client: KubeClient
  readonly agents = new Set<ChildProcess>()
  #server: KubeServer | undefined
  protected place = { url: '', ca: '' }
  #signing = new AbortController()
  permits = 0
  /** Of certificates that are signed from now on. */
  certificateMs = 3_600_000
  /** Of agents that start from now on, beside that of the test. */
  environment: Readonly<Record<string, string>> = {}

  constructor() {
    const kinds = KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined }))
    this.fake = new FakeKube({ clock: systemClock, random: seededRandom(1), kinds })
    this.client = this.fake.client({ actor: 'test' })
  }

  get server(): KubeServer {
    if (this.#server === undefined) throw new Error('not started')
    return this.#server
  }

  get nodeFolder(): string {
    return join(this.folder, 'nodes', MACHINE)
  }

  async start(): Promise<void> {
    await this.serve()
    mkdirSync(this.nodeFolder, { recursive: true })
    mkdirSync(join(this.folder, 'artifacts'), { recursive: true })
    writeFileSync(join(this.folder, 'artifacts/trust.json'), JSON.stringify(this.publisher.trust()))
    void this.#sign()
  }

  protected async serve(): Promise<void> {
    this.#server = await serveFake(this.fake)
    this.#server.tokens.set(JOIN_TOKEN, 'system:bootstrap:abcdef')
    this.place = { url: this.#server.url, ca: this.#server.authority.cert }
  }

  /** A client that may write the status of permits. */
  protected defender(): KubeClient {
    return this.client
  }

  protected async close(): Promise<void> {
    await this.#server?.close()
  }

  /** Of the Machine, where policies compare it. */
  machineUid: string | undefined

  writeJoin(folder = this.nodeFolder): void {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'join.json'), JSON.stringify(this.joinBundle()), { mode: 0o600 })
  }

  joinBundle(artifacts = join(this.folder, 'artifacts')) {
    return {
      server: this.place.url,
      caData: Buffer.from(this.place.ca).toString('base64'),
      token: JOIN_TOKEN,
      machine: MACHINE,
      ...defined({ uid: this.machineUid }),
      node: MACHINE,
      cluster: this.cluster,
      artifactBase: pathToFileURL(artifacts).href,
      trust: this.publisher.anchor,
    }
  }

  writeConfig(config: unknown): void {
    writeFileSync(join(this.nodeFolder, 'agent.json'), JSON.stringify(config))
  }

  /** What an administrator of the host says. */
  writeHostConfig(config: unknown): void {
    writeFileSync(join(this.nodeFolder, 'agent-from-host.json'), JSON.stringify(config))
  }

  async publish(one: Release): Promise<void> {
    writeFileSync(join(this.folder, 'artifacts', one.url), one.artifact)
    await this.client.create(machineComponent, one.object)
  }

  run(folder = this.nodeFolder, ...more: readonly string[]): ChildProcess {
    const env = { ...process.env, NODE_COMPILE_CACHE: COMPILED, ...this.environment }
    const child = spawn(NODE, [AGENT, '--root', folder, ...more], {
      stdio: ['ignore', 'ignore', 'pipe'],
      cwd: ROOT,
      env,
    })
    child.stderr.setEncoding('utf8')
    let text = ''
    child.stderr.on('data', (s: string) => {
      text += s
      writeFileSync(join(this.folder, `agent-${child.pid}.log`), text)
    })
    this.agents.add(child)
    child.once('exit', () => this.agents.delete(child))
    return child
  }

  logOf(child: ChildProcess): string {
    const path = join(this.folder, `agent-${child.pid}.log`)
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  }

  async machine(): Promise<Machine | undefined> {
    return this.client.get(machineType, { name: MACHINE })
  }

  async component(name = 'beacon') {
    return (await this.machine())?.status?.components?.find((c) => c.name === name)
  }

  /** As a person with the rights may. */
  async clearStatus(): Promise<void> {
    const patch = { type: 'merge', value: { status: null } } as const
    await this.client.patch(machineType, { name: MACHINE }, patch, { fieldManager: 'person', subresource: 'status' })
  }

  /** The Machine of the agent, without components: an agent makes no Node for one that does not exist. */
  async makeMachine(): Promise<void> {
    const object = { apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', metadata: { name: MACHINE }, spec: {} }
    await this.client.apply(machineType, object, { fieldManager: 'kubenode-machine', force: true })
  }

  async order(component: Readonly<Record<string, unknown>>): Promise<void> {
    const object = {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name: MACHINE },
      spec: { components: [{ name: 'beacon', attempt: 1, ...component }] },
    }
    await this.client.apply(machineType, object, { fieldManager: 'kubenode-machine', force: true })
  }

  async listJobs(jobs: readonly string[]): Promise<void> {
    const patch = { type: 'merge', value: { spec: { jobs } } } as const
    await this.client.patch(machineType, { name: MACHINE }, patch, { fieldManager: 'kubenode-remedyjob' })
  }

  async permit(name: string, operation: string | readonly string[], phase: string): Promise<void> {
    const uid = (await this.machine())?.metadata.uid ?? ''
    const now = new Date().toISOString()
    await this.client.create(operationPermit, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'OperationPermit',
      metadata: { name },
      spec: {
        operations: [operation].flat(),
        targets: [{ kind: 'Machine', name: MACHINE, uid }],
        requester: { manager: 'kubenode-componentset' },
        reason: 'a test',
        recovery: false,
        leaseSeconds: 120,
      },
    } as never)
    await this.decide(name, phase, now, uid)
  }

  async decide(name: string, phase: string, now = new Date().toISOString(), uid?: string): Promise<void> {
    const target = uid ?? (await this.machine())?.metadata.uid ?? ''
    const status = {
      phase,
      decidedAt: now,
      verdicts: [{ target, gate: 'Test', verdict: phase === 'Granted' ? 'Granted' : 'Waiting' }],
    }
    const permit = await this.client.get(operationPermit, { name })
    await this.defender().update(operationPermit, { ...permit, status } as OperationPermit, { subresource: 'status' })
  }

  async node(): Promise<KubeObject | undefined> {
    return this.client.get(nodeType, { name: MACHINE })
  }

  async condition(type: string): Promise<string | undefined> {
    const status = (await this.node())?.['status']
    const list = isObject(status) && Array.isArray(status['conditions']) ? status['conditions'].filter(isObject) : []
    const found = list.find((c) => c['type'] === type)
    return found === undefined ? undefined : `${String(found['status'])} ${String(found['reason'])}`
  }

  async job(name: string, operations: readonly unknown[], permit: string): Promise<void> {
    await this.client.create(remedyOperationJob, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'RemedyOperationJob',
      metadata: {
        name,
        ...(this.machineUid !== undefined && { annotations: { [ANNOTATIONS.machineUid]: this.machineUid } }),
      },
      spec: {
        machine: MACHINE,
        node: { name: MACHINE, uid: (await this.node())?.metadata.uid ?? '' },
        remedierRef: { name: 'rule', generation: 1 },
        incident: '0123456789abcdef',
        operations,
      },
    } as never)
    const value = { status: { phase: 'Running', permitRef: permit } }
    await this.client.patch(remedyOperationJob, { name }, { type: 'merge', value }, { subresource: 'status' })
  }

  async steps(name: string) {
    return (await this.client.get(remedyOperationJob, { name }))?.status?.steps ?? []
  }

  async stop(): Promise<void> {
    this.#signing.abort()
    for (const child of this.agents) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    const cleaner = this.run(this.nodeFolder, '--stop')
    if (cleaner.exitCode === null) await once(cleaner, 'exit')
    await this.close()
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** True: the server has a signer of its own. */
  protected async approve(_request: KubeObject): Promise<boolean> {
    return false
  }

  /** Approves and signs whatever is asked for, as the machine controller and the signer do for a known machine. */
  async #sign(): Promise<void> {
    while (!this.#signing.signal.aborted) {
      const { items } = await this.client.list(csrType)
      for (const request of items) {
        const { spec, status } = request as unknown as { spec: { request: string }; status?: { certificate?: string } }
        if (status?.certificate !== undefined || (await this.approve(request))) continue
        const certificate = await signed(
          this.server.authority,
          Buffer.from(spec.request, 'base64').toString(),
          this.certificateMs,
        )
        const value = { status: { certificate: Buffer.from(certificate).toString('base64') } }
        const key = { name: request.metadata.name ?? '' }
        await this.client.patch(csrType, key, { type: 'merge', value }, { subresource: 'status' })
      }
      await systemClock.sleep(20)
    }
  }
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

async function signed(authority: CertificateAuthority, requestPem: string, lifeMs: number): Promise<string> {
  const request = new x509.Pkcs10CertificateRequest(requestPem)
  const issuer = new x509.X509Certificate(authority.cert)
  const der = Buffer.from(authority.key.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
  const made = await x509.X509CertificateGenerator.create({
    serialNumber: Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString('hex'),
    subject: request.subject,
    issuer: issuer.subject,
    // Clocks of nodes sometimes lag, and a certificate that lives for seconds has no room for that.
    notBefore: new Date(Date.now() - Math.min(60_000, lifeMs / 16)),
    notAfter: new Date(Date.now() + lifeMs),
    signingAlgorithm: ALGORITHM,
    publicKey: request.publicKey,
    signingKey: await crypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign']),
    extensions: [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])],
  })
  return made.toString('pem')
}

/** Waits on a condition; says what it saw last when it does not come. */
export async function eventually<T>(
  what: string,
  read: () => Promise<T> | T,
  isGood: (value: T) => boolean,
  withinMs = 90_000,
): Promise<T> {
  const until = Date.now() + withinMs
  for (;;) {
    const value = await read()
    if (isGood(value)) return value
    if (Date.now() > until) throw new Error(`${what} did not come; the last seen was ${JSON.stringify(value)}`)
    await systemClock.sleep(25)
  }
}

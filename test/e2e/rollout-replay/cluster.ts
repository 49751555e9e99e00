// One cluster of real processes: a server (the embedded one unless another is given), controllers, Defender, and hollow agents; for replays of the simulator and for benchmarks.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HttpKubeClient } from '#kube/http/client.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { provideIdentity } from '#programs/local/identities.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { agentsLayout } from '#providers/hollow/provider.ts'
import { endAll } from '#providers/process/end.ts'
import { startedApiServer } from '#test/support/servers/apiserver-process.ts'
import { programFile } from '#test/support/tools/own-build.ts'

/** As the local fleet runs its roles: without bounds a busy process keeps garbage for as long as it may. */
const MEMORY = ['--max-old-space-size=512', '--max-semi-space-size=8']

/** With a kubeconfig of its administrator, for the agents. */
export interface ClusterServer {
  readonly url: string
  readonly ca: string
  readonly cert: string
  readonly key: string
  readonly kubeconfig: string
  /** Folder with ca.crt and ca.key, for agents that have an identity each; without it they write as the administrator. */
  readonly authority?: string
  stop(): Promise<void>
}

async function embedded(folder: string): Promise<ClusterServer> {
  const server = await startedApiServer(folder)
  const stop = async () => void (await server.end('SIGTERM'))
  return { ...server, kubeconfig: join(folder, 'admin.kubeconfig'), stop }
}

export interface ClusterOptions {
  /** Between two renewals of a hollow agent's Lease. */
  readonly lease?: string
  /** Given a folder of its own. */
  readonly startServer?: (folder: string) => Promise<ClusterServer>
}

export interface RunOptions {
  /** Called when it ends by itself. */
  readonly onEnd?: () => void
}

const ROLES = ['controllers', 'approver', 'defender'] as const
type Role = (typeof ROLES)[number]

export class ProcessCluster {
  readonly folder = mkdtempSync(join(tmpdir(), 'kubenode-rollout-'))
  readonly hollowDir = join(this.folder, 'hollow')
  readonly #roles = new Map<string, ChildProcess>()
  readonly #others: ChildProcess[] = []
  readonly #lease: string
  readonly #startServer: (folder: string) => Promise<ClusterServer>
  #server: ClusterServer | undefined
  #client: HttpKubeClient | undefined

  constructor({ lease = '10s', startServer = embedded }: ClusterOptions = {}) {
    this.#lease = lease
    this.#startServer = startServer
  }

  get client(): HttpKubeClient {
    if (this.#client === undefined) throw new Error('not started')
    return this.#client
  }

  get adminKubeconfig(): string {
    return this.#server?.kubeconfig ?? ''
  }

  async start(): Promise<void> {
    mkdirSync(this.hollowDir, { recursive: true })
    this.#server = await this.#startServer(join(this.folder, 'api'))
    const { url: server, ca, cert, key } = this.#server
    const config = { server, ca: { data: ca }, clientCertificate: { cert: { data: cert }, key: { data: key } } }
    this.#client = new HttpKubeClient(config)
    await installAll(this.#client)
    const cluster = { name: 'rollout', server, ca }
    for (const role of ROLES) await provideIdentity(this.#client, cluster, role, this.kubeconfig(role), systemClock)
    this.run('approver')
  }

  kubeconfig(role: string): string {
    return join(this.folder, `${role}.kubeconfig`)
  }

  /** Starts the program as a user would; again after `kill`. */
  run(role: Role, { onEnd }: RunOptions = {}): number {
    const own = role === 'controllers' ? ['--providers', this.#providersFile()] : []
    const args = ['run', '--roles', role, '--kubeconfig', this.kubeconfig(role), '--log-level', 'warn', ...own]
    const child = spawn(process.execPath, [...MEMORY, programFile('main'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const log = createWriteStream(join(this.folder, `${role}.log`), { flags: 'a' })
    child.stdout.pipe(log, { end: false })
    child.stderr.pipe(log, { end: false })
    this.#roles.set(role, child)
    if (onEnd !== undefined) child.once('exit', () => void (this.#roles.get(role) === child && onEnd()))
    return child.pid ?? 0
  }

  #providersFile(): string {
    const { authority } = this.#server ?? {}
    const options = {
      dir: this.hollowDir,
      kubeconfig: this.adminKubeconfig,
      lease: this.#lease,
      ...defined({ authority }),
    }
    const file = join(this.folder, 'providers.json')
    writeFileSync(file, JSON.stringify({ providers: [{ name: 'hollow', options }] }))
    return file
  }

  /** Another process of the role beside the one that runs: it leads when that one does not any more. */
  runBeside(role: Role): number {
    const first = this.#roles.get(role)
    if (first !== undefined) this.#others.push(first)
    this.#roles.delete(role)
    return this.run(role)
  }

  /** SIGKILL: the next one finds everything at the server. */
  async kill(role: Role): Promise<void> {
    const child = this.#roles.get(role)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    this.#roles.delete(role)
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  /** Lines of a role's log, of every process of it, that have the text. */
  linesWith(role: string, text: string): number {
    try {
      return readFileSync(join(this.folder, `${role}.log`), 'utf8')
        .split('\n')
        .filter((line) => line.includes(text)).length
    } catch {
      return 0
    }
  }

  log(role: string): string {
    try {
      return readFileSync(join(this.folder, `${role}.log`), 'utf8').slice(-4_000)
    } catch {
      return ''
    }
  }

  async stop(): Promise<void> {
    for (const role of ROLES) await this.kill(role)
    for (const child of this.#others) child.kill('SIGKILL')
    await endAll(agentsLayout(this.hollowDir), undefined, systemClock)
    this.#client?.close()
    await this.#server?.stop()
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Waits on a condition; says what it saw last when it does not come. */
export async function until<T>(
  what: string,
  read: () => Promise<T>,
  isGood: (value: T) => boolean,
  withinMs: number,
): Promise<T> {
  const end = systemClock.monotonic() + withinMs
  for (;;) {
    const value = await read()
    if (isGood(value)) return value
    if (systemClock.monotonic() > end)
      throw new Error(`${what} did not come; the last seen was ${JSON.stringify(value)}`)
    await systemClock.sleep(100)
  }
}

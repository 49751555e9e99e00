// The programs of one cluster as an operator runs them: sync, controllers, approver and Defender, and the provider on its socket, which alone has the key of the
// cloud. Each can be killed at any time and is started again, as a kubelet does.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { provideIdentity } from '#programs/local/identities.ts'
import { GitFolder } from '#test/support/benches/sync-bench.ts'
import { type SyncProgram, syncProgramAt } from '#test/support/benches/sync-program.ts'
import { type ServerProcess, startedApiServer } from '#test/support/servers/apiserver-process.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { CLUSTER, KEY } from '#test/doubles/clouds/worlds.ts'
import { until } from '#test/support/tools/processes.ts'
import type { Cloud } from './cloud.ts'
import { programFile } from '#test/support/tools/own-build.ts'

const MEMORY = ['--max-old-space-size=512', '--max-semi-space-size=8']
const AGAIN_MS = 1_000
/** What each logs once it serves or leads. */
const AT_WORK = /"(serving providers|role is running)"/
const START_MS = 240_000

const ROLES = ['controllers', 'approver', 'defender'] as const
export type Program = (typeof ROLES)[number] | 'provider'

export class Programs {
  readonly folder = mkdtempSync(join(tmpdir(), 'kubenode-day-'))
  readonly repository = new GitFolder()
  readonly kills: Record<Program, number> = { controllers: 0, approver: 0, defender: 0, provider: 0 }
  readonly #running = new Map<Program, ChildProcess>()
  /** Those that have begun their work since they were started. */
  readonly #atWork = new Set<ChildProcess>()
  readonly #cloud: Cloud
  #again = true
  #server: ServerProcess | undefined
  #client: HttpKubeClient | undefined
  #sync: SyncProgram | undefined

  constructor(cloud: Cloud) {
    this.#cloud = cloud
  }

  get client(): HttpKubeClient {
    if (this.#client === undefined) throw new Error('not started')
    return this.#client
  }

  get adminKubeconfig(): string {
    return join(this.folder, 'api/admin.kubeconfig')
  }

  async start(): Promise<void> {
    const { vendor, url } = this.#cloud
    this.#server = await startedApiServer(join(this.folder, 'api'))
    const { url: server, ca, cert, key } = this.#server
    this.#client = new HttpKubeClient({
      server,
      ca: { data: ca },
      clientCertificate: { cert: { data: cert }, key: { data: key } },
    })
    await installAll(this.#client)
    for (const role of ROLES)
      await provideIdentity(this.#client, { name: 'own', server, ca }, role, this.#kubeconfig(role), systemClock)
    mkdirSync(join(this.folder, 'socket'), { mode: 0o700 })
    const options = { region: vendor.region, cluster: CLUSTER, endpoint: url }
    this.#write('of-the-provider.json', { providers: [{ name: vendor.name, options }] })
    const remote = { name: vendor.name, socket: this.#socket }
    this.#write('of-the-controllers.json', { providers: [{ name: 'remote', options: remote }] })
    const all = ['provider', ...ROLES] as const
    for (const program of all) this.#run(program)
    await until('all programs are at work', () => all.every((p) => this.isAtWork(p)) || undefined, START_MS)
  }

  startSync(): void {
    const kubeconfig = readFileSync(this.adminKubeconfig, 'utf8')
    this.#sync = syncProgramAt({ kubeconfig, repository: this.repository.dir })
    this.#sync.start()
  }

  get #socket(): string {
    return join(this.folder, 'socket/s')
  }

  #kubeconfig(role: string): string {
    return join(this.folder, `${role}.kubeconfig`)
  }

  #write(file: string, content: object): void {
    writeFileSync(join(this.folder, file), JSON.stringify(content), { mode: 0o600 })
  }

  #argumentsOf(program: Program): readonly string[] {
    if (program === 'provider')
      return [
        'provider',
        'serve',
        '--providers',
        join(this.folder, 'of-the-provider.json'),
        '--name',
        this.#cloud.vendor.name,
        '--socket',
        this.#socket,
      ]
    const own = [
      '--providers',
      join(this.folder, 'of-the-controllers.json'),
      '--artifact-base',
      'https://artifacts.example/',
      '--artifact-ca',
      join(this.folder, 'api/pki/ca.crt'),
      '--join-script',
      'a'.repeat(64),
    ]
    return [
      'run',
      '--roles',
      program,
      '--kubeconfig',
      this.#kubeconfig(program),
      '--cluster',
      'own',
      ...(program === 'controllers' ? own : []),
    ]
  }

  #run(program: Program): void {
    const keys = { AWS_ACCESS_KEY_ID: KEY.id, AWS_SECRET_ACCESS_KEY: KEY.secret }
    const child = spawn(process.execPath, [...MEMORY, programFile('main'), ...this.#argumentsOf(program)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: this.folder,
      // The key of the cloud is the provider's alone.
      env: { PATH: process.env['PATH'], HOME: this.folder, ...(program === 'provider' && keys) },
    })
    const log = createWriteStream(join(this.folder, `${program}.log`), { flags: 'a' })
    child.stdout.pipe(log, { end: false })
    child.stderr.pipe(log, { end: false })
    this.#running.set(program, child)
    createInterface({ input: child.stderr }).on('line', (line) => void (AT_WORK.test(line) && this.#atWork.add(child)))
    child.once('exit', () => {
      this.#atWork.delete(child)
      if (this.#again && this.#running.get(program) === child)
        setTimeout(() => this.#again && this.#run(program), AGAIN_MS)
    })
  }

  /** On a busy machine a start may take longer than the time between two kills. */
  isAtWork(program: Program): boolean {
    const child = this.#running.get(program)
    return child !== undefined && this.#atWork.has(child)
  }

  /** SIGKILL; the program begins again a second later. */
  kill(program: Program): void {
    const child = this.#running.get(program)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    this.kills[program]++
    child.kill('SIGKILL')
  }

  /** SIGSTOP: it takes calls and answers none until it continues. */
  pause(program: Program): { resume(): void } {
    const child = this.#running.get(program)
    child?.kill('SIGSTOP')
    return { resume: () => void child?.kill('SIGCONT') }
  }

  /** All that it printed, in every life. */
  said(program: Program): string {
    try {
      return readFileSync(join(this.folder, `${program}.log`), 'utf8')
    } catch {
      return ''
    }
  }

  saidBySync(): string {
    return this.#sync?.printed() ?? ''
  }

  async close(): Promise<void> {
    this.#again = false
    await this.#sync?.close()
    for (const child of this.#running.values()) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
    this.#client?.close()
    await this.#server?.end('SIGTERM')
    this.repository.remove()
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

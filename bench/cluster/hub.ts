// A hub as processes: an API server that hosts control planes too, the Defender, and the role `cluster`, each with its own identity.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { hostedAccount, type HostedProgram } from '#api/names.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { systemClock } from '#lib/system-clock.ts'
import { provideIdentity } from '#programs/local/identities.ts'
import { installAll } from '#test/support/servers/installed.ts'

const KUBENODE = resolve(import.meta.dirname, '../../bin/kubenode')
const ROLES = ['cluster', 'defender'] as const

export interface Hub {
  readonly client: HttpKubeClient
  /** The process that hosts all control planes, and the API server of the hub itself. */
  readonly hostPid: number
  /** Folders of control planes on disk. */
  folders(): readonly string[]
  /** Starts one replica of role hosted. */
  startHosted(program: HostedProgram, options: readonly string[]): Promise<ChildProcess>
  /** Last lines of the programs, for errors. */
  said(): string
  stop(): Promise<void>
}

/** With the folder of the programs of Kubernetes, control planes are those. */
export async function startHub(programs?: string, hostsPrograms = false): Promise<Hub> {
  const root = mkdtempSync(join(tmpdir(), 'kubenode-bench-cluster-'))
  const [planes, socket, log] = [join(root, 'planes'), join(root, 'control.sock'), join(root, 'log')]
  const children: ChildProcess[] = []
  const start = (args: readonly string[]): ChildProcess => {
    const child = spawn(KUBENODE, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const to = createWriteStream(log, { flags: 'a' })
    child.stderr?.pipe(to)
    children.push(child)
    return child
  }
  const said = () => (existsSync(log) ? readFileSync(log, 'utf8').slice(-4_000) : '')
  const places = ['--control-planes', planes, '--control-socket', socket]
  if (programs !== undefined) places.push('--programs', programs)
  const host = start(['apiserver', '--data', join(root, 'hub'), '--port', '0', ...places])
  const kubeconfig = await firstLine(host, said)
  const { config } = parseSafeKubeconfig(readFileSync(kubeconfig, 'utf8'), kubeconfig)
  const client = new HttpKubeClient(config, { userAgent: 'bench' })
  await installAll(client)
  const ca = config.ca !== undefined && 'data' in config.ca ? config.ca.data : ''
  for (const role of ROLES) {
    const file = join(root, `${role}.kubeconfig`)
    await provideIdentity(client, { name: 'hub', server: config.server, ca }, role, file, systemClock)
    const hosts = hostsPrograms ? ['--host-programs'] : []
    const own = role === 'cluster' ? ['--control-planes', socket, ...hosts] : ['--hub']
    start([
      'run',
      '--roles',
      role,
      '--cluster',
      'hub',
      '--kubeconfig',
      file,
      '--log-level',
      'warn',
      ...own,
    ]).stdout?.resume()
  }
  return {
    client,
    hostPid: host.pid ?? 0,
    folders: () => (existsSync(planes) ? readdirSync(planes).filter((name) => name !== '.kept') : []),
    said,
    async startHosted(program, options) {
      const file = join(root, `hosted-${program}.kubeconfig`)
      await provideIdentity(
        client,
        { name: 'hub', server: config.server, ca },
        hostedAccount(program),
        file,
        systemClock,
      )
      const own = ['--hosted', program, '--cluster', 'hub', '--kubeconfig', file, '--log-level', 'warn']
      const child = start(['run', '--roles', 'hosted', ...own, ...options])
      child.stdout?.resume()
      return child
    },
    async stop() {
      client.close()
      for (const child of children.toReversed()) {
        if (child.exitCode !== null || child.signalCode !== null) continue
        const ended = once(child, 'exit')
        child.kill('SIGTERM')
        await ended
      }
      rmSync(root, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

const firstLine = (child: ChildProcess, said: () => string): Promise<string> =>
  new Promise((done, fail) => {
    let text = ''
    child.stdout?.on('data', (data: Buffer) => {
      text += data.toString()
      if (text.includes('\n')) done(text.split('\n', 1)[0] ?? '')
    })
    child.once('exit', (code) => fail(new Error(`the server ended with ${code}: ${said()}`)))
  })

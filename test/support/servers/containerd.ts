// A containerd of the test's own, with folders of its own, that runs containers as the kubelet would run our pods.
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { until } from '../tools/processes.ts'

const run = promisify(execFile)
const NAMESPACE = 'k8s.io'
/** What containerd gives by default, and our pods drop. */
const CAPABILITIES =
  'CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE'
/** An emptyDir in memory, as the kubelet makes it for a pod with a group of its own. */
const emptyDir = (path: string, megabytes = 96): string =>
  `type=tmpfs,src=tmpfs,dst=${path},options=rw:nosuid:nodev:mode=2777:gid=65532:size=${megabytes}m`

/** Undefined where containers can be run; else why they cannot. */
export function whyNoContainers(): string | undefined {
  if (process.getuid?.() !== 0) return 'containers are started by root'
  const missing = ['/usr/bin/containerd', '/usr/bin/ctr', '/usr/sbin/runc'].filter((file) => !existsSync(file))
  return missing.length === 0 ? undefined : `${missing.join(', ')} is not installed here`
}

export interface ContainerOptions {
  readonly image: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Folders of this host, read-only, by their place inside. */
  readonly folders?: Readonly<Record<string, string>>
  /** Folders of this host that it may write to, such as a volume or what two containers of a pod share. */
  readonly volumes?: Readonly<Record<string, string>>
  /** Empty folders that it may write to, beside /tmp. */
  readonly empty?: readonly string[]
}

export interface Container {
  readonly output: () => string
  readonly kill: (signal: 'SIGTERM' | 'SIGKILL') => Promise<void>
  /** Exit code. */
  readonly ended: Promise<number | null>
}

export class PrivateContainerd {
  readonly folder: string
  readonly address: string
  readonly #process: ChildProcess
  readonly #containers = new Map<string, Container>()

  private constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'kubenode-containerd-'))
    this.address = join(this.folder, 'containerd.sock')
    const config = join(this.folder, 'config.toml')
    const disabled = [
      'grpc.v1.cri',
      'snapshotter.v1.aufs',
      'snapshotter.v1.btrfs',
      'snapshotter.v1.devmapper',
      'snapshotter.v1.zfs',
    ]
    writeFileSync(
      config,
      `version = 2
root = ${JSON.stringify(join(this.folder, 'root'))}
state = ${JSON.stringify(join(this.folder, 'state'))}
disabled_plugins = ${JSON.stringify(disabled.map((name) => `io.containerd.${name}`))}
[grpc]
address = ${JSON.stringify(this.address)}
[ttrpc]
address = ${JSON.stringify(`${this.address}.ttrpc`)}
`,
    )
    mkdirSync(join(this.folder, 'state'))
    this.#process = spawn('/usr/bin/containerd', ['--config', config], { stdio: 'ignore' })
  }

  static async start(): Promise<PrivateContainerd> {
    const started = new PrivateContainerd()
    try {
      await until('containerd answers', async () => (await started.#ctr('version')) !== '', 30_000)
    } catch (e) {
      await started.stop()
      throw e
    }
    return started
  }

  async #ctr(...args: readonly string[]): Promise<string> {
    return (await run('/usr/bin/ctr', ['--address', this.address, '--namespace', NAMESPACE, ...args])).stdout
  }

  /** With the security context of our pods: user of the image, read-only root, no new privileges, no capabilities, default seccomp, /tmp in memory. */
  run(name: string, { image, args, env = {}, folders = {}, volumes = {}, empty = [] }: ContainerOptions): Container {
    const flags = [
      '--rm',
      '--read-only',
      '--net-host',
      '--seccomp',
      ...CAPABILITIES.split(' ').flatMap((c) => ['--cap-drop', `CAP_${c}`]),
      ...[emptyDir('/tmp', 16), ...empty.map((path) => emptyDir(path))].flatMap((mount) => ['--mount', mount]),
      ...Object.entries(folders).flatMap(([to, from]) => [
        '--mount',
        `type=bind,src=${from},dst=${to},options=rbind:ro`,
      ]),
      ...Object.entries(volumes).flatMap(([to, from]) => [
        '--mount',
        `type=bind,src=${from},dst=${to},options=rbind:rw`,
      ]),
      ...Object.entries(env).flatMap(([key, value]) => ['--env', `${key}=${value}`]),
    ]
    const command = ['--address', this.address, '--namespace', NAMESPACE, 'run', ...flags, image, name, ...args]
    const child = spawn('/usr/bin/ctr', command, { stdio: ['ignore', 'pipe', 'pipe'] })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
    const container: Container = {
      output: () => text,
      kill: async (signal) => void (await this.#ctr('tasks', 'kill', '--signal', signal, name)),
      ended: new Promise((done) => child.once('close', (code) => done(code))),
    }
    this.#containers.set(name, container)
    return container
  }

  async stop(): Promise<void> {
    for (const container of this.#containers.values()) await container.kill('SIGKILL').catch(() => undefined)
    await Promise.all([...this.#containers.values()].map((c) => c.ended))
    const ended = new Promise((done) => this.#process.once('exit', done))
    if (this.#process.exitCode === null && this.#process.kill('SIGTERM')) await ended
    rmSync(this.folder, { recursive: true, force: true })
  }
}

// One machine with a real systemd as its first process, over a shared Debian tree; its changes are its own and are deleted with it.
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import { basename, join } from 'node:path'
import { geteuid, kill } from 'node:process'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { treePath } from '#providers/nspawn/tree.ts'

/** Where the nspawn provider keeps the trees that it makes once by debootstrap. */
const TREES = '/var/lib/kubenode/trees'
/** Not /tmp: an overlay cannot lie on another one. */
const PLACE = '/var/tmp'
/** Of the first hierarchy of control groups; those with one hierarchy need nothing. */
const CONTROLLERS = ['cpu', 'cpuacct', 'cpuset', 'memory', 'devices', 'freezer', 'blkio', 'pids', 'systemd']
const CGROUP = '/sys/fs/cgroup'
const REBOOTS = 133
/** Twenty machines that unpack programs share two cores. */
const BOOT_MS = 300_000
const LOOK_MS = 200
const ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' }

const tree = (): string | undefined =>
  [basename(treePath({ cache: TREES, log: silentLogger })), ...(existsSync(TREES) ? readdirSync(TREES) : [])]
    .filter((name) => !name.includes('.building'))
    .map((name) => join(TREES, name))
    .find((path) => existsSync(join(path, 'usr/lib/systemd/systemd')))

/** Why there can be none here; undefined when there can. */
export function noMachines(): string | undefined {
  if (geteuid?.() !== 0) return 'machines need root'
  if (spawnSync('systemd-nspawn', ['--version'], { stdio: 'ignore' }).error !== undefined)
    return 'systemd-nspawn is not installed'
  if (tree() === undefined) return `there is no Debian tree in ${TREES} yet`
  return undefined
}

export interface HostOptions {
  readonly name?: string
  /** A network namespace with a bridge, in place of the network of this host; its link to the bridge is `host0`. */
  readonly network?: { readonly namespace: string; readonly bridge: string }
  /** As `ours:theirs`; the machine may write them. */
  readonly writable?: readonly string[]
  /** Called before each boot after the first. */
  readonly onReboot?: () => void
}

export class HostMachine {
  readonly folder = mkdtempSync(join(PLACE, 'kn-agent-host-'))
  readonly root = join(this.folder, 'root')
  readonly #binds: readonly string[]
  readonly #options: HostOptions
  #child: ChildProcess | undefined
  #isOver = false
  /** A test ended it on purpose. */
  #isCut = false

  /** `binds`: folders of this host that the machine reads, as `ours:theirs`. */
  constructor(binds: readonly string[], options: HostOptions = {}) {
    this.#binds = binds
    this.#options = options
    for (const name of ['upper', 'work', 'root']) mkdirSync(join(this.folder, name))
    const layers = `lowerdir=${tree()},upperdir=${join(this.folder, 'upper')},workdir=${join(this.folder, 'work')}`
    execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', layers, this.root])
    for (const path of ['etc/machine-id', 'etc/hostname']) rmSync(join(this.root, path), { force: true })
    writeFileSync(join(this.root, 'etc/hostname'), `${options.name ?? 'agent-host'}\n`)
    writeFileSync(join(this.root, 'etc/machine-id'), `${crypto.randomUUID().replaceAll('-', '')}\n`)
  }

  get #name(): string {
    return this.folder.split('/').at(-1) ?? ''
  }

  async boot(): Promise<void> {
    const log = openSync(join(this.folder, 'console.log'), 'a')
    // The shell enters its own control groups first; what it becomes inherits them.
    const groups = CONTROLLERS.filter((c) => existsSync(join(CGROUP, c))).map((c) => this.#group(c))
    const enter = groups.map((g) => `echo $$ > ${g}/cgroup.procs`).join('; ')
    const { network, writable = [] } = this.#options
    const nspawn = [
      ...(network === undefined ? [] : ['nsenter', `--net=${network.namespace}`]),
      'systemd-nspawn',
      '-D',
      this.root,
      `--machine=${this.#name.slice(-20)}`,
      '--register=no',
      '--keep-unit',
      '--boot',
      '--console=pipe',
      '--capability=all',
      // What shares our network, to reach our server, must not change it.
      network === undefined ? '--drop-capability=CAP_NET_ADMIN' : `--network-bridge=${network.bridge}`,
      '--system-call-filter=@keyring bpf',
      ...this.#binds.map((b) => `--bind-ro=${b}`),
      ...writable.map((b) => `--bind=${b}`),
    ]
    const child = spawn('sh', ['-c', `${enter}; exec "$@"`, 'sh', ...nspawn], { stdio: ['ignore', log, log] })
    this.#child = child
    this.#isCut = false
    child.once('exit', (code) => {
      if (code !== REBOOTS || this.#isOver) return
      this.#options.onReboot?.()
      void this.boot()
    })
    const deadline = systemClock.monotonic() + BOOT_MS
    // A machine that reboots while it comes up is started again by its exit.
    const hasEnded = (): boolean => child.signalCode !== null || ![null, REBOOTS].includes(child.exitCode)
    while (!hasEnded() && systemClock.monotonic() < deadline) {
      const state = (await this.runAside('systemctl', 'is-system-running')).out.trim()
      if (state === 'running' || state === 'degraded') return this.#openGroups()
      await systemClock.sleep(LOOK_MS)
    }
    if (this.#isCut) return
    const end = child.exitCode ?? child.signalCode ?? `not up after ${BOOT_MS / 1_000} s`
    throw new Error(
      `the machine does not come up (${end}): ${readFileSync(join(this.folder, 'console.log'), 'utf8').slice(-2_000)}`,
    )
  }

  run(...command: readonly string[]): { readonly code: number; readonly out: string } {
    const leader = this.leader()
    if (leader === undefined) return { code: -1, out: 'it is not running' }
    const { status, stdout, stderr } = spawnSync('nsenter', ['-t', String(leader), '-a', ...command], {
      encoding: 'utf8',
      timeout: 60_000,
      env: ENVIRONMENT,
    })
    return { code: status ?? -1, out: `${stdout}${stderr}` }
  }

  /** For a command that asks this process for something. */
  async runAside(...command: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
    const leader = this.leader()
    if (leader === undefined) return { code: -1, out: 'it is not running' }
    const child = spawn('nsenter', ['-t', String(leader), '-a', ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 240_000,
      env: ENVIRONMENT,
    })
    let out = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (s: string) => (out += s))
    const [code] = (await once(child, 'close')) as [number | null]
    return { code: code ?? -1, out }
  }

  /** Nothing is shut down. `boot` starts the machine again from its disk. */
  async cutPower(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    this.#isCut = true
    const ended = new Promise((resolve) => child.once('exit', resolve))
    // With its first process everything in it ends; without nspawn alone nothing would.
    const leader = this.leader()
    if (leader === undefined) child.kill('SIGKILL')
    else kill(leader, 'SIGKILL')
    await ended
  }

  async remove(): Promise<void> {
    this.#isOver = true
    await this.cutPower()
    for (
      let n = 0;
      n < 50 && spawnSync('umount', ['-R', this.root]).status !== 0 && existsSync(join(this.root, 'etc'));
      n++
    )
      await systemClock.sleep(100)
    rmSync(this.folder, { recursive: true, force: true })
    for (const c of CONTROLLERS) removeGroups(join(CGROUP, c, this.#name))
  }

  /** The first process of the machine, as we see it. */
  leader(): number | undefined {
    const nspawn = this.#child?.pid
    if (nspawn === undefined || this.#child?.exitCode !== null) return undefined
    const children = readdirSync('/proc').filter((p) => /^\d+$/.test(p) && parentOf(p) === nspawn)
    return children.length === 0 ? undefined : Number(children[0])
  }

  #group(controller: string): string {
    const folder = join(CGROUP, controller, this.#name)
    mkdirSync(folder, { recursive: true })
    if (controller === 'cpuset')
      for (const file of ['cpuset.cpus', 'cpuset.mems'])
        writeFileSync(join(folder, file), readFileSync(join(CGROUP, 'cpuset', file)))
    return folder
  }

  /** Runtimes of containers make control groups of their own. */
  #openGroups(): void {
    for (const c of CONTROLLERS.slice(0, -1)) this.run('mount', '-o', 'remount,bind,rw', join(CGROUP, c))
  }
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}

function removeGroups(folder: string): void {
  if (!existsSync(folder)) return
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroups(join(folder, entry.name))
  try {
    rmdirSync(folder)
  } catch {
    // Something in it ends just now; an empty group costs nothing.
  }
}

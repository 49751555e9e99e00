// One systemd machine on this host: its overlay, its start, its end, and whether it runs. Makes no decisions.
import { randomUUID } from 'node:crypto'
import { mkdir, open, readFile, readdir, rename, rmdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { NODE_MARK, type ProcessId, type ProcessInfo, isAlive, processes, signalExactly } from '../process/proc.ts'
import { startDetached } from '../process/start-detached.ts'
import { AGENT_DIR, type MachineLayout } from './layout.ts'
import { REACH_INSIDE, SOCKET, UNIT, reachUnits } from './reach.ts'
import { run } from './run.ts'
import { providersErrors } from '../providers-errors.ts'

export interface Mounted {
  readonly from: string
  readonly to: string
}

export interface MachineSpec {
  readonly tree: string
  /** Visible inside, never written to. */
  readonly readOnly: readonly Mounted[]
  /** All capabilities except those over the host's clock and kernel: for container runtimes and kubelets. */
  readonly isPrivileged: boolean
  /** With its own network, the machine reaches only this address of the host's loopback; without it, it shares the host's network. */
  readonly reaches?: string
}

const SUPERVISOR = join(releaseRoot(), 'src/providers/nspawn/boot.sh')
const MOST_CONSOLE_BYTES = 8 * 2 ** 20

async function isMounted(path: string): Promise<boolean> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8')
  return mounts.split('\n').some((line) => line.split(' ')[4] === path.replaceAll(' ', '\\040'))
}

/** Colons, commas and backslashes have a meaning in overlay options. */
const MOUNTABLE = /^[^\s:,\\]+$/

async function mountRoot({ upper, work, root }: MachineLayout, tree: string): Promise<void> {
  if (![tree, upper, work, root].every((p) => MOUNTABLE.test(p)))
    throw new KubeNodeError(providersErrors.KN11022({ root }))
  if (await isMounted(root)) return
  await run('mount', ['-t', 'overlay', 'overlay', '-o', `lowerdir=${tree},upperdir=${upper},workdir=${work}`, root])
}

/**
 * A lazy unmount, in case another process still has files open inside: the mount ends when the last one closes. A predecessor that is still running may unmount
 * it first.
 */
export async function unmountRoot({ root }: Pick<MachineLayout, 'root'>): Promise<void> {
  while (await isMounted(root))
    await run('umount', ['-l', root]).catch(async (error: unknown) => {
      if (await isMounted(root)) throw error
    })
}

export interface UnitOptions {
  readonly exec: readonly string[]
}

const quoted = (word: string): string =>
  `"${word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%')}"`

/** An agent that exits with 75 requests a reboot of the machine. */
const unitText = ({ exec }: UnitOptions): string => `[Unit]
Description=KubeNode agent
After=local-fs.target
StartLimitIntervalSec=0

[Service]
ExecStart=${exec.map(quoted).join(' ')}
Restart=always
RestartSec=1
KillMode=process
ExecStopPost=/bin/sh -c 'if [ "$$EXIT_STATUS" = 75 ]; then exec systemctl reboot; fi'

[Install]
WantedBy=multi-user.target
`

/** Written into the machine's own layer before it boots. */
export async function furnish({ upper, hostName }: MachineLayout, unit: UnitOptions | undefined): Promise<void> {
  const units = join(upper, 'etc/systemd/system')
  await mkdir(join(units, 'multi-user.target.wants'), { recursive: true, mode: 0o755 })
  await writeFile(join(upper, 'etc/hostname'), `${hostName}\n`)
  // By default systemd derives it from this host's identity, the same for every machine.
  await writeFile(join(upper, 'etc/machine-id'), `${randomUUID().replaceAll('-', '')}\n`)
  const folder = join(upper, AGENT_DIR)
  // Other users' programs are below it; its secrets have their own modes.
  await mkdir(folder, { recursive: true, mode: 0o755 })
  if (unit === undefined) return
  await writeFile(join(units, 'kubenode-agent.service'), unitText(unit))
  const wants = join(units, 'multi-user.target.wants/kubenode-agent.service')
  await symlink('../kubenode-agent.service', wants).catch(ignoreExisting)
}

function ignoreExisting(e: unknown): void {
  if (!(e instanceof Error && 'code' in e && e.code === 'EEXIST')) throw e
}

/** Called before the machine's first boot. */
export async function furnishReach({ upper }: MachineLayout, address: string): Promise<void> {
  const units = join(upper, 'etc/systemd/system')
  const wants = join(units, 'sockets.target.wants')
  await mkdir(wants, { recursive: true, mode: 0o755 })
  for (const [name, text] of Object.entries(reachUnits(address))) await writeFile(join(units, name), text)
  await symlink(`../${UNIT}.socket`, join(wants, `${UNIT}.socket`)).catch(ignoreExisting)
}

/** If it shares the host's network, it may not change that network unless privileged. */
function nspawnArguments(
  { root, hostName, containerd, kubelet, reach }: MachineLayout,
  spec: MachineSpec,
): readonly string[] {
  const wide = [
    '--capability=all',
    '--drop-capability=CAP_SYS_TIME,CAP_SYS_MODULE',
    '--system-call-filter=@keyring bpf',
  ]
  return [
    '--quiet',
    `--directory=${root}`,
    `--machine=${hostName}`,
    '--register=no',
    '--keep-unit',
    '--boot',
    '--console=pipe',
    '--resolv-conf=copy-host',
    '--timezone=off',
    '--bind=/dev/kmsg',
    `--bind=${containerd}:/var/lib/containerd`,
    `--bind=${kubelet}:/var/lib/kubelet`,
    ...spec.readOnly.map(({ from, to }) => `--bind-ro=${from}:${to}`),
    ...(spec.isPrivileged ? wide : []),
    ...(spec.reaches === undefined ? [] : ['--private-network', `--bind-ro=${reach}:${REACH_INSIDE}`]),
  ]
}

/** Starts the supervisor, which outlives this process. */
export async function startMachine(machine: MachineLayout, spec: MachineSpec): Promise<ProcessId> {
  await mountRoot(machine, spec.tree)
  const size = await stat(machine.console).then(
    (s) => s.size,
    () => 0,
  )
  if (size > MOST_CONSOLE_BYTES) await rename(machine.console, `${machine.console}.1`)
  const console = await open(machine.console, 'a', 0o600)
  try {
    const door = spec.reaches === undefined ? ['', ''] : [join(machine.reach, SOCKET), spec.reaches]
    const program = ['systemd-nspawn', ...nspawnArguments(machine, spec)]
    const args = [SUPERVISOR, machine.group, machine.exitStatus, ...door, ...program]
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8', [NODE_MARK]: machine.dir }
    const id = await startDetached('/bin/sh', args, { cwd: '/', env, log: console.fd })
    if (id !== undefined) return id
  } finally {
    await console.close()
  }
  throw new KubeNodeError(providersErrors.KN11002_supervisor({ dir: machine.dir, console: machine.console }), {
    retry: 'later',
  })
}

/** Finds this machine's supervisor, even one that was started but never recorded. */
export async function findSupervisor(
  { group }: MachineLayout,
  recorded: ProcessId | undefined,
): Promise<ProcessId | undefined> {
  if (recorded !== undefined && (await isAlive(recorded))) return recorded
  const found = (await processes()).find(({ args }) => args[1] === SUPERVISOR && args[2] === group)
  return found && { pid: found.pid, startTime: found.startTime }
}

const childOf = (all: readonly ProcessInfo[], parent: number, isIt: (p: ProcessInfo) => boolean) =>
  all.find((p) => p.parent === parent && isIt(p))

/** PID 1 of the machine, numbered by this host; undefined until it has its own root. */
export async function leaderOf(supervisor: ProcessId): Promise<ProcessId | undefined> {
  const all = await processes()
  const nspawn = childOf(all, supervisor.pid, ({ args }) => args[0]?.endsWith('systemd-nspawn') === true)
  const leader = nspawn && childOf(all, nspawn.pid, ({ args }) => /\/(init|systemd)$/.test(args[0] ?? ''))
  return leader && { pid: leader.pid, startTime: leader.startTime }
}

const BOOT_ID = '/proc/sys/kernel/random/boot_id'
const readId = (path: string): Promise<string> => readFile(path, 'utf8').then((text) => text.trim())

/** Undefined while it equals the host's: the machine has no kernel settings of its own yet. */
export async function bootIdOf(leader: ProcessId): Promise<string | undefined> {
  const [own, host] = await Promise.all([
    readId(`/proc/${leader.pid}/root${BOOT_ID}`).catch(() => undefined),
    readId(BOOT_ID),
  ])
  return own === host ? undefined : own
}

/** Runs a program inside. */
export const runIn = (
  leader: ProcessId,
  argv: readonly string[],
  options?: Parameters<typeof run>[2],
): Promise<string> => run('nsenter', ['--target', String(leader.pid), '--all', '--', ...argv], options)

const ENDS_WITHIN_MS = 10_000
const POLL_MS = 25

/** Like a power cut: kill the supervisor first, so that it cannot restart the machine, then PID 1 and everything inside. */
export async function cutPower(
  machine: MachineLayout,
  supervisor: ProcessId | undefined,
  clock: Clock,
  onPowerOff: () => Promise<void>,
): Promise<'Off' | 'Left'> {
  const leader = supervisor && (await leaderOf(supervisor))
  if (supervisor !== undefined) await signalExactly(supervisor, 'SIGKILL')
  if (leader !== undefined) await signalExactly(leader, 'SIGKILL')
  // A process stuck in the kernel ends only when its cause ends, as with a real power cut.
  await onPowerOff()
  for (let waited = 0; waited < ENDS_WITHIN_MS; waited += POLL_MS) {
    const left = await membersOf(machine)
    if (left.length === 0) return 'Off'
    for (const pid of left) killNow(pid)
    await clock.sleep(POLL_MS)
  }
  return 'Left'
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It exited meanwhile.
  }
}

const GROUPS = '/sys/fs/cgroup'

/** Its control groups, in each hierarchy of this host. */
async function groupFolders({ group }: MachineLayout): Promise<readonly string[]> {
  const inner = (await readdir(GROUPS)).map((c) => join(GROUPS, c, group))
  const all = [join(GROUPS, group), ...inner]
  const found = await Promise.all(
    all.map(async (p) => ((await stat(p).catch(() => undefined))?.isDirectory() ? [p] : [])),
  )
  return found.flat()
}

async function below(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const inner = await Promise.all(entries.filter((e) => e.isDirectory()).map((e) => below(join(folder, e.name))))
  return [...inner.flat(), folder]
}

/** Everything in its control groups, by this host's pids. */
async function membersOf(machine: MachineLayout): Promise<readonly number[]> {
  const folders = (await Promise.all((await groupFolders(machine)).map(below))).flat()
  const texts = await Promise.all(folders.map((f) => readFile(join(f, 'cgroup.procs'), 'utf8').catch(() => '')))
  return [
    ...new Set(
      texts.flatMap((t) =>
        t
          .split('\n')
          .filter((line) => line !== '')
          .map(Number),
      ),
    ),
  ].filter((p) => p > 0)
}

export async function removeGroups(machine: MachineLayout): Promise<void> {
  for (const folder of await groupFolders(machine))
    for (const one of await below(folder)) await rmdir(one).catch(() => undefined)
}

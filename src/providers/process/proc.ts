// This machine's processes from /proc: which are alive, which are still the same process, and which belong to a node. A pid may be reused; a pid with its start
// time is unique.
import { readdir, readFile, readlink } from 'node:fs/promises'
import { sep } from 'node:path'

export interface ProcessId {
  readonly pid: number
  /** Ticks since this machine's boot, with the boot's id: unique for every process ever. */
  readonly startTime: string
}

export interface ProcessInfo extends ProcessId {
  readonly parent: number
  readonly group: number
  readonly hasTerminal: boolean
  readonly args: readonly string[]
  readonly env: readonly string[]
  readonly cwd: string | undefined
  readonly exe: string | undefined
}

/** Set for every process that the provider starts for a node, and inherited by its children. */
export const NODE_MARK = 'KUBENODE_NODE_DIR'
const MARKS = 'KUBENODE_'

interface Stat {
  readonly state: string
  readonly parent: number
  readonly group: number
  readonly terminal: number
  readonly ticks: string
}

/** The command's name may contain spaces and parentheses, so count fields from the last `)`. */
export function parseStat(text: string): Stat | undefined {
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .trim()
    .split(' ')
  const [state, parent, group, , terminal] = fields
  const ticks = fields[19]
  if (state === undefined || ticks === undefined) return undefined
  return { state, parent: Number(parent), group: Number(group), terminal: Number(terminal), ticks }
}

/** A read of a process that exited meanwhile gives undefined. */
const orUndefined = <T>(reading: Promise<T>): Promise<T | undefined> => reading.catch(() => undefined)

async function statOf(pid: number): Promise<Stat | undefined> {
  const text = await orUndefined(readFile(`/proc/${pid}/stat`, 'latin1'))
  const stat = text === undefined ? undefined : parseStat(text)
  // A zombie has exited; its parent has not reaped it yet.
  return stat === undefined || stat.state === 'Z' || stat.state === 'X' ? undefined : stat
}

const bootOfMachine = (): Promise<string> =>
  readFile('/proc/sys/kernel/random/boot_id', 'latin1').then((text) => text.trim())

const startTimeOf = async (stat: Stat): Promise<string> => `${await bootOfMachine()}/${stat.ticks}`

/** The identity of a running process. */
export async function identify(pid: number): Promise<ProcessId | undefined> {
  const stat = await statOf(pid)
  return stat && { pid, startTime: await startTimeOf(stat) }
}

export async function isAlive(id: ProcessId): Promise<boolean> {
  return (await identify(id.pid))?.startTime === id.startTime
}

/** Signals exactly this process; false if it has exited. */
export async function signalExactly(id: ProcessId, signal: NodeJS.Signals): Promise<boolean> {
  if (!(await isAlive(id))) return false
  try {
    return process.kill(id.pid, signal)
  } catch {
    return false
  }
}

async function infoOf(pid: number, boot: string): Promise<ProcessInfo | undefined> {
  const stat = await statOf(pid)
  if (stat === undefined) return undefined
  const words = (text: string | undefined) => (text ?? '').split('\0').filter((w) => w !== '')
  const [args, env, cwd, exe] = await Promise.all([
    orUndefined(readFile(`/proc/${pid}/cmdline`, 'utf8')),
    orUndefined(readFile(`/proc/${pid}/environ`, 'utf8')),
    orUndefined(readlink(`/proc/${pid}/cwd`)),
    orUndefined(readlink(`/proc/${pid}/exe`)),
  ])
  const { parent, group, terminal, ticks } = stat
  return {
    pid,
    startTime: `${boot}/${ticks}`,
    parent,
    group,
    hasTerminal: terminal !== 0,
    args: words(args),
    env: words(env),
    cwd,
    exe,
  }
}

export async function processes(): Promise<readonly ProcessInfo[]> {
  const boot = await bootOfMachine()
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const found = await Promise.all(pids.map((pid) => infoOf(pid, boot)))
  return found.filter((p) => p !== undefined)
}

/**
 * The node's processes: marked by their environment, working in or running from its folder, plus all descendants. A user's shell or pager in the folder has a
 * terminal and is left alone. Pure.
 */
export function processesOf(dir: string, all: readonly ProcessInfo[], self: number): readonly ProcessInfo[] {
  const marked = new Set(all.filter((p) => p.pid !== self && isMarked(p, dir)).map((p) => p.pid))
  for (let before = -1; before !== marked.size;) {
    before = marked.size
    for (const p of all) if (p.pid !== self && marked.has(p.parent)) marked.add(p.pid)
  }
  return all.filter((p) => marked.has(p.pid))
}

function isMarked({ env, args, cwd, exe, hasTerminal }: ProcessInfo, dir: string): boolean {
  const inside = (path: string | undefined) => path === dir || path?.startsWith(dir + sep) === true
  // This provider's mark, and those that agents set for their children: the folder, optionally with a suffix after `#`.
  if (env.some((e) => e.startsWith(MARKS) && inside(e.slice(e.indexOf('=') + 1).split('#', 1)[0]))) return true
  if (hasTerminal) return false
  // The first two words: a program, or an interpreter and its script.
  return inside(cwd) || inside(exe) || inside(args[0]) || inside(args[1])
}
